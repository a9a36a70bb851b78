package fault

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/choice"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Process names a process: an actor, or a program of a cluster, or a program of a shoot's control plane.
type Process struct {
	// Actor that is harmed: garden-controller-manager; gardenlet-SEED, extensions-SEED, gateway-SEED, or NAME-SEED of a
	// third-party extension.
	Actor string `json:"actor,omitempty"`
	// Cluster whose program is harmed.
	Cluster string `json:"cluster,omitempty"`
	// Shoot whose control plane's program is harmed, on every seed that has one.
	Shoot string `json:"shoot,omitempty"`
	// Program of the cluster (etcd, kube-apiserver, kube-controller-manager, kube-scheduler), or of the control plane
	// (these, backup, gardener-resource-manager, guard, machine-controller).
	Program string `json:"program,omitempty"`
}

func (p Process) name(harm world.Harm) string {
	if p.Actor != "" {
		return fmt.Sprintf("%s(%s)", harm, p.Actor)
	}
	return fmt.Sprintf("%s(%s%s,%s)", harm, p.Cluster, p.Shoot, p.Program)
}

// traits of harming it: a cluster's own programs are not processes everywhere.
func (p Process) traits() Traits {
	t := Traits{Ability: world.BreakProcesses, Place: p.place(), Victim: &p, Awaits: true}
	if p.Cluster != "" {
		t.Ability = world.BreakPrograms
	}
	return t
}

// place of an actor is where it runs; a control plane may be on any seed.
func (p Process) place() Place {
	if p.Actor != "" {
		return Place{Field: "actor", Actor: p.Actor}
	}
	return Place{Field: "cluster", Cluster: p.Cluster}
}

func (p Process) check(path *field.Path, on landscape.Landscape) field.ErrorList {
	oneOf := func(child, value string, known []string) field.ErrorList {
		return choice.Check(path.Child(child), value, known)
	}
	switch {
	case p.Actor != "" && p.Cluster == "" && p.Shoot == "" && p.Program == "":
		return oneOf("actor", p.Actor, on.ProcessActors())
	case p.Actor == "" && p.Shoot == "" && on.IsHosted(p.Cluster):
		return field.ErrorList{field.Invalid(path.Child("cluster"), p.Cluster,
			"is a shoot, whose programs are on another seed: give shoot instead of cluster")}
	case p.Actor == "" && p.Cluster != "" && p.Shoot == "":
		return append(oneOf("cluster", p.Cluster, on.Clusters()), oneOf("program", p.Program, on.ProgramsOf(p.Cluster))...)
	case p.Actor == "" && p.Cluster == "" && p.Shoot != "":
		return append(oneOf("shoot", p.Shoot, on.ShootNames()),
			oneOf("program", p.Program, landscape.ControlPlanePrograms())...)
	}
	return field.ErrorList{field.Invalid(path, p.name(""),
		"must name an actor, or a cluster and a program, or a shoot and a program")}
}

func (p Process) inject(ctx context.Context, w world.World, harm world.Harm) (world.Injection, error) {
	return w.BreakProcess(ctx, world.Process(p), harm)
}
