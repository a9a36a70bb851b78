package migration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/backupentry"
	"github.com/transplant-sim/transplant/controllers/controlplane/backups"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/owner"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// IncompleteError names what a forced restore cannot do without and has not found. Nothing has been written to an
// authority by then.
type IncompleteError struct{ Missing []string }

func (e *IncompleteError) Error() string {
	return "restore the shoot by force: missing are " + strings.Join(e.Missing, ", ")
}

// checkBackups makes sure that etcd does not start empty.
func checkBackups(ctx context.Context, o *controlplane.Operation, here *owner.Survey) error {
	err := o.Backups.Check(ctx, here)
	if errors.Is(err, backups.ErrNoBackups) {
		return &IncompleteError{Missing: []string{"backups of etcd: " + err.Error()}}
	}
	return err
}

// checkGarden makes sure of what of the shoot is kept in the garden, and loads the state: the garden asks before it
// sends the shoot anywhere, the destination before it takes it.
func checkGarden(ctx context.Context, garden client.Reader, states scope.States,
	shoot *gardencorev1beta1.Shoot) (state *shootstate.State, nothing bool, err error) {
	saved, missing, err := loadWhole(ctx, states, shoot)
	if err != nil {
		return nil, false, err
	}
	name := scope.BackupEntryName(shoot)
	entry, err := backupentry.Read(ctx, garden, client.ObjectKey{Namespace: shoot.Namespace, Name: name})
	switch {
	case err != nil:
		return nil, false, err
	case controlplane.NothingToRestore(shoot, entry, saved):
		return cmp.Or(saved, &shootstate.State{}), true, nil
	case entry == nil:
		missing = append(missing, fmt.Sprintf("the backup entry %q", name))
	case entry.DeletionTimestamp != nil: // who adopts it ends its deletion, and the backups with it
		missing = append(missing, fmt.Sprintf("a backup entry that stays: %q is being deleted, not by the shoot's deletion",
			entry.Name))
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return nil, false, &IncompleteError{Missing: missing}
	}
	return saved, false, nil
}

// loadWhole loads the state, as far as it can be had, and names what is missing in it. saved is nil if there is none at
// all.
func loadWhole(ctx context.Context, states scope.States, shoot *gardencorev1beta1.Shoot) (saved *shootstate.State,
	missing []string, err error) {
	saved, err = states.Load(ctx, client.ObjectKeyFromObject(shoot))
	if damaged, is := errors.AsType[*shootstate.DamagedError](err); is {
		return &shootstate.State{}, []string{"a part of the ShootState: " + damaged.Part}, nil
	}
	if apierrors.IsNotFound(err) {
		return nil, []string{"the ShootState"}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	missing = secrets.Missing(saved)
	// A shoot that is to be hibernated has its machines until it is.
	if !lifecycle.Workerless(shoot) && lifecycle.Awake(shoot) && saved.Machines == nil {
		missing = append(missing, "the machine state in the ShootState")
	}
	return saved, missing, nil
}

// adoptBackups does what the source does at the end of a planned migration: the BackupEntry is given to this seed, and
// so is the way to the bucket before, if a destination that died has left one. It comes after the take-over, which has
// ended the source's epoch.
func adoptBackups(ctx context.Context, o *controlplane.Operation) error {
	entry, err := o.Entries.Get(ctx)
	if err != nil {
		return err
	}
	if entry == nil {
		return errors.New("the backup entry has gone while the shoot was taken over")
	}
	// What was released waits until it is asked for: see DeployEntry. The other is simply reconciled here.
	released := &gardencorev1beta1.LastOperation{
		Type: gardencorev1beta1.LastOperationTypeMigrate, State: gardencorev1beta1.LastOperationStateSucceeded, Progress: 100,
		Description:    "Adopted by seed " + o.SeedName + ": the source does not answer.",
		LastUpdateTime: metav1.NewTime(o.Clock.Now()),
	}
	if err := adopt(ctx, o, entry, released); err != nil {
		return err
	}
	source, err := o.Entries.GetSource(ctx)
	if err != nil || source == nil {
		return err
	}
	return adopt(ctx, o, source, nil)
}

// adoptDying adopts, for their deletion to end, the BackupEntries of a shoot that has nothing to restore. Their source
// cannot be asked to remove the backups any more.
func adoptDying(ctx context.Context, o *controlplane.Operation) error {
	for _, read := range []func(context.Context) (*gardencorev1beta1.BackupEntry, error){
		o.Entries.Get, o.Entries.GetSource,
	} {
		entry, err := read(ctx)
		if err != nil {
			return err
		}
		if entry == nil {
			continue
		}
		if err := o.Bucket.Purge(ctx, entry.Spec.BucketName, o.Entries.Prefix()); err != nil {
			return fmt.Errorf("remove the backups in bucket %q: %w", entry.Spec.BucketName, err)
		}
		if err := adopt(ctx, o, entry, nil); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// adopt makes this seed responsible for a backup entry, which the caller has just read. Its own backup entry
// controller, which is woken by the first write, may write before the second: then the entry is read again.
func adopt(ctx context.Context, o *controlplane.Operation, entry *gardencorev1beta1.BackupEntry,
	last *gardencorev1beta1.LastOperation) error {
	read := true
	err := retry.RetryOnConflict(objects.ConflictBackoff, func() error {
		if !read {
			if err := o.Garden.Get(ctx, client.ObjectKeyFromObject(entry), entry); err != nil {
				return err
			}
		}
		read = false
		return adoptAsRead(ctx, o, entry, last)
	})
	if err != nil {
		return fmt.Errorf("adopt backup entry %q: %w", entry.Name, err)
	}
	return nil
}

func adoptAsRead(ctx context.Context, o *controlplane.Operation, entry *gardencorev1beta1.BackupEntry,
	last *gardencorev1beta1.LastOperation) error {
	if err := patch.LockedObject(ctx, o.Garden, entry, func() { entry.Spec.SeedName = &o.SeedName }); err != nil {
		return err
	}
	if ptr.Deref(entry.Status.SeedName, o.SeedName) == o.SeedName {
		return nil
	}
	return patch.LockedStatus(ctx, o.Garden, entry, func() {
		entry.Status.SeedName, entry.Status.LastError, entry.Status.LastOperation = nil, nil, last
	})
}
