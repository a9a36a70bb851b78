// Package backend makes landscapes for runs, on process nodes or on kind clusters. It joins the observer of a landscape
// and the injector of harm to one World, and does neither's work by itself.
package backend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/binary"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/cmd/transplant/environment/realnodes"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/run"
	"github.com/transplant-sim/transplant/sim/world"
)

// claim is a run directory, and how landscapes are made in it.
type claim struct {
	dir   rundir.Dir
	lock  *rundir.Lock
	start startIn
}

// startIn starts a landscape in a fresh run directory that is the caller's.
type startIn func(ctx context.Context, c *claim, request run.Request) (world.World, error)

var _ run.Claim = &claim{}

func claimDir(name string, start startIn) (run.Claim, error) {
	home, err := rundir.Home()
	if err != nil {
		return nil, err
	}
	dir, err := rundir.Of(home, name)
	if err != nil {
		return nil, err
	}
	lock, err := dir.TakeLock()
	if errors.Is(err, rundir.ErrInUse) {
		return nil, &run.TakenError{Err: err}
	}
	if err != nil {
		return nil, err
	}
	return &claim{dir, lock, start}, nil
}

// Start implements run.Claim.
func (c *claim) Start(ctx context.Context, request run.Request) (world.World, error) {
	cleared, err := c.dir.Renew()
	if err != nil {
		return nil, err
	}
	if cleared {
		progress(request.Progress)(embedded.Cleared(c.dir))
	}
	return c.start(ctx, c, request)
}

// Release implements run.Claim.
func (c *claim) Release() error { return c.lock.Unlock() }

// stopTimeout bounds the end of a landscape that did not become a world.
const stopTimeout = 2 * time.Minute

// worldOn makes a landscape a world, or ends it.
func worldOn(ctx context.Context, on run.Backend, l environment.Landscape, s *environment.Environment) (world.World,
	error) {
	w, err := NewWorld(l, s, on.Can)
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return nil, errors.Join(err, l.Stop(ctx))
	}
	return w, nil
}

// newEnvironment makes the environment that a run requests.
func newEnvironment(request run.Request) *environment.Environment {
	s := environment.New(settingsOf(request.Landscape.Settings))
	s.Regions = map[string]string{}
	s.Taints, s.Tolerable = map[string][]landscape.Taint{}, request.Landscape.Tolerable
	s.Extensions, s.Hosted = request.Landscape.Extensions, request.Landscape.HostedSeeds()
	s.RealNodes = realnodes.Of(request.Landscape)
	s.Garden = request.Landscape.Garden
	for _, seed := range request.Landscape.Seeds {
		s.Regions[seed.Name], s.Taints[seed.Name] = seed.Region, seed.Taints
	}
	return s
}

func settingsOf(s landscape.Settings) environment.Settings {
	s.Default()
	return environment.Settings{
		OwnerCheckInterval: s.OwnerCheckInterval.Duration, OwnerCheckTimeout: s.OwnerCheckTimeout.Duration,
		DeltaInterval: s.DeltaInterval.Duration, FullSnapshotInterval: s.FullSnapshotInterval.Duration,
		DNSTTL: s.DNSTTL.Duration, WaitInterval: s.WaitInterval.Duration, LeaseInterval: s.SeedLeaseRenew.Duration,
		SeedLossGracePeriod: s.SeedLossGracePeriod.Duration, RestoresAtOnce: s.RestoresAtOnce, SecondSign: s.SecondSign,
		SyncPeriod: s.SyncPeriod.Duration, ReconcileInMaintenanceOnly: s.ReconcileInMaintenanceOnly,
		CareSyncPeriod: s.CareSyncPeriod.Duration, CareThreshold: s.CareThreshold.Duration,
		RemediateWebhooks: s.RemediateWebhooks,
		CleanupTimeout:    s.CleanupTimeout.Duration,
		RetryDuration:     s.RetryDuration.Duration, ThrottledRetryPeriod: s.ThrottledRetryPeriod.Duration,
	}
}

// prepare builds the Kubernetes programs that every landscape consists of, unless they are there.
func prepare(ctx context.Context, report func(string)) error {
	show := progress(report)
	_, err := binary.Ensure(ctx, func(done, total int, what string) {
		show(embedded.Progress{Subject: "control-plane binary", What: what, Done: done, Total: total})
	})
	return err
}

// progress reports every line of news, and every tenth of long work.
func progress(report func(string)) func(embedded.Progress) {
	tenths := map[string]int{}
	return func(p embedded.Progress) {
		if p.Total == 0 {
			report(fmt.Sprintf("%s: %s", p.Subject, p.What))
			return
		}
		if tenth := 10 * p.Done / p.Total; tenth > tenths[p.Subject] {
			tenths[p.Subject] = tenth
			report(fmt.Sprintf("%s: %d %% (%d of %d)", p.Subject, 10*tenth, p.Done, p.Total))
		}
	}
}
