package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/step"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// A shoot with a third-party extension can be created while a seed that it is not on is lost.
func TestWatchStates_AnotherSeedIsLost_Succeeds(t *testing.T) {
	t.Parallel()
	w := worldtest.New(t, "a", "b")
	clients, _, _ := worldtest.SetUp(t, w, 0)
	s := &scenario.Scenario{}
	s.Spec.Landscape.Extensions = []landscape.Extension{{Name: "vault",
		Resources: []landscape.ExtensionResource{{Kind: "Extension", Type: "vault"}}}}
	j := timeline.NewJournal(clock.RealClock{}, nil)
	there := &shoots{scope: &scope{
		Options: Options{Scenario: s, World: w, Journal: j, Clock: clock.RealClock{}}, clients: clients,
		observers: newObservers(clock.RealClock{}, j), registry: registry{shoots: map[string]entry{}},
	}}
	defer there.observers.stop()
	env := &step.Environment{World: w, Clients: clients, Clock: clock.RealClock{}}
	if err := env.Await(t.Context(), "shoot('alpha').healthy", time.Minute); err != nil {
		t.Fatal(err)
	}
	for _, seed := range w.Seeds() { // discovery would not end with its context
		c, err := clients.Cluster(seed)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.RESTMapper().RESTMapping(extensionsv1alpha1.SchemeGroupVersion.WithKind("Extension").GroupKind(),
			"v1alpha1"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.LoseCluster(t.Context(), "b", false); err != nil {
		t.Fatal(err)
	}
	if err := there.watchStates(t.Context(), "alpha"); err != nil {
		t.Errorf("with another seed lost: %v", err)
	}
	if _, err := w.LoseCluster(t.Context(), "a", false); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := there.watchStates(ctx, "alpha"); err == nil || !strings.HasPrefix(err.Error(),
		"look at the state of Extension/vault of alpha on a: ") {
		t.Errorf("with its own seed lost: %v", err)
	}
}
