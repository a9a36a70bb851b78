package harm

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/sim/world"
)

const (
	// countTimeout bounds the question how often a fault of the cloud has hit so far.
	countTimeout = 5 * time.Second
	// setTimeout bounds the wait for the cloud's answer that a fault is set. The wait goes on when the run is cancelled: a
	// fault that came into force after its heal would reach the next run.
	setTimeout = 10 * time.Second
)

// BreakCloud implements world.Breaker.
func (i *Injector) BreakCloud(ctx context.Context, fault cloud.Fault) (world.Injection, error) {
	faults := []cloud.Fault{fault}
	if slices.Contains(fault.Match.Kinds, cloud.KindObjects) && len(fault.Match.Shoots) > 0 {
		backups, err := i.onBackups(ctx, fault)
		if err != nil {
			return world.Injection{}, err
		}
		faults = append(faults, backups...)
	}
	return i.breakCloud(ctx, faults)
}

// onBackups finds a shoot's calls to buckets by the names of its backups: they carry no scope.
func (i *Injector) onBackups(ctx context.Context, fault cloud.Fault) ([]cloud.Fault, error) {
	buckets, err := i.on.Cloud().Buckets().List(ctx, cloud.Filter{})
	if err != nil {
		return nil, fmt.Errorf("list the buckets: %w", err)
	}
	var faults []cloud.Fault
	for _, bucket := range buckets {
		for _, shoot := range fault.Match.Shoots {
			one := fault
			one.Match.Kinds, one.Match.Shoots = []string{cloud.KindObjects}, nil
			one.Match.IDPrefix = bucket.Name + "/" + environment.TechnicalID(shoot) + "--"
			faults = append(faults, one)
		}
	}
	return faults, nil
}

// breakCloud sets faults that begin and end, and count, together.
func (i *Injector) breakCloud(ctx context.Context, faults []cloud.Fault) (world.Injection, error) {
	admin, err := i.on.Environment.CloudAs(i.on.Landscape, environment.CloudAdmin)
	if err != nil {
		return world.Injection{}, err
	}
	return setFaults(ctx, admin, faults)
}

// setFaults sets all, or as many as it can.
func setFaults(ctx context.Context, admin *cloud.Client, faults []cloud.Fault) (world.Injection, error) {
	set, group := &cloudFaults{admin: admin}, newID()
	injection := world.Injection{Heal: set.heal, Hits: set.hits}
	for _, fault := range faults {
		fault.ID, fault.Group = newID(), group
		fault.Match.Shoots = slices.Clone(fault.Match.Shoots)
		for i, shoot := range fault.Match.Shoots {
			fault.Match.Shoots[i] = environment.TechnicalID(shoot)
		}
		if err := set.set(ctx, fault); err != nil {
			return injection, fmt.Errorf("set a fault of the cloud: %w", err)
		}
	}
	return injection, nil
}

// newID of a fault, or of a group of them.
func newID() string {
	id := make([]byte, 6)
	_, _ = rand.Read(id) // never fails
	return "run-" + hex.EncodeToString(id)
}

// cloudFaults are faults of the cloud that end together.
type cloudFaults struct {
	admin  *cloud.Client
	ids    []string
	unsure string // the one whose answer was lost: it may be set or not; empty when there is none

	mu     sync.Mutex
	healed bool
	ended  int // the hits of the healed ones
}

// set one more. It is known by its id before the cloud is: the cloud may set it, and its answer may be lost.
func (f *cloudFaults) set(ctx context.Context, fault cloud.Fault) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), setTimeout)
	defer cancel()
	f.ids = append(f.ids, fault.ID)
	_, err := f.admin.SetFault(ctx, fault)
	if err != nil {
		f.unsure = fault.ID
	}
	return err
}

func (f *cloudFaults) heal(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.healed = true
	var errs []error
	for _, id := range f.ids {
		final, err := f.admin.HealFault(ctx, id)
		if id == f.unsure && cloud.IsNotFound(err) {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("heal a fault of the cloud: %w", err))
			continue
		}
		f.ended += final.Hits
	}
	return errors.Join(errs...)
}

// hits asks the cloud until the heal has returned the final count. A cloud that does not answer has counted nothing
// yet.
func (f *cloudFaults) hits() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.healed {
		return f.ended
	}
	ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
	defer cancel()
	all, err := f.admin.Faults(ctx)
	if err != nil {
		return 0
	}
	hits := 0
	for _, one := range all {
		if slices.Contains(f.ids, one.ID) {
			hits += one.Hits
		}
	}
	return hits
}

// endFaults ends the faults that a run has left, because their heal did not reach the cloud. They outlive a restart of
// the cloud.
func endFaults(ctx context.Context, admin *cloud.Client) error {
	left, err := admin.Faults(ctx)
	if err != nil {
		return fmt.Errorf("list the faults of the cloud: %w", err)
	}
	for _, fault := range left {
		if _, err := admin.HealFault(ctx, fault.ID); err != nil && !cloud.IsNotFound(err) {
			return fmt.Errorf("end a fault of the cloud that was left: %w", err)
		}
	}
	return nil
}
