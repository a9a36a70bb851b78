package run

import (
	"fmt"
	"io"

	"github.com/transplant-sim/transplant/sim/scenario"
)

// warning of a doubt about a scenario, at its place in the file.
type warning struct {
	scenario.Mistake
	late bool
}

// warnings of what makes a scenario doubtful when it is run with this multiplier.
func (r *runner) warnings(s *scenario.Scenario, file string) ([]warning, error) {
	doubts, err := s.Doubts(r.stretch)
	if err != nil {
		return nil, err
	}
	var all []warning
	for _, d := range doubts {
		all = append(all, warning{scenario.MistakeIn(file, d.Field, d.ErrorBody()), d.Late})
	}
	return all, nil
}

// warn of all doubts about files that are to be run. A goal that is out of reach is no reason not to run: by how much
// it is missed is an answer, too.
func (r *runner) warn(to io.Writer, p *plan) error {
	for _, s := range p.read {
		warnings, err := r.warnings(s, p.from[s.Metadata.Name])
		if err != nil {
			return err
		}
		for _, w := range warnings {
			fmt.Fprintf(to, "warning: %v\n", w.Mistake)
		}
	}
	return nil
}
