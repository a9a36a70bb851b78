package outside

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/backups"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/placement"
)

// OwnedError says that somebody runs the control plane of the shoot, or may at any moment.
type OwnedError struct{ Shoot, Why string }

func (e *OwnedError) Error() string {
	return fmt.Sprintf("restore the control plane of shoot %q outside any seed: two control planes of one shoot "+
		"would run: %s", e.Shoot, e.Why)
}

// ExitOwned is the exit code of the command that was refused by an OwnedError.
const ExitOwned = 3

// ExitCode of the command.
func (e *OwnedError) ExitCode() int { return ExitOwned }

// IncompleteError names what the restore cannot do without and has not found.
type IncompleteError struct {
	Shoot   string
	Missing []string
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("restore the control plane of shoot %q outside any seed: missing are %s", e.Shoot,
		strings.Join(e.Missing, ", "))
}

// errUnfit says that the shoot has no control plane that could be restored.
var errUnfit = errors.New("it has no control plane to restore")

// check reads what the restore needs. Nothing is written before it has found everything, and nobody who runs the
// control plane.
func (r *run) check(ctx context.Context) error {
	if err := r.checkGarden(ctx); err != nil {
		return err
	}
	return r.checkBackups(ctx)
}

func (r *run) checkGarden(ctx context.Context) error {
	shoot := &gardencorev1beta1.Shoot{}
	if err := r.Garden.Get(ctx, r.key, shoot); err != nil {
		return fmt.Errorf("read shoot %q in the garden: %w", r.key, err)
	}
	r.Shoot = shoot
	switch {
	case shoot.DeletionTimestamp != nil:
		return fmt.Errorf("restore shoot %q: it is being deleted: %w", r.key, errUnfit)
	case !lifecycle.Created(shoot):
		return fmt.Errorf("restore shoot %q: it has never been created successfully: %w", r.key, errUnfit)
	case !lifecycle.Awake(shoot):
		return fmt.Errorf("restore shoot %q: it is hibernated: %w", r.key, errUnfit)
	}
	if err := r.checkNobodyRuns(ctx); err != nil {
		return err
	}
	var missing []string
	var err error
	if r.State, missing, err = r.loadState(ctx); err != nil {
		return err
	}
	entry, err := r.entries.Get(ctx)
	if err != nil {
		return err
	}
	if entry == nil {
		missing = append(missing, fmt.Sprintf("the backup entry %q", r.BackupEntryName()))
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return &IncompleteError{Shoot: r.key.String(), Missing: missing}
	}
	r.bucket = entry.Spec.BucketName
	return nil
}

func (r *run) loadState(ctx context.Context) (state *shootstate.State, missing []string, err error) {
	state, err = r.States.Load(ctx, r.key)
	if damaged, is := errors.AsType[*shootstate.DamagedError](err); is {
		return nil, []string{"a part of the ShootState: " + damaged.Part}, nil
	}
	if apierrors.IsNotFound(err) {
		return nil, []string{"the ShootState"}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return state, secrets.Missing(state), nil
}

// checkBackups is errAway while the bucket does not answer.
func (r *run) checkBackups(ctx context.Context) error {
	err := r.Bucket.Check(ctx, r.bucket, r.entries.Prefix())
	if err == nil {
		err = r.Bucket.Readable(ctx, r.bucket, r.entries.Prefix())
	}
	_, damaged := errors.AsType[*backup.DamageError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, backups.ErrNoBackups), damaged:
		return &IncompleteError{Shoot: r.key.String(),
			Missing: []string{fmt.Sprintf("backups of etcd in bucket %q: %v", r.bucket, err)}}
	}
	return &awayError{fmt.Sprintf("the bucket %q", r.bucket), err}
}

// awayError says that something does not answer that the restore waits for.
type awayError struct {
	what string
	err  error
}

func (e *awayError) Error() string { return fmt.Sprintf("%s does not answer: %v", e.what, e.err) }

func (e *awayError) Unwrap() error { return e.err }

