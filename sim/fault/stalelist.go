package fault

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/watches"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// StaleList answers the first lists of clients with what there was at its injection, as an API server does whose cache
// lags behind, and lets them hear nothing newer until it is healed. Only lists that the Kubernetes API allows to be old
// are; a restarted controller makes such a list. One in which nothing has changed meanwhile is not hit.
type StaleList struct {
	Objects `json:",inline"`
}

var _ Fault = &StaleList{}

func (s *StaleList) harm() link.Fault {
	return watches.StaleList{Match: s.match()}
}

// Name is "staleList(actor,target,what)".
func (s *StaleList) Name() string { return s.name("staleList", s.match()) }

// Check finds unknown links.
func (s *StaleList) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return s.check(path, on, s.harm())
}

// Inject keeps what there is now, to show it later.
func (s *StaleList) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return s.inject(ctx, w, s.harm(), nil)
}
