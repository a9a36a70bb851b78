package engine

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// busy is a world of which one cluster takes too long for some requests.
type busy struct {
	*worldtest.World
	cluster string
	fails   atomic.Int32 // how many of the next requests
}

func (b *busy) Connect(cluster string) (*rest.Config, error) {
	config, err := b.World.Connect(cluster)
	if cluster == b.cluster && err == nil {
		config = rest.CopyConfig(config)
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &busyTransport{b, next} })
	}
	return config, err
}

type busyTransport struct {
	world *busy
	next  http.RoundTripper
}

func (t *busyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.world.fails.Add(-1) >= 0 {
		return nil, errors.New("it took too long")
	}
	return t.next.RoundTrip(r)
}

// If clearing gave up at the first failed request, the verdict of the next run would be Error.
func TestClear_SomeRequestsFail_Succeeds(t *testing.T) {
	t.Parallel()
	b := &busy{World: worldtest.New(t, "a", "b"), cluster: landscape.Garden}
	clients, _, _ := worldtest.SetUp(t, b.World, 0)
	b.fails.Store(7)
	if err := Clear(t.Context(), b, clock.RealClock{}); err != nil {
		t.Fatal(err)
	}
	if left := b.fails.Load(); left >= 0 {
		t.Errorf("%d requests did not fail", left)
	}
	garden, err := clients.Cluster(landscape.Garden)
	if err != nil {
		t.Fatal(err)
	}
	shoots := &gardencorev1beta1.ShootList{}
	if err := garden.List(t.Context(), shoots, client.InNamespace("")); err != nil || len(shoots.Items) > 0 {
		t.Errorf("%d shoots are left, %v", len(shoots.Items), err)
	}
}

func TestInventories_OneRequestFails_AreTaken(t *testing.T) {
	t.Parallel()
	b := &busy{World: worldtest.New(t, "a", "b"), cluster: "b"}
	j := timeline.NewJournal(clock.RealClock{}, nil)
	i := inventories{&scope{Options: Options{Scenario: &scenario.Scenario{}, World: b, Journal: j,
		Clock: clock.RealClock{}}}}
	i.Patience.fill()
	for when, look := range map[string]func(context.Context) error{
		timeline.Before: i.first, timeline.After: i.last,
	} {
		b.fails.Store(1)
		if err := look(t.Context()); err != nil || b.fails.Load() >= 0 {
			t.Errorf("%s: %v, %d requests did not fail", when, err, b.fails.Load())
		}
		seeds := map[string]int{}
		for e, p := range timeline.Of[timeline.InventorySeen](j.Events()) {
			if p.When == when {
				seeds[e.Subject]++
			}
		}
		if seeds["a"] != 1 || seeds["b"] != 1 {
			t.Errorf("%s was seen of %v", when, seeds)
		}
	}
}
