package health

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/controllers/care/health/healthtest"
)

// BenchmarkRound decides about one shoot with two nodes and twenty webhooks, as care does once a sync period.
func BenchmarkRound(b *testing.B) {
	o := healthy()
	for i := range 20 {
		w := healthtest.Webhook("events")
		w.Name = fmt.Sprintf("w%02d", i)
		o.Cluster.Validating.Items = append(o.Cluster.Validating.Items, w)
	}
	conf := config()
	for b.Loop() {
		if len(Conditions(o, conf, noon)) != 5 || len(Constraints(o, conf, noon)) != 2 {
			b.Fatal("it is not healthy")
		}
	}
}

// TestARoundChangesNothingItIsGiven: decisions are pure.
func TestARoundChangesNothingItIsGiven(t *testing.T) {
	t.Parallel()
	looked, untouched := healthy(), healthy()
	for _, o := range []*Observation{looked, untouched} {
		o.Cluster.Validating.Items = append(o.Cluster.Validating.Items, healthtest.Webhook("nodes"))
	}
	Conditions(looked, config(), noon)
	Constraints(looked, config(), noon)
	if diff := cmp.Diff(untouched, looked); diff != "" {
		t.Error(diff)
	}
}
