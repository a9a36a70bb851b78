package run

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// defaultLandscape is the name of a run's landscape when none is asked for, and mostPlaces how many names are tried
// where other runs have some.
const (
	defaultLandscape = "run"
	mostPlaces       = 100
)

// place is where a worker makes its landscapes: a name that is claimed before the first scenario, until the command
// ends.
type place struct {
	name string
	Claim
}

// claim a place for each worker. If a name was asked for, all places must be free. Otherwise, claim skips taken names,
// and says so.
func (r *runner) claim(p *plan) error {
	workers, wanted := min(r.jobs, len(p.scenarios)), r.landscape
	wanted = cmp.Or(wanted, defaultLandscape)
	var taken error
	for i := 0; len(p.places) < workers; i++ {
		name := numbered(wanted, i)
		claimed, err := p.backend.Claim(name)
		if refused := (*TakenError)(nil); r.landscape == "" && i < mostPlaces && errors.As(err, &refused) {
			taken = err
			continue
		}
		if err != nil {
			return errors.Join(fmt.Errorf("--landscape %s: %w", wanted, err), p.release())
		}
		p.places = append(p.places, place{name, claimed})
	}
	if taken != nil {
		fmt.Fprintf(r.progress(), "Other landscapes are there; this run's is %s.\n", p.names())
	}
	return nil
}

// numbered is the n-th of the names that begin with this one, from 0.
func numbered(name string, n int) string {
	if n == 0 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, n+1)
}

func (p *plan) names() string {
	var names []string
	for _, at := range p.places {
		names = append(names, at.name)
	}
	return strings.Join(names, ", ")
}

// release gives all places back.
func (p *plan) release() error {
	var errs []error
	for _, at := range p.places {
		errs = append(errs, at.Release())
	}
	p.places = nil
	return errors.Join(errs...)
}
