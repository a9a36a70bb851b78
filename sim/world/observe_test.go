package world_test

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/expression"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// dark is a world in which one cluster cannot be reached.
type dark struct {
	*worldtest.World
	cluster string
}

func (d dark) Connect(cluster string) (*rest.Config, error) {
	if cluster == d.cluster {
		return &rest.Config{Host: "http://127.0.0.1:1"}, nil
	}
	return d.World.Connect(cluster)
}

// ofSeeds are all fields of a seed.
var ofSeeds = []string{"ready", "conditions", "bound", "shoots"}

func TestWhatCannotBeReadIsUnknown(t *testing.T) {
	t.Parallel()
	query := world.Query{Shoots: []string{"alpha"}, Seeds: []string{"a"}, Cloud: true, Fields: ofSeeds}
	for cluster, c := range map[string]struct{ known, unknown []string }{
		"a": {
			known:   []string{"!shoot('alpha').exists", "seed('a').ready", "seed('a').bound == 0", "cloud.machines == 0"},
			unknown: []string{"seed('a').shoots == 0", "seed('a').shoots != 0"},
		},
		landscape.Garden: {
			known: []string{"seed('a').shoots == 0"},
			unknown: []string{"!shoot('alpha').exists", "shoot('alpha').exists", "seed('a').ready", "!seed('a').ready",
				"seed('a').bound == 0"},
		},
	} {
		t.Run(cluster, func(t *testing.T) {
			t.Parallel()
			w := dark{worldtest.New(t, "a"), cluster}
			clients, err := world.NewClients(w)
			if err != nil {
				t.Fatal(err)
			}
			snapshot := world.Observe(t.Context(), w, clients, query)
			for _, text := range c.known {
				if met, why := evaluate(t, text, snapshot); !met {
					t.Errorf("%s is not met: %s", text, why)
				}
			}
			for _, text := range c.unknown {
				if met, why := evaluate(t, text, snapshot); met || !strings.Contains(why, "connection refused") {
					t.Errorf("%s is met: %t, %s", text, met, why)
				}
			}
		})
	}
}

// Where something is not asked for, nothing is asked: a cluster that cannot be reached does not matter then.
func TestObserve_WhatIsNotAskedFor_TakesNoRequest(t *testing.T) {
	t.Parallel()
	for text, unasked := range map[string]string{
		"seed('a').shoots == 0":                            landscape.Garden,
		"seed('a').ready":                                  "a",
		"seed('a').bound == 0":                             "a",
		"seed('a').conditions['GardenletReady'] == 'True'": "a",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			w := dark{worldtest.New(t, "a"), unasked}
			clients, err := world.NewClients(w)
			if err != nil {
				t.Fatal(err)
			}
			e, err := expression.Compile(text)
			if err != nil {
				t.Fatal(err)
			}
			query := world.Ask(e)
			query.UnaskedIsUnknown = false
			seen := world.Observe(t.Context(), w, clients, query)
			if unknown := seen.Seeds["a"].Unknown; unknown != nil {
				t.Errorf("unknown %v, want nothing", unknown)
			}
			if met, why, err := e.Evaluate(seen); !met || err != nil {
				t.Errorf("not met: %s, %v", why, err)
			}
		})
	}
}

func evaluate(t *testing.T, text string, snapshot expression.Snapshot) (bool, string) {
	t.Helper()
	e, err := expression.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	met, why, _ := e.Evaluate(snapshot)
	return met, why
}

