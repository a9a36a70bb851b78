package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/world"
)

var _ world.CloudBreaker = &World{}

// countTimeout bounds the question how often a fault of the cloud was felt so far.
const countTimeout = 5 * time.Second

// BreakCloud implements world.CloudBreaker.
func (w *World) BreakCloud(ctx context.Context, fault cloud.Fault) (world.Injection, error) {
	faults := []cloud.Fault{fault}
	if slices.Contains(fault.Match.Kinds, cloud.KindObjects) && len(fault.Match.Shoots) > 0 {
		backups, err := w.onBackups(ctx, fault)
		if err != nil {
			return world.Injection{}, err
		}
		faults = append(faults, backups...)
	}
	return w.breakCloud(ctx, faults)
}

// onBackups finds a shoot's calls to buckets by the names of its backups: they carry no scope.
func (w *World) onBackups(ctx context.Context, fault cloud.Fault) ([]cloud.Fault, error) {
	buckets, err := w.cloud.Buckets().List(ctx, cloud.Filter{})
	if err != nil {
		return nil, fmt.Errorf("list the buckets: %w", err)
	}
	var faults []cloud.Fault
	for _, bucket := range buckets {
		for _, shoot := range fault.Match.Shoots {
			one := fault
			one.Match.Kinds, one.Match.Shoots = []string{cloud.KindObjects}, nil
			one.Match.IDPrefix = bucket.Name + "/" + technicalID(shoot) + "--"
			faults = append(faults, one)
		}
	}
	return faults, nil
}

// breakCloud sets faults that begin and end, and count, together.
func (w *World) breakCloud(ctx context.Context, faults []cloud.Fault) (world.Injection, error) {
	admin, err := w.stage.CloudAs(w.landscape, cloudAdmin)
	if err != nil {
		return world.Injection{}, err
	}
	set, group := &cloudFaults{admin: admin}, "story-"+newToken()[:12]
	for _, fault := range faults {
		fault.ID, fault.Group = "story-"+newToken()[:12], group
		fault.Match.Shoots = slices.Clone(fault.Match.Shoots)
		for i, shoot := range fault.Match.Shoots {
			fault.Match.Shoots[i] = technicalID(shoot)
		}
		if _, err := admin.SetFault(ctx, fault); err != nil {
			return world.Injection{}, errors.Join(fmt.Errorf("set a fault of the cloud: %w", err), set.heal(ctx))
		}
		set.ids = append(set.ids, fault.ID)
	}
	return world.Injection{Heal: set.heal, Touched: set.touched}, nil
}

// cloudFaults are faults of the cloud that end together.
type cloudFaults struct {
	admin *cloud.Client
	ids   []string

	mu     sync.Mutex
	healed bool
	felt   int
}

func (f *cloudFaults) heal(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.healed = true
	var errs []error
	for _, id := range f.ids {
		final, err := f.admin.HealFault(ctx, id)
		if err != nil {
			errs = append(errs, fmt.Errorf("heal a fault of the cloud: %w", err))
			continue
		}
		f.felt += final.Felt
	}
	return errors.Join(errs...)
}

// touched asks the cloud until the heal has told the end. A cloud that does not answer has counted nothing yet.
func (f *cloudFaults) touched() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.healed {
		return f.felt
	}
	ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
	defer cancel()
	all, err := f.admin.Faults(ctx)
	if err != nil {
		return 0
	}
	felt := 0
	for _, one := range all {
		if slices.Contains(f.ids, one.ID) {
			felt += one.Felt
		}
	}
	return felt
}
