package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// A folder whose pod has just gone counts as a change: the last look is taken once more.
func TestChanging_FolderLosesItsPod_Differs(t *testing.T) {
	t.Parallel()
	look := func(items ...timeline.Item) []string {
		return changing([]timeline.Event{{Subject: "a", Payload: timeline.InventorySeen{When: timeline.After, Items: items}}})
	}
	folder := timeline.Item{Class: "folder", Name: "pods/1", Owner: "1"}
	pod := timeline.Item{Class: "pods", Name: "p", UID: "1"}
	with, without := look(folder, pod), look(folder)
	if slices.Equal(with, without) {
		t.Errorf("with and without its pod: %q", with)
	}
	if again := look(folder); !slices.Equal(without, again) {
		t.Errorf("two looks at the same are %q and %q", without, again)
	}
	if none := look(pod); len(none) != 0 {
		t.Errorf("a pod that mentions no shoot is on its way out: %q", none)
	}
}

// A shoot that is well uploads backups and has events, at any time: they are no reason for another look. A folder of
// backups that goes is one.
func TestChanging_BackupsAndEventsThatCome_AreTheSame(t *testing.T) {
	t.Parallel()
	look := func(items ...timeline.Item) []string {
		return changing([]timeline.Event{{Subject: "cloud",
			Payload: timeline.InventorySeen{When: timeline.After, Items: items}}})
	}
	about := func(class, name string) timeline.Item {
		return timeline.Item{Class: class, Namespace: "bucket", Name: name, Mentions: []string{"shoot--p--alpha"}}
	}
	first, second := about("object", "alpha/etcd-main/e2/full"), about("object", "alpha/etcd-main/e2/delta-1")
	old := about("object", "alpha/etcd-main/e1/full")
	before := look(old, first)
	for _, event := range []string{"events", "events.events.k8s.io"} {
		if now := look(old, first, second, about(event, "e")); !slices.Equal(before, now) {
			t.Errorf("after a backup and one of %s: %q, want %q", event, now, before)
		}
	}
	for name, now := range map[string][]string{
		"a folder went": look(first), "all went": look(), "a process came": look(old, first, about("process", "p")),
	} {
		if slices.Equal(before, now) {
			t.Errorf("%s: %q is as before", name, now)
		}
	}
}

// One look proves nothing, however late it comes: what is seen then may be on its way out.
func TestLastInventories_OneLookFails_TwoMustAgree(t *testing.T) {
	t.Parallel()
	w := &counted{busy: &busy{World: worldtest.New(t, "a", "b"), cluster: "b"}}
	i := inventories{&scope{Options: Options{
		Scenario: &scenario.Scenario{}, World: w, Journal: timeline.NewJournal(clock.RealClock{}, nil),
		Clock:    clock.RealClock{},
		Patience: Patience{Changing: time.Nanosecond},
	}}}
	i.Patience.fill()
	w.fails.Store(1)
	if err := i.last(t.Context()); err != nil || w.looks != 3 {
		t.Errorf("after one that failed there were %d looks, %v; want 2", w.looks-1, err)
	}
}

// A machine may be too busy for one answer.
func TestFinale_LastLookFails_IsRepeated(t *testing.T) {
	t.Parallel()
	team, journal := newTestObservers()
	r := &runner{scope: &scope{Options: Options{
		Scenario: &scenario.Scenario{}, World: worldtest.New(t, "a"), Journal: journal, Clock: clock.RealClock{},
		Patience: Patience{Round: time.Nanosecond, Changing: time.Nanosecond},
	}, observers: team, registry: registry{shoots: map[string]entry{"alpha": {}}}}}
	r.Patience.fill()
	looks := 0
	f := &fakeWatched{following: make(chan struct{}), fakeProbe: fakeProbe{probe.Pace{Timeout: time.Minute},
		func(context.Context, timeline.Recorder) error {
			if looks++; looks < 3 {
				return errors.New("too busy")
			}
			return nil
		}}}
	team.follow(t.Context(), "alpha", f)
	<-f.following
	if err := r.finale(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e, unseen, is := timeline.First[timeline.Unseen](journal.Events()); is || looks != 3 {
		t.Errorf("after %d looks: event %d, %+v", looks, e.Seq, unseen)
	}
}

type counted struct {
	*busy
	looks int
}

func (c *counted) Items(ctx context.Context) (map[string][]timeline.Item, error) {
	c.looks++
	return c.busy.Items(ctx)
}

// scribbling is a world in which somebody writes an object of seed a before each of the first looks.
type scribbling struct {
	*counted
	seed   client.Client
	writes int
}

func (s *scribbling) Ready(ctx context.Context) error {
	s.writes--
	if s.writes < 0 {
		return nil
	}
	note := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "note"}}
	if err := client.IgnoreAlreadyExists(s.seed.Create(ctx, note)); err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"data":{"left":"%d"}}`, s.writes)
	return s.seed.Patch(ctx, note, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// While the landscape's own actors write, something may come, but not for ever; a third-party extension may be silent
// before.
func TestFirstInventories_SomebodyWrites_AreTakenAfterwards(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		extensions []landscape.Extension
		quiet      time.Duration
		want       int // looks
	}{
		"own actors":            {nil, time.Hour, 4},
		"without an end":        {nil, time.Nanosecond, 2},
		"third-party extension": {[]landscape.Extension{{Name: "acme"}}, time.Nanosecond, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &scribbling{counted: &counted{busy: &busy{World: worldtest.New(t, "a")}}, writes: 3}
			clients, err := world.NewClients(w)
			if err != nil {
				t.Fatal(err)
			}
			if w.seed, err = clients.Cluster("a"); err != nil {
				t.Fatal(err)
			}
			i := inventories{&scope{Options: Options{
				Scenario: &scenario.Scenario{}, World: w, Journal: timeline.NewJournal(clock.RealClock{}, nil),
				Clock: clock.RealClock{}, Patience: Patience{Round: time.Nanosecond, Quiet: c.quiet},
			}}}
			i.Scenario.Spec.Landscape.Extensions = c.extensions
			i.Patience.fill()
			if err := i.first(t.Context()); err != nil || w.looks != c.want {
				t.Errorf("%d looks, %v; want %d", w.looks, err, c.want)
			}
		})
	}
}