func TestObserve(t *testing.T) {
	t.Parallel()
	w := worldtest.New(t, "a", "b")
	clients, garden, shoot := worldtest.SetUp(t, w, 0)
	want := expression.Shoot{
		Exists: true, Seed: "a", SpecSeed: "a", Healthy: true, TechnicalID: "shoot--p--alpha",
		Conditions: each("True"), Constraints: map[string]string{}, Reasons: each(""),
		LastOperation: expression.Operation{Type: "Create", State: "Succeeded", Progress: 100,
			Description: "Create Succeeded"},
	}
	var got expression.Snapshot
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if got = world.Observe(t.Context(), w, clients,
			world.Query{Shoots: []string{"alpha"}, Seeds: []string{"a", "b"}, Fields: ofSeeds}); got.Shoots["alpha"].Healthy {
			break
		}
	}
	if diff := cmp.Diff(want, got.Shoots["alpha"]); diff != "" {
		t.Errorf("alpha (-want +got):\n%s", diff)
	}
	if a, b := got.Seeds["a"], got.Seeds["b"]; a.Shoots != 1 || a.Bound != 1 || !a.Ready || b.Shoots != 0 || b.Bound != 0 {
		t.Errorf("seeds %+v, %+v", a, b)
	}
	for name, event := range map[string]corev1.Event{
		"warned":   {Type: "Warning", Reason: "BackupDamaged", InvolvedObject: corev1.ObjectReference{UID: shoot.UID}},
		"again":    {Type: "Warning", Reason: "BackupDamaged", InvolvedObject: corev1.ObjectReference{UID: shoot.UID}},
		"harmless": {Type: "Normal", Reason: "Reconciled", InvolvedObject: corev1.ObjectReference{UID: shoot.UID}},
		"another":  {Type: "Warning", Reason: "ReconcileError", InvolvedObject: corev1.ObjectReference{UID: "another"}},
	} {
		event.Namespace, event.Name = shoot.Namespace, name
		if err := garden.Create(t.Context(), &event); err != nil {
			t.Fatal(err)
		}
	}
	got = world.Observe(t.Context(), w, clients, world.Query{Shoots: []string{"alpha"}, Fields: []string{"warnings"}})
	if diff := cmp.Diff([]string{"BackupDamaged"}, got.Shoots["alpha"].Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	e, err := expression.Compile("shoot('alpha').warnings == []")
	if err != nil {
		t.Fatal(err)
	}
	got = world.Observe(t.Context(), w, clients, world.Ask(e))
	unasked := expression.Unknown{"answers": "not asked for", "answerTimes": "not asked for", "epoch": "not asked for",
		"state": "not asked for", "workers": "not asked for"}
	if diff := cmp.Diff(unasked, got.Shoots["alpha"].Unknown); diff != "" || got.Cloud != nil {
		t.Errorf("what was not asked for (-want +got):\n%s\ncloud %v", diff, got.Cloud)
	}
}

func TestObserveAnswers(t *testing.T) {
	t.Parallel()
	w := worldtest.New(t, "a", "b")
	w.Outage = time.Hour
	clients, garden, shoot := worldtest.SetUp(t, w, 0)
	look := func(want bool) {
		t.Helper()
		var got expression.Shoot
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			query := world.Query{Shoots: []string{"alpha"}, Fields: []string{"answers"}}
			got = world.Observe(t.Context(), w, clients, query).Shoots["alpha"]
			if got.Answers == want && len(got.Unknown) == 0 {
				return
			}
		}
		t.Fatalf("it answers: %t (%v); want %t", got.Answers, got.Unknown, want)
	}
	look(true)
	if err := garden.Patch(t.Context(), shoot,
		client.RawPatch(types.MergePatchType, []byte(`{"spec":{"seedName":"b"}}`))); err != nil {
		t.Fatal(err)
	}
	look(false)
}

// slow is a world whose shoots take their time for a connection, and for each answer.
type slow struct {
	*worldtest.World
	dial, answer time.Duration
}

func (s slow) ConnectShoot(ctx context.Context, shoot, actor string) (*rest.Config, error) {
	config, err := s.World.ConnectShoot(ctx, shoot, actor)
	if err != nil {
		return nil, err
	}
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		time.Sleep(s.dial)
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	config.Wrap(func(on http.RoundTripper) http.RoundTripper { return late{on, s.answer} })
	return config, nil
}

// late sends each request later.
type late struct {
	http.RoundTripper
	by time.Duration
}

func (l late) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(l.by)
	return l.RoundTripper.RoundTrip(r)
}

