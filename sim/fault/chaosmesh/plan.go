package chaosmesh

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/chaos-mesh/chaos-mesh/api/v1alpha1"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/sim/world"
)

// plan is how an experiment is carried out.
type plan struct {
	action   string
	needs    world.Ability
	mode     v1alpha1.SelectorMode
	lacks    []lack   // what no fault of ours can do
	targets  []string // links that must be known
	duration *string
	harms    []link.Fault
	problem  error    // found while planning
	mesh     *applied // nil for what is not left to Chaos Mesh
	inject   func(context.Context, world.World, string) (world.Injection, error)
}

func (e Experiment) plan() plan {
	var p plan
	switch object := e.object.(type) {
	case *v1alpha1.PodChaos:
		p = planPod(object)
	case *v1alpha1.NetworkChaos:
		p = planNetwork(object)
	case *v1alpha1.HTTPChaos:
		p = planHTTP(object)
	case *v1alpha1.Schedule, *v1alpha1.Workflow:
		p = planSeries()
	default:
		p = planMesh(e)
	}
	return p
}

// lack is what an experiment asks for although no fault of ours does it.
type lack struct {
	what  string // in one or two words
	field string // of the spec, the spec itself when empty
	// wrong is what stands in the field; nil where the field itself is too much, and an empty text where it is missing.
	wrong any
	right string // what must stand there
}

// lack notes a field of the spec that is too much, when it is given.
func (p *plan) lack(what, field string, given bool) {
	if given {
		p.lacks = append(p.lacks, lack{what: what, field: field})
	}
}

// lackAction notes an action that is none of these, not even for Chaos Mesh.
func (p *plan) lackAction(action, known string) {
	p.mesh = nil
	p.lacks = append(p.lacks, lack{what: strings.TrimSpace("action " + action), field: "action", wrong: action,
		right: "must be " + known})
}

// words for what the experiment asks for in vain.
func (p *plan) words() string {
	var words []string
	for _, l := range p.lacks {
		words = append(words, l.what)
	}
	return strings.Join(words, ", ")
}

// life of the experiment; 0 when only the heal ends it.
func (p *plan) life() (time.Duration, error) {
	if p.duration == nil || *p.duration == "" {
		return 0, nil
	}
	life, err := time.ParseDuration(*p.duration)
	if err != nil {
		return 0, fmt.Errorf("read the duration %q: %w", *p.duration, err)
	}
	return life, nil
}
