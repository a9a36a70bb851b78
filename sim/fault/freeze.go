package fault

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Freeze holds a process with SIGSTOP until it is healed.
type Freeze struct {
	Process `json:",inline"`
}

var _ Fault = &Freeze{}

// Name is "freeze(process)".
func (f *Freeze) Name() string { return f.name(world.Freeze) }

// Needs processes that can be broken.
func (f *Freeze) Needs() world.Ability { return f.ability() }

// Check finds unknown processes.
func (f *Freeze) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return f.check(path, on)
}

// takes the cluster away where nothing in it answers without the process.
func (f *Freeze) takes() []string {
	if f.Cluster != "" && (f.Program == "etcd" || f.Program == "kube-apiserver") {
		return []string{f.Cluster}
	}
	return nil
}

// Inject freezes the process.
func (f *Freeze) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return f.inject(ctx, w, world.Freeze)
}