// TestObserveAnswerTimes: a time is that of an answer. The first one on each connection, which is opened for it, is
// left out.
func TestObserveAnswerTimes(t *testing.T) {
	t.Parallel()
	const dial, answer = time.Second, 50 * time.Millisecond
	w := worldtest.New(t, "a", "b")
	w.Outage = time.Hour
	clients, garden, shoot := worldtest.SetUp(t, w, 0)
	query := world.Query{Shoots: []string{"alpha"}, Fields: []string{"answerTimes"}}
	slowly := slow{w, dial, answer}
	look := func() expression.Shoot { return world.Observe(t.Context(), slowly, clients, query).Shoots["alpha"] }
	within := func(what string, ok func(expression.Shoot) bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			got := look()
			if ok(got) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: the times are %v (%v)", what, got.AnswerTimes, got.Unknown)
			}
		}
	}
	within("with an API server", func(got expression.Shoot) bool {
		return len(got.AnswerTimes) == 40 && len(got.Unknown) == 0 && slices.Min(got.AnswerTimes) >= answer &&
			slices.Max(got.AnswerTimes) < dial
	})
	if err := garden.Patch(t.Context(), shoot,
		client.RawPatch(types.MergePatchType, []byte(`{"spec":{"seedName":"b"}}`))); err != nil {
		t.Fatal(err)
	}
	within("without one", func(got expression.Shoot) bool {
		return got.Unknown["answerTimes"] != "" && len(got.AnswerTimes) == 0
	})
}

// stuck never answers the third request.
type stuck struct {
	http.RoundTripper
	requests int
}

func (s *stuck) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.requests++; s.requests == 3 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return s.RoundTripper.RoundTrip(r)
}

// withStuck is a world whose users wait in vain for the third answer on each connection.
type withStuck struct{ *worldtest.World }

func (w withStuck) ConnectShoot(ctx context.Context, shoot, actor string) (*rest.Config, error) {
	config, err := w.World.ConnectShoot(ctx, shoot, actor)
	if err == nil {
		config.Wrap(func(on http.RoundTripper) http.RoundTripper { return &stuck{RoundTripper: on} })
	}
	return config, err
}

// TestObserveAnswerTimes_NoAnswer_CountsAsTwoSeconds: the connection is given up, and the first answer on the next one
// does not count.
func TestObserveAnswerTimes_NoAnswer_CountsAsTwoSeconds(t *testing.T) {
	t.Parallel()
	w := worldtest.New(t, "a")
	clients, _, _ := worldtest.SetUp(t, w, 0)
	query := world.Query{Shoots: []string{"alpha"}, Fields: []string{"answerTimes"}}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		got := world.Observe(t.Context(), withStuck{w}, clients, query).Shoots["alpha"]
		late := 0
		for _, took := range got.AnswerTimes {
			if took == 2*time.Second {
				late++
			}
		}
		if len(got.AnswerTimes) == 40 && late >= 8 && late < 40 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the times are %v (%v)", got.AnswerTimes, got.Unknown)
		}
	}
}

func TestObserveStates(t *testing.T) {
	t.Parallel()
	w := worldtest.New(t, "a")
	clients, garden, shoot := worldtest.SetUp(t, w, 0)
	query := world.Query{Shoots: []string{"alpha"}, Fields: []string{"state"}}
	if got := world.Observe(t.Context(), w, clients, query).Shoots["alpha"].State; got.Exists {
		t.Errorf("before there is one: %+v", got)
	}
	small := `{"a":1}`
	state := &gardencorev1beta1.ShootState{}
	state.Namespace, state.Name, state.Annotations = shoot.Namespace, shoot.Name,
		map[string]string{"transplant.dev/epoch": "3"}
	state.Spec.Extensions = []gardencorev1beta1.ExtensionResourceState{
		{Kind: "Network", State: &runtime.RawExtension{Raw: []byte(small)}},
		{Kind: "ControlPlane",
			State: &runtime.RawExtension{
				Raw: []byte(`{"transplant.dev/ref":{"chunks":["x","y"],"sha256":"0","bytes":5000000}}`)}},
	}
	if err := garden.Create(t.Context(), state); err != nil {
		t.Fatal(err)
	}
	got := world.Observe(t.Context(), w, clients, query).Shoots["alpha"].State
	if !got.Exists || got.Epoch != 3 || got.Chunks != 2 || got.Bytes < 5_000_000 || got.Bytes > 5_001_000 {
		t.Errorf("got %+v", got)
	}
}