// checkNobodyRuns refuses a shoot that answers by its name, and one of which a seed that reports is the owner by DNS,
// is responsible in the garden, or is to have it. If an earlier restore has died, no gardenlet acts on the shoot until
// it is bound to its seed by force. That nobody runs who is silent is made sure of by the take-over.
func (r *run) checkNobodyRuns(ctx context.Context) error {
	if err := r.of.Hear.Hear(ctx, r.Shoot); err == nil {
		return &OwnedError{r.key.String(), "its API server answers"}
	}
	record, _, err := r.Owners.Decision(r.OwnerRecordName()).Read(ctx)
	if err != nil {
		return &awayError{"DNS, which says who owns the shoot,", err}
	}
	responsible := ptr.Deref(r.Shoot.Status.SeedName, "")
	seeds := [][2]string{
		{record.Seed, "owns it by DNS, in epoch " + fmt.Sprint(record.Epoch)}, {responsible, "has it (status.seedName)"},
	}
	if responsible != constants.SeedOutside || lifecycle.Forced(r.Shoot) {
		seeds = append(seeds, [2]string{ptr.Deref(r.Shoot.Spec.SeedName, ""), "is to have it (spec.seedName)"})
	}
	for _, one := range seeds {
		seed, why := one[0], one[1]
		reports, err := r.reports(ctx, seed)
		if err != nil {
			return err
		}
		if reports {
			return &OwnedError{r.key.String(), fmt.Sprintf("seed %q %s, and its gardenlet reports; if it is lost, wait until "+
				"its condition GardenletReady is Unknown", seed, why)}
		}
	}
	return nil
}

// errMisfit says that the garden would refuse to bind the shoot to a seed.
var errMisfit = errors.New("the shoot cannot be bound to it")

// checkHandOver refuses a seed that is not there as one that gets the control plane, or that the garden would not let
// have it: it asks before the bind does, which comes after the end of the epoch.
func (r *Restore) checkHandOver(ctx context.Context, key types.NamespacedName, to string) error {
	if to == "" {
		return nil
	}
	seeds, shoots := &gardencorev1beta1.SeedList{}, &gardencorev1beta1.ShootList{}
	managed, shoot := &seedmanagementv1alpha1.ManagedSeedList{}, &gardencorev1beta1.Shoot{}
	for _, list := range []client.ObjectList{seeds, shoots, managed} {
		if err := r.Garden.List(ctx, list); err != nil {
			return fmt.Errorf("list the seeds and shoots of the garden: %w", err)
		}
	}
	if err := r.Garden.Get(ctx, key, shoot); err != nil {
		return fmt.Errorf("read shoot %q in the garden: %w", key, err)
	}
	q := &placement.Question{Shoot: shoot, Seeds: seeds.Items, Usage: placement.UsageOf(shoots.Items, shoot),
		Hosts: placement.HostsOf(managed.Items, shoots.Items), Source: constants.SeedOutside}
	seed := q.Seed(to)
	if seed == nil {
		names := []string{}
		for i := range seeds.Items {
			names = append(names, seeds.Items[i].Name)
		}
		return fmt.Errorf("hand the control plane over to seed %q: the garden has seeds %v", to, names)
	}
	if ptr.Deref(shoot.Spec.SeedName, "") == to {
		return nil // it is bound to it already
	}
	if name, _, _ := placement.ProfileOf(shoot); name != "" {
		q.Profile = &gardencorev1beta1.CloudProfile{}
		err := r.Garden.Get(ctx, client.ObjectKey{Name: name}, q.Profile)
		if apierrors.IsNotFound(err) {
			err = fmt.Errorf("%w: %w", errMisfit, err)
		}
		if err != nil {
			return fmt.Errorf("read CloudProfile %q, by which seeds are chosen: %w", name, err)
		}
		q.Profile.SetDefaults()
	}
	if why := q.Misfits(seed); len(why) > 0 {
		return fmt.Errorf("hand the control plane over to seed %q: %w: it %s; name another one, or none until it can have it",
			to, errMisfit, strings.Join(why, ", and "))
	}
	return nil
}

// reports says whether the gardenlet of a seed is heard of. A seed that does not exist reports nothing.
func (r *run) reports(ctx context.Context, name string) (bool, error) {
	if name == "" || name == constants.SeedOutside {
		return false, nil
	}
	seed := &gardencorev1beta1.Seed{}
	err := r.Garden.Get(ctx, client.ObjectKey{Name: name}, seed)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read seed %q in the garden: %w", name, err)
	}
	return slices.ContainsFunc(seed.Status.Conditions, func(c gardencorev1beta1.Condition) bool {
		return c.Type == gardencorev1beta1.SeedGardenletReady && c.Status == gardencorev1beta1.ConditionTrue
	}), nil
}
