package step

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/expression"
	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/step/dryrun"
	"github.com/transplant-sim/transplant/sim/world"
)

// When lets a fault wait in the background for its moment, while the run goes on.
type When struct {
	// That is a CEL condition: the fault begins when it is true.
	That string `json:"that,omitempty"`
	// Request is an API event: the fault begins with it.
	Request *fault.OnRequest `json:"request,omitempty"`
}

// Check wants either a condition about what is on the landscape, or a possible request.
func (w *When) Check(path *field.Path, state *dryrun.State) field.ErrorList {
	switch {
	case w.That != "" && w.Request == nil:
		return state.Condition(path.Child("that"), w.That)
	case w.That == "" && w.Request != nil:
		return w.Request.Check(path.Child("request"), state.Landscape)
	}
	return field.ErrorList{field.Invalid(path, w.That, "must have either that, a condition, or request, an API event")}
}

func (w *When) String() string {
	if w.Request != nil {
		return w.Request.String()
	}
	return w.That
}

func (w *When) trigger(env *Environment) fault.Trigger {
	if w.Request != nil {
		return w.Request
	}
	return &onCondition{text: w.That, env: env}
}

// glance is the time between two looks for a moment that may be short.
const glance = 50 * time.Millisecond

// onCondition fires when a condition is true.
type onCondition struct {
	text string
	env  *Environment
}

var _ fault.Trigger = &onCondition{}

func (o *onCondition) String() string { return o.text }

// Arm looks at the world until the condition is true.
func (o *onCondition) Arm(ctx context.Context, w world.World, fire func(context.Context)) (disarm func(), err error) {
	e, err := expression.Compile(o.text)
	if err != nil {
		return nil, fmt.Errorf("compile %q: %w", o.text, err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer cancel()
		for {
			if met, _, _ := e.Evaluate(world.Observe(ctx, w, o.env.Clients, world.Ask(e))); met && ctx.Err() == nil {
				fire(ctx)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-o.env.Clock.After(glance):
			}
		}
	}()
	return cancel, nil
}
