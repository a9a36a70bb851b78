package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/step"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// looking is what may look at the shoot alpha, which is well.
func looking(t *testing.T, small *worldtest.World, w world.World) objects {
	t.Helper()
	clients, _, _ := worldtest.SetUp(t, small, 0)
	j := timeline.NewJournal(clock.RealClock{}, nil)
	o := objects{&scope{
		Options: Options{
			Scenario: &scenario.Scenario{}, World: w, Journal: j, Clock: clock.RealClock{},
			Patience: Patience{Round: time.Millisecond},
		},
		clients: clients, faults: fault.NewActive(w, j),
		registry: registry{shoots: map[string]entry{"alpha": {on: true}}},
	}}
	o.Patience.fill()
	env := &step.Environment{World: w, Clients: clients, Clock: clock.RealClock{}}
	if err := env.Await(t.Context(), "shoot('alpha').healthy", time.Minute); err != nil {
		t.Fatal(err)
	}
	return o
}

func looksAt(j Journal) (count int) {
	for range timeline.Of[timeline.ObjectsSeen](j.Events()) {
		count++
	}
	return count
}

func TestObserveBefore_KnownObjects_AreNotReadAgain(t *testing.T) {
	t.Parallel()
	small := worldtest.New(t, "a", "b")
	o := looking(t, small, small)
	load, fire := &step.Spec{Load: &step.Load{}}, &step.Spec{Fault: &step.Inject{}}
	migrate, apply := &step.Spec{Migrate: &step.Migrate{Shoot: "alpha"}}, &step.Spec{Apply: &step.Apply{Shoot: "alpha"}}
	refused := &step.Spec{Migrate: &step.Migrate{Shoot: "alpha", Refused: true}}
	before := func(what string, spec *step.Spec, want int) {
		t.Helper()
		seen := looksAt(o.Journal)
		o.observeBefore(t.Context(), spec)
		if got := looksAt(o.Journal) - seen; got != want {
			t.Errorf("%s: %d looks, want %d", what, got, want)
		}
	}
	o.observe(t.Context(), "alpha", time.Minute)
	before("a load", load, 0)
	before("a move at once", migrate, 0)
	before("another move", migrate, 1)
	before("a change", apply, 0)
	before("a refused move", refused, 0)
	before("a first fault", fire, 1)
	if err := o.faults.Inject(t.Context(), "fire",
		&fault.FreezeCluster{Cluster: fault.Cluster{Cluster: "b"}}); err != nil {
		t.Fatal(err)
	}
	before("a fault beside it", fire, 0)
	before("a move beside it", migrate, 1)
	if err := o.faults.HealAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	before("a fault after it", fire, 1)
	o.registry.change("alpha", func(e *entry) { e.on = false })
	before("a shoot that goes", migrate, 0)
}

// growing is a world in whose shoot there is one more object at every look.
type growing struct {
	*worldtest.World
	made int
}

func (g *growing) ConnectShoot(ctx context.Context, shoot, actor string) (*rest.Config, error) {
	config, err := g.World.ConnectShoot(ctx, shoot, actor)
	if err != nil {
		return nil, err
	}
	g.made++
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("c-%d", g.made)}}
	_, err = kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default").Create(ctx, object,
		metav1.CreateOptions{})
	return config, err
}

// Objects that still change cannot be compared later.
func TestObserveObjects_StillChanging_IsRecordedAsUnseen(t *testing.T) {
	t.Parallel()
	small := worldtest.New(t, "a")
	o := looking(t, small, &growing{World: small})
	o.observe(t.Context(), "alpha", time.Second)
	_, unseen, _ := timeline.First[timeline.Unseen](o.Journal.Events())
	if looksAt(o.Journal) != 0 || unseen.Probe != "objects of alpha" || !strings.Contains(unseen.Error, "alpha") {
		t.Errorf("%d looks, and %+v", looksAt(o.Journal), unseen)
	}
}

func TestLastObjects_LostSeed_IsRecordedAsUnseen(t *testing.T) {
	t.Parallel()
	small := worldtest.New(t, "a")
	o := looking(t, small, small)
	o.last(t.Context(), map[string]entry{"alpha": {on: true}, "gone": {}})
	if looksAt(o.Journal) != 1 {
		t.Errorf("%d looks, want 1", looksAt(o.Journal))
	}
	if _, err := small.LoseCluster(t.Context(), "a", false); err != nil {
		t.Fatal(err)
	}
	o.Patience.Finale = 200 * time.Millisecond
	o.last(t.Context(), map[string]entry{"alpha": {on: true}})
	_, unseen, _ := timeline.First[timeline.Unseen](o.Journal.Events())
	if looksAt(o.Journal) != 1 || !unseen.Final || unseen.Probe != "objects of alpha" {
		t.Errorf("%d looks, and %+v", looksAt(o.Journal), unseen)
	}
}
