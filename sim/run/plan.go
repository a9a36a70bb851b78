package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/transplant-sim/transplant/api/spelling"
	"github.com/transplant-sim/transplant/api/userfile"
	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/world"
)

// plan is what is to be run, and where.
type plan struct {
	from      map[string]string // the file of each scenario that was read, by name
	backend   Backend
	read      []*scenario.Scenario // the files
	scenarios []*scenario.Scenario // the files, or the points of their sweeps
	sweeps    []sweep
	places    []place // one for each worker, once they are claimed
}

// runs are the names of the scenarios, with the points of sweeps.
func (p *plan) runs() (all []string) {
	for _, s := range p.scenarios {
		all = append(all, s.Metadata.Name)
	}
	return all
}

// accept files, or refuse them before anything is started or written.
func (r *runner) accept(ctx context.Context, files []string) (*plan, error) {
	extensions, err := r.extensions.Parse()
	if err != nil {
		return nil, err
	}
	read, from, err := r.read(files, extensions)
	if err != nil {
		return nil, err
	}
	backend, err := r.fit(read, from)
	if err != nil {
		return nil, err
	}
	if read, err = r.shard.Choose(read, r.sample); err != nil {
		return nil, err
	}
	if err := r.host(ctx, backend, extensions, read); err != nil {
		return nil, err
	}
	scenarios, sweeps, err := r.expand(read, from)
	if err != nil {
		return nil, err
	}
	return &plan{backend: backend, read: read, from: from, scenarios: scenarios, sweeps: sweeps},
		errors.Join(appendable("--summary", r.summary), appendable("--history", r.history))
}

// host refuses extensions that the backend cannot run.
func (r *runner) host(ctx context.Context, backend Backend, extensions []landscape.Extension,
	scenarios []*scenario.Scenario) error {
	if len(extensions) == 0 {
		return nil
	}
	host, can := backend.(Host)
	if !can {
		return fmt.Errorf("run a third-party extension: the backend %q runs none", r.backend)
	}
	seeds := 0
	for _, s := range scenarios {
		seeds = max(seeds, len(s.Spec.Landscape.Seeds))
	}
	return CheckHosted(ctx, host, extensions, r.extensions.Files, seeds)
}

// appendable makes a file, if there is none, and says why nothing can be appended to it; before an hour was spent on
// what shall be written there.
func appendable(flag, file string) error {
	if file == "" {
		return nil
	}
	f, err := userfile.Append(file)
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return f.Close()
}

// maxStretch is by how much deadlines are multiplied, or divided, at most; maxJobs is for how many landscapes there are
// addresses.
const (
	maxStretch = 100.0
	maxJobs    = 28
)

// read all files, and report the mistakes of all; from has the file of each scenario, by name.
func (r *runner) read(files []string, extensions []landscape.Extension) (scenarios []*scenario.Scenario,
	from map[string]string, err error) {
	if r.jobs < 1 || r.jobs > maxJobs || r.jobs > 1 && r.keep {
		return nil, nil, fmt.Errorf("--jobs %d: must be from 1 to %d, and 1 with --keep, which keeps one landscape", r.jobs,
			maxJobs)
	}
	if !(r.stretch >= 1/maxStretch && r.stretch <= maxStretch) { // NaN is neither
		return nil, nil, fmt.Errorf("--timeout-multiplier %g: must be from %g to %d; 2 gives every step twice its time",
			r.stretch, 1/maxStretch, int(maxStretch))
	}
	var errs []error
	from = map[string]string{}
	for _, file := range files {
		s, err := scenario.ParseFile(file, extensions...)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if other, taken := from[s.Metadata.Name]; taken {
			errs = append(errs, scenario.MistakeIn(file, "metadata.name",
				fmt.Sprintf("%q is also the name of the scenario in %s; each needs its own", s.Metadata.Name, other)))
		}
		from[s.Metadata.Name] = file
		scenarios = append(scenarios, s)
	}
	return scenarios, from, errors.Join(errs...)
}

// fit finds the backend, and refuses what it cannot do before anything is started.
func (r *runner) fit(scenarios []*scenario.Scenario, from map[string]string) (Backend, error) {
	backend, known := r.backends[r.backend]
	if !known {
		names := slices.Sorted(maps.Keys(r.backends))
		return nil, fmt.Errorf("find the backend %q: there are %s%s", r.backend, strings.Join(names, ", "),
			spelling.Question(r.backend, names))
	}
	var errs []error
	for _, s := range scenarios {
		errs = append(errs, r.fitLandscape(backend, s, from[s.Metadata.Name]))
		for i := range s.Spec.Steps {
			inject := s.Spec.Steps[i].Fault
			if inject == nil {
				continue
			}
			kind, f := inject.Fault()
			traits := f.Traits()
			if err := backend.Can(traits.Ability); err != nil {
				path := fmt.Sprintf("spec.steps[%d].fault.%s", i, kind)
				if traits.Beyond != "" {
					path += "." + traits.Beyond
				}
				errs = append(errs, scenario.MistakeIn(from[s.Metadata.Name], path, fmt.Sprintf("%s: %v; %s", f.Name(), err,
					r.instead(traits))))
			}
		}
	}
	return backend, errors.Join(errs...)
}

// fitLandscape refuses what the landscape has and the backend cannot make: seeds that are shoots, shoots whose nodes
// run pods, and a garden that is backed up, or on seeds.
func (r *runner) fitLandscape(backend Backend, s *scenario.Scenario, file string) error {
	wanted := map[string]world.Ability{}
	for i, seed := range s.Spec.Landscape.Seeds {
		if seed.HostedBy != "" {
			wanted[fmt.Sprintf("seeds[%d].hostedBy", i)] = world.HostSeeds
			break
		}
	}
	for i, shoot := range s.Spec.Landscape.Shoots {
		if shoot.Nodes == landscape.RealNodes {
			wanted[fmt.Sprintf("shoots[%d].nodes", i)] = world.RunPods
			break
		}
	}
	if s.Spec.Landscape.Garden.Backup {
		wanted["garden.backup"] = world.BackUpGarden
	}
	if len(s.Spec.Landscape.Garden.Members) > 0 {
		wanted["garden.members"] = world.SpreadGarden
	}
	var errs []error
	for _, field := range slices.Sorted(maps.Keys(wanted)) {
		if err := backend.Can(wanted[field]); err != nil {
			errs = append(errs, scenario.MistakeIn(file, "spec.landscape."+field, fmt.Sprintf("%v; %s", err,
				r.instead(fault.Traits{Ability: wanted[field]}))))
		}
	}
	return errors.Join(errs...)
}

// instead is what to do about a fault that the backend cannot do.
func (r *runner) instead(of fault.Traits) string {
	var ways []string
	if of.Beyond != "" {
		ways = append(ways, fmt.Sprintf("leave %s out", of.Beyond[strings.LastIndex(of.Beyond, ".")+1:]))
	}
	for _, name := range slices.Sorted(maps.Keys(r.backends)) {
		if name != r.backend && r.backends[name].Can(of.Ability) == nil {
			ways = append(ways, "give --backend "+name)
		}
	}
	if len(ways) == 0 {
		return fmt.Sprintf("must be a fault that backend %q can do", r.backend)
	}
	return strings.Join(ways, ", or ")
}
