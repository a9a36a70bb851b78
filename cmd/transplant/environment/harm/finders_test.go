package harm

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/cmd/transplant/environment/observe"
	"github.com/transplant-sim/transplant/sim/world"
)

// Programs of a control plane can be harmed while another seed is lost or frozen, which cannot be asked what it runs.
func TestAControlPlaneIsFoundBesideASeedThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	refused := errors.New("connection refused")
	deaf := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList,
		...client.ListOption) error {
		return refused
	}}
	for name, c := range map[string]struct {
		deaf  string
		lost  bool
		wrong string
	}{
		"the other does not answer": {deaf: "a"},
		"the other is lost":         {deaf: "a", lost: true},
		"both do not answer":        {deaf: "ab", wrong: `on seed "a": connection refused`},
		"all are lost":              {deaf: "ab", lost: true, wrong: "no such process runs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, asked := []*rickety{}, map[string]client.Client{}
			for _, name := range []string{"a", "b"} {
				failures := interceptor.Funcs{}
				if strings.Contains(c.deaf, name) {
					failures = deaf
				}
				seed, client := withEtcd(t, name, t.TempDir(), failures)
				if strings.Contains(c.deaf, name) && c.lost {
					seed.runs = nil
				}
				all, asked[name] = append(all, seed), client
			}
			i := New(&observe.Observer{Landscape: grounds{seeds: all}, SeedClients: asked})
			etcd := world.Process{Shoot: "alpha", Program: "etcd"}
			freeze, err := i.BreakProcess(t.Context(), etcd, world.Freeze)
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("frozen: %v, want %q", err, c.wrong)
				}
				return
			}
			if err := errors.Join(err, i.AwaitProcess(t.Context(), etcd)); err != nil || freeze.Hits() != 1 {
				t.Fatalf("frozen: %v", err)
			}
			if err := freeze.Heal(t.Context()); err != nil {
				t.Error(err)
			}
			kill, err := i.KillFor(t.Context(), etcd, time.Hour)
			if err != nil || kill.Hits() != 1 {
				t.Fatalf("killed: %v", err)
			}
			if err := kill.Heal(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// Successors are stopped although another place gives no answer at all.
func TestKeepDown_AnotherPlaceDoesNotAnswer_StopsSuccessors(t *testing.T) {
	t.Parallel()
	s := &sleepers{t: t}
	s.start()
	frozen := make(chan struct{})
	place := func(ctx context.Context) ([]process.Program, error) {
		select {
		case <-frozen:
			<-ctx.Done()
			return nil, ctx.Err()
		default:
			return nil, nil
		}
	}
	d, err := keepDown(t.Context(), finders{place, s.find}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	close(frozen)
	await(t, "the first is dead", func() bool { return s.state() == "0" })
	s.start()
	await(t, "the second is stopped", func() bool { return s.state() == "T" })
	if err := d.end(); err != nil {
		t.Error(err)
	}
	await(t, "the second goes on", func() bool { return s.state() == "S" })
}
