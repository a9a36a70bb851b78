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

// Traits of a process; without some of its programs nothing in a cluster answers.
func (f *Freeze) Traits() Traits {
	t := f.traits()
	if f.Program == "etcd" || f.Program == "kube-apiserver" {
		t.Silences = f.Cluster
	}
	return t
}

// Check finds unknown processes.
func (f *Freeze) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return f.check(path, on)
}

// Inject freezes the process.
func (f *Freeze) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return f.inject(ctx, w, world.Freeze)
}
