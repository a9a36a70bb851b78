package engine

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// backups reach a revision more at each look, from the first on.
type backups struct {
	world.World
	first, looks atomic.Int64
	fails        error
}

var _ world.BackupReader = &backups{}

func (b *backups) BackedUpTo(context.Context, string) (int64, error) {
	return b.first.Load() + b.looks.Add(1) - 1, b.fails
}

// The world of these knows no shoot, so reading its store would fail.
func TestAwaitBackup_NothingToWaitFor_SaysNo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		world world.World
		delta time.Duration
	}{
		"the world reads no backups":    {world: struct{ world.World }{}},
		"the backups are too far apart": {world: &backups{}, delta: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &scenario.Scenario{}
			s.Spec.Landscape.Settings.DeltaInterval.Duration = c.delta
			there := &shoots{scope: &scope{Options: Options{
				Scenario: s, World: c.world, Journal: timeline.NewJournal(clock.RealClock{}, nil), Clock: clock.RealClock{},
			}}}
			if backedUp, err := there.awaitBackup(t.Context(), "alpha"); backedUp || err != nil {
				t.Errorf("backed up %t, error %v", backedUp, err)
			}
		})
	}
}

func TestAwaitRevision(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first    int64 // revision that the backups reach at the first look; the store is at 42
		fails    error
		backedUp bool
		looks    int64
		says     string
	}{
		"it is in the backups":       {first: 42, backedUp: true, looks: 1},
		"it will be soon":            {first: 40, backedUp: true, looks: 3},
		"it will not be":             {first: -1000, looks: 2, says: "the backups reach revision"},
		"the backups cannot be read": {first: 42, fails: errors.New("no bucket"), looks: 2, says: "no bucket"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := fake.NewClientset()
			store.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "42"}}, nil
			})
			there := &backups{fails: c.fails}
			there.first.Store(c.first)
			ctx, cancel := context.WithTimeout(t.Context(), 4*pollInterval)
			defer cancel()
			backedUp, err := awaitRevision(ctx, clock.RealClock{}, there, "alpha", store)
			if backedUp != c.backedUp || there.looks.Load() < c.looks || (err == nil) != (c.says == "") {
				t.Errorf("backed up %t after %d looks, error %v", backedUp, there.looks.Load(), err)
			}
			if err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %q", err, c.says)
			}
		})
	}
}
