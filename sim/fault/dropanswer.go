package fault

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// DropAnswer lets the API server carry requests out, and closes the connection instead of answering. When no verb is
// given it strikes writes only. Answers that refuse reach the actor, and do not count.
type DropAnswer struct {
	Requests `json:",inline"`
}

var _ Fault = &DropAnswer{}

func (d *DropAnswer) harm() link.Fault {
	return requests.DropAnswer{Match: d.match(), Turn: d.Turn}
}

// Name is "dropAnswer(actor,target,what)".
func (d *DropAnswer) Name() string { return d.name("dropAnswer", d.match()) }

// Check finds unknown links and verbs.
func (d *DropAnswer) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return d.check(path, on, d.harm())
}

// Inject loses answers.
func (d *DropAnswer) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return d.inject(ctx, w, d.harm(), nil)
}
