package shootstate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// DefaultBudget is how many bytes a ShootState may have before its largest entries move to chunks
// (docs/specification/state-size.md#z2): below etcd's limit of 1.5 MiB.
const DefaultBudget = 1 << 20

// Store keeps ShootStates and their chunks in the garden.
type Store struct {
	// Garden is an uncached client.
	Garden client.Client
	Clock  clock.PassiveClock
	// Budget in bytes; DefaultBudget if zero.
	Budget int
}

// DamagedError names the part of a ShootState that is missing or cannot be read. It is not a NotFound error: the
// ShootState is there, and must not be taken for none.
type DamagedError struct{ Part string }

func (e *DamagedError) Error() string { return e.Part }

// Load returns the state of a shoot, expanded and verified. A missing ShootState is a NotFound error; a missing or
// damaged chunk or resource is a *DamagedError that names it.
func (s *Store) Load(ctx context.Context, shoot client.ObjectKey) (state *State, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		object := &gardencorev1beta1.ShootState{}
		if err := s.Garden.Get(ctx, shoot, object); err != nil {
			return err
		}
		var damages []damage
		state, damages, err = s.expand(ctx, object)
		if err == nil && len(damages) > 0 {
			err = &DamagedError{Part: strings.Join(parts(damages), ", ")}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read ShootState %q: %w", shoot, err)
	}
	return state, nil
}

// expand is what a ShootState says, with what it has in chunks, as far as it can be read. Who replaces a version takes
// its chunks away: what is missing in one that is no longer there is a conflict, and no damage.
func (s *Store) expand(ctx context.Context, object *gardencorev1beta1.ShootState) (*State, []damage, error) {
	spec := object.Spec.DeepCopy()
	unread, err := s.join(ctx, object.Namespace, spec)
	if err != nil {
		return nil, nil, err
	}
	state, damages := decode(spec, unread)
	if len(damages) > 0 {
		if err := s.replaced(ctx, object); err != nil {
			return nil, nil, err
		}
	}
	state.Spent = object.Annotations[constants.ConfirmationDeletion] == constants.LabelTrue
	state.Epoch, err = parseEpoch(object)
	return state, damages, err
}

// replaced is a conflict if a ShootState is no longer as it was read.
func (s *Store) replaced(ctx context.Context, object *gardencorev1beta1.ShootState) error {
	now := &metav1.PartialObjectMetadata{}
	now.SetGroupVersionKind(gardencorev1beta1.SchemeGroupVersion.WithKind("ShootState"))
	err := s.Garden.Get(ctx, client.ObjectKeyFromObject(object), now)
	if apierrors.IsNotFound(err) || err == nil && now.ResourceVersion != object.ResourceVersion {
		err = apierrors.NewConflict(schema.GroupResource{Resource: "shootstates"}, object.Name,
			errors.New("it has been replaced while it was read"))
	}
	return err
}

// StaleError refuses to replace or delete a state that was saved under a newer ownership epoch than that of who asks:
// who does has lost the shoot since.
type StaleError struct{ Saved, Epoch int64 }

func (e *StaleError) Error() string {
	return fmt.Sprintf("the saved state is of epoch %d, this is epoch %d", e.Saved, e.Epoch)
}

func stale(verb string, shoot client.ObjectKey, saved client.Object, epoch int64) error {
	of, err := parseEpoch(saved)
	if err == nil && of > epoch {
		err = fmt.Errorf("%s ShootState %q: %w", verb, shoot, &StaleError{Saved: of, Epoch: epoch})
	}
	return err
}

// Spend notes that nothing is left of the shoot that its state could restore, which Load returns from then on
// (State.Spent). Without a state there is nothing to note. Who may is as for Delete.
func (s *Store) Spend(ctx context.Context, shoot client.ObjectKey, epoch int64,
	mine func(context.Context) error) error {
	_, err := s.confirm(ctx, shoot, epoch, mine, func(*gardencorev1beta1.ShootState) {})
	return err
}

// confirm confirms the deletion of a state, and returns it as it was written; nil if there is none.
func (s *Store) confirm(ctx context.Context, shoot client.ObjectKey, epoch int64, mine func(context.Context) error,
	further func(*gardencorev1beta1.ShootState)) (*gardencorev1beta1.ShootState, error) {
	object := &gardencorev1beta1.ShootState{}
	err := s.Garden.Get(ctx, shoot, object)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read ShootState %q: %w", shoot, err)
	}
	there := err == nil
	if err := mine(ctx); err != nil {
		return nil, fmt.Errorf("delete ShootState %q: %w", shoot, err)
	}
	if !there {
		return nil, nil
	}
	if err := stale("delete", shoot, object, epoch); err != nil {
		return nil, err
	}
	before := object.DeepCopy()
	metav1.SetMetaDataAnnotation(&object.ObjectMeta, constants.ConfirmationDeletion, constants.LabelTrue)
	further(object)
	if err := s.Garden.Patch(ctx, object, patch.AsRead(before)); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("confirm the deletion of ShootState %q: %w", shoot, err)
	}
	return object, nil
}

// Delete removes the state of a shoot as who acts in the epoch given; that it is gone already is fine. Prune removes
// its chunks. A state of a newer epoch is a *StaleError. mine is asked after the state was read: if the shoot has been
// taken over since, or is taken over before the deletion, the state has another version, or will not be deleted.
func (s *Store) Delete(ctx context.Context, shoot client.ObjectKey, epoch int64,
	mine func(context.Context) error) error {
	object, err := s.confirm(ctx, shoot, epoch, mine, func(state *gardencorev1beta1.ShootState) { state.Finalizers = nil })
	if err != nil || object == nil {
		return err
	}
	asWritten := client.Preconditions{UID: &object.UID, ResourceVersion: &object.ResourceVersion}
	if err := s.Garden.Delete(ctx, object, asWritten); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete ShootState %q: %w", shoot, err)
	}
	return nil
}
