package controlplane

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/backupentry"
	"github.com/transplant-sim/transplant/controllers/controlplane/namespace"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/ownership"
)

// Factory makes the Operations of one gardenlet.
type Factory struct {
	scope.Settings
	Clock    clock.Clock
	Boottime ownership.Clock
	// Garden and Seed are uncached clients.
	Garden, Seed client.Client
	Bell         *scope.Bell
	Shoots       scope.ShootClients
	Reach        scope.ShootConfigs
	Owners       scope.Authorities
	Bucket       scope.Buckets
	States       scope.States
	// Version is the gardenlet's own.
	Version string
	// Watched and WatchedGarden are those of each Scope.
	Watched, WatchedGarden client.Reader

	mu        sync.Mutex
	busy      map[client.ObjectKey]bool
	takeovers map[client.ObjectKey]takeover
}

// takeover is how far a shoot's take-over has come in this process, kept from one run of a flow to the next: who begins
// anew waits anew (docs/ownership.md#o6).
type takeover struct {
	shoot types.UID
	*ownership.Takeover
}

// Operation makes the Operation for one run. The shoot is read anew, uncached: a decision must not rest on a cache. The
// Seed is read after it: whoever changes the Seed and then asks for a run gets what he changed. A nil Operation without
// error means that the shoot is gone.
func (f *Factory) Operation(ctx context.Context, log logr.Logger, key client.ObjectKey) (*Operation, error) {
	o, err := f.Look(ctx, log, key)
	if o == nil || err != nil {
		return nil, err
	}
	if o.SeedObject, err = f.readSeed(ctx); err != nil {
		return nil, err
	}
	o.Takeover = f.takeoverOf(o.Shoot)
	return o, nil
}

// Look is Operation for somebody who looks at the shoot and runs no flow: the Seed is not read, and SeedObject is nil.
func (f *Factory) Look(ctx context.Context, log logr.Logger, key client.ObjectKey) (*Operation, error) {
	shoot := &gardencorev1beta1.Shoot{}
	if err := f.Garden.Get(ctx, key, shoot); err != nil {
		if client.IgnoreNotFound(err) == nil {
			f.forget(key)
		}
		return nil, client.IgnoreNotFound(err)
	}
	return f.operation(log, shoot), nil
}

func (f *Factory) operation(log logr.Logger, shoot *gardencorev1beta1.Shoot) *Operation {
	return New(&scope.Scope{
		Watched: f.Watched, WatchedGarden: f.WatchedGarden,
		Settings: f.Settings, Log: log, Clock: f.Clock, Boottime: f.Boottime, Garden: f.Garden, Seed: f.Seed, Bell: f.Bell,
		Shoots: f.Shoots, Reach: f.Reach, Owners: f.Owners, Bucket: f.Bucket, States: f.States, Shoot: shoot,
	})
}

func (f *Factory) readSeed(ctx context.Context) (*gardencorev1beta1.Seed, error) {
	seed := &gardencorev1beta1.Seed{}
	if err := f.Garden.Get(ctx, client.ObjectKey{Name: f.SeedName}, seed); err != nil {
		return nil, fmt.Errorf("read seed %q: %w", f.SeedName, err)
	}
	return seed, nil
}

// Abandoned makes the Operation for what a shoot that is no more has left in a namespace of this seed; nil if the
// namespace is nobody's, or its shoot is there. The shoot's UID is known by the name of its backups.
func (f *Factory) Abandoned(ctx context.Context, log logr.Logger, home *corev1.Namespace) (*Operation, error) {
	key, known := namespace.ShootOf(home)
	if !known {
		return nil, nil
	}
	o, err := f.Look(ctx, log, key)
	if o != nil || err != nil {
		return nil, err
	}
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace}}
	shoot.Status.TechnicalID = home.Name
	o = f.operation(log, shoot)
	if o.SeedObject, err = f.readSeed(ctx); err != nil {
		return nil, err
	}
	entries, err := o.Entries.OnSeed(ctx)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		shoot.Status.UID = types.UID(strings.TrimPrefix(strings.TrimPrefix(entry.Name, backupentry.SourcePrefix),
			home.Name+"--"))
	}
	return o, nil
}

func (f *Factory) takeoverOf(shoot *gardencorev1beta1.Shoot) *ownership.Takeover {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := client.ObjectKeyFromObject(shoot)
	if f.takeovers == nil {
		f.takeovers = map[client.ObjectKey]takeover{}
	}
	if f.takeovers[key].shoot != shoot.UID {
		f.takeovers[key] = takeover{shoot: shoot.UID, Takeover: &ownership.Takeover{}}
	}
	return f.takeovers[key].Takeover
}

func (f *Factory) forget(key client.ObjectKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.takeovers, key)
}

// TryLock makes sure that only one flow of this gardenlet works on a shoot, whichever duty it belongs to. It returns
// false if one does already.
func (f *Factory) TryLock(key client.ObjectKey) (unlock func(), ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy[key] {
		return nil, false
	}
	if f.busy == nil {
		f.busy = map[client.ObjectKey]bool{}
	}
	f.busy[key] = true
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.busy, key)
	}, true
}
