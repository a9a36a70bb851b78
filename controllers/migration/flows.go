// Package migration moves control planes from seed to seed: the source's and the destination's part of a planned
// migration (docs/specification/migration.md), the ShootState kept in sync, the hand-over of backups, what is left to
// do on the source afterwards, and what happens when the source is lost
// (docs/ownership.md#spec-9-3, docs/ownership.md#spec-9-4).
//
// Creating, reconciling and deleting shoots is package shoot's; who owns a shoot is package ownership's.
package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/etcd"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Flows are those of a shoot that moves.
type Flows struct{ Release Releaser }

// Releaser speaks with a guard about the end of its epoch.
type Releaser interface {
	// Release has it end the epoch, as the last step of the owner (docs/ownership.md#o11): clients stopped, holders
	// revoked, final snapshot in the bucket.
	Release(ctx context.Context, guard etcd.Guard, epoch int64) error
	// AwaitEnd waits until it has done the same because another owner has ended the epoch (docs/ownership.md#o3).
	AwaitEnd(ctx context.Context, guard etcd.Guard, epoch int64) error
}

// Migrate returns the source's flow, when the destination is ready. The constraint is the garden's word for that
// (docs/specification/migration.md#spec-2-4).
func (f *Flows) Migrate(ctx context.Context, o *controlplane.Operation) (*run.Flow, time.Duration, error) {
	if ptr.Deref(o.Shoot.Spec.SeedName, "") == o.SeedName {
		return nil, 0, abort(ctx, o, "is called off: the shoot is bound to its source again")
	}
	if wait := o.BackOff(); wait > 0 || lifecycle.Stuck(o.Shoot) {
		return nil, wait, nil
	}
	if !lifecycle.ReadyForMigration(o.Shoot) {
		return nil, 0, callOff(ctx, o)
	}
	return f.migrateFlow(o), 0, nil
}

// Restore returns the destination's flow.
func (f *Flows) Restore(_ context.Context, o *controlplane.Operation) (*run.Flow, time.Duration, error) {
	if wait := o.BackOff(); wait > 0 || lifecycle.Stuck(o.Shoot) {
		return nil, wait, nil
	}
	return f.restoreFlow(o), 0, nil
}

// callOff says that nobody is at work on a hand-over whose run has ended without a word, or on a restore that was cut
// off for one, and that is not begun anew for the sake of its destination. Otherwise nobody would choose another one if
// that is lost. The caller holds the shoot's lock: no run of this gardenlet is alive.
func callOff(ctx context.Context, o *controlplane.Operation) error {
	last := o.Shoot.Status.LastOperation
	if last == nil || last.State != gardencorev1beta1.LastOperationStateProcessing ||
		last.Type != gardencorev1beta1.LastOperationTypeMigrate && last.Type != gardencorev1beta1.LastOperationTypeRestore {
		return nil
	}
	return abort(ctx, o, "was interrupted, and its destination is not ready")
}

// abort ends a hand-over that has begun. A source that the shoot is bound to again then restores it, in a new epoch if
// its own has ended (docs/ownership.md#o11).
func abort(ctx context.Context, o *controlplane.Operation, why string) error {
	if err := patch.LockedStatus(ctx, o.Garden, o.Shoot, func() {
		last := o.Shoot.Status.LastOperation
		last.Type, last.State, last.LastUpdateTime = gardencorev1beta1.LastOperationTypeMigrate,
			gardencorev1beta1.LastOperationStateAborted, metav1.NewTime(o.Clock.Now())
		last.Description = fmt.Sprintf("The migration %s, at %d %%: %s", why, last.Progress, last.Description)
	}); err != nil {
		return fmt.Errorf("abort the migration of shoot %q: %w", client.ObjectKeyFromObject(o.Shoot), err)
	}
	return nil
}

// errNoEtcd says that the source has nothing to hand over.
var errNoEtcd = errors.New("the shoot's etcd does not exist on its source seed")
