package harm

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/cmd/transplant/environment/observe"
	"github.com/transplant-sim/transplant/sim/world"
)

// findTimeout bounds the search in one place: the API server of a seed that is frozen never answers.
const findTimeout = 5 * time.Second

// finder lists the wanted processes in one place.
type finder func(context.Context) ([]process.Program, error)

// finders are those of all places where there may be some.
type finders []finder

// find asks all places at once. A place that does not answer does not hide what was found elsewhere: it is
// an error only when none was.
func (all finders) find(ctx context.Context) ([]process.Program, error) {
	places, errs := make([][]process.Program, len(all)), make([]error, len(all))
	var looked sync.WaitGroup
	for i, one := range all {
		looked.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, findTimeout)
			defer cancel()
			places[i], errs[i] = one(ctx)
		})
	}
	looked.Wait()
	var found []process.Program
	for _, here := range places {
		found = append(found, here...)
	}
	if len(found) > 0 {
		return found, nil
	}
	return nil, errors.Join(errs...)
}

// findersFor an actor, or for a program of a shoot's control plane on every seed.
func (i *Injector) findersFor(wanted world.Process) (finders, error) {
	if wanted.Actor != "" {
		cluster, matches := i.on.ActorProcesses(wanted.Actor)
		find := func(ctx context.Context) ([]process.Program, error) { return i.on.Containers(ctx, cluster, matches) }
		return finders{find}, nil
	}
	if _, known := controlPlanePrograms[wanted.Program]; !known {
		return nil, noSuchProgram(wanted.Program)
	}
	var all finders
	for _, seed := range i.on.Seeds() {
		all = append(all, func(ctx context.Context) ([]process.Program, error) { return i.inControlPlane(ctx, seed, wanted) })
	}
	return all, nil
}

// inControlPlane lists a program of a shoot's control plane on one seed. The seed is asked only if it runs that program
// for any shoot: one that is lost runs nothing, and could not answer.
func (i *Injector) inControlPlane(ctx context.Context, seed string, wanted world.Process) ([]process.Program, error) {
	program := controlPlanePrograms[wanted.Program]
	running, err := i.on.Containers(ctx, seed, func(c process.Program) bool { return observe.Runs(c, program.subcommand) })
	if err != nil || len(running) == 0 {
		return nil, err
	}
	pod, err := i.on.Pod(ctx, seed, wanted.Shoot, program.role)
	if err != nil || pod == nil {
		return nil, err
	}
	var found []process.Program
	for _, one := range running {
		if one.Env["POD_IP"] == pod.Status.PodIP {
			found = append(found, one)
		}
	}
	return found, nil
}
