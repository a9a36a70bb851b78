package shootstate

import (
	"context"
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
)

// DefaultBudget is how many bytes a ShootState may have before its largest entries move to chunks (SPEC 9.5, Z2):
// below etcd's limit of 1.5 MiB.
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
func (s *Store) Load(ctx context.Context, shoot client.ObjectKey) (*State, error) {
	object := &gardencorev1beta1.ShootState{}
	if err := s.Garden.Get(ctx, shoot, object); err != nil {
		return nil, fmt.Errorf("read ShootState %q: %w", shoot, err)
	}
	if err := s.join(ctx, shoot.Namespace, &object.Spec); err != nil {
		return nil, fmt.Errorf("read ShootState %q: %w", shoot, err)
	}
	state, err := decode(&object.Spec)
	if err != nil {
		return nil, fmt.Errorf("read ShootState %q: %w", shoot, &DamagedError{Part: err.Error()})
	}
	state.Spent = object.Annotations[constants.ConfirmationDeletion] == constants.LabelTrue
	state.Epoch, err = parseEpoch(object)
	return state, err
}

// StaleError refuses to replace or delete a state that was saved under a newer ownership epoch than that of who asks: who
// does has lost the shoot since.
type StaleError struct{ Saved, Epoch int64 }

func (e *StaleError) Error() string {
	return fmt.Sprintf("the saved state is of epoch %d, this is epoch %d", e.Saved, e.Epoch)
}

// Save keeps the state of a shoot: in place of what is there or, with merge, over it, so that nothing is lost. Chunks
// are written first, then the ShootState that refers to them, then stale chunks go: a crash leaves a whole state
// (Z3). Nothing is written when nothing has changed, or when what is saved is of a newer epoch, which is a *StaleError.
func (s *Store) Save(ctx context.Context, shoot client.ObjectKey, state *State, merge bool) error {
	if merge {
		old, err := s.Load(ctx, shoot)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if old != nil {
			old.Merge(state)
			state = old
		}
	}
	if err := s.refuseStale(ctx, shoot, state.Epoch); err != nil {
		return err
	}
	spec, err := encode(state)
	if err != nil {
		return fmt.Errorf("encode ShootState %q: %w", shoot, err)
	}
	chunks, err := s.split(shoot, spec)
	if err != nil {
		return fmt.Errorf("split ShootState %q: %w", shoot, err)
	}
	for _, chunk := range chunks {
		metav1.SetMetaDataAnnotation(&chunk.ObjectMeta, constants.OwnershipEpoch, strconv.FormatInt(state.Epoch, 10))
		if err := s.Garden.Create(ctx, chunk); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create chunk %q of ShootState %q: %w", chunk.Name, shoot, err)
		}
	}
	if err := s.write(ctx, shoot, spec, state.Epoch); err != nil {
		return err
	}
	return s.prune(ctx, shoot, chunks, state.Epoch)
}

// refuseStale comes before the chunks: those of a stale state must not even come into being.
func (s *Store) refuseStale(ctx context.Context, shoot client.ObjectKey, epoch int64) error {
	saved := &metav1.PartialObjectMetadata{}
	saved.SetGroupVersionKind(gardencorev1beta1.SchemeGroupVersion.WithKind("ShootState"))
	if err := s.Garden.Get(ctx, shoot, saved); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read ShootState %q: %w", shoot, err)
	}
	return stale("save", shoot, saved, epoch)
}

func stale(verb string, shoot client.ObjectKey, saved client.Object, epoch int64) error {
	of, err := parseEpoch(saved)
	if err == nil && of > epoch {
		err = fmt.Errorf("%s ShootState %q: %w", verb, shoot, &StaleError{Saved: of, Epoch: epoch})
	}
	return err
}

func (s *Store) write(ctx context.Context, shoot client.ObjectKey, spec *gardencorev1beta1.ShootStateSpec, epoch int64) error {
	object := &gardencorev1beta1.ShootState{}
	err := s.Garden.Get(ctx, shoot, object)
	if apierrors.IsNotFound(err) {
		object = &gardencorev1beta1.ShootState{ObjectMeta: metav1.ObjectMeta{Name: shoot.Name, Namespace: shoot.Namespace}, Spec: *spec}
		s.stamp(object, epoch)
		if err := s.Garden.Create(ctx, object); err != nil {
			return fmt.Errorf("create ShootState %q: %w", shoot, err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("read ShootState %q: %w", shoot, err)
	}
	if err := stale("save", shoot, object, epoch); err != nil {
		return err
	}
	before := object.DeepCopy()
	object.Spec = *spec
	same, err := equal(before.Spec, object.Spec)
	if err != nil || (same && object.Annotations[constants.OwnershipEpoch] == strconv.FormatInt(epoch, 10)) {
		return err
	}
	s.stamp(object, epoch)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := s.Garden.Patch(ctx, object, patch); err != nil {
		return fmt.Errorf("patch ShootState %q: %w", shoot, err)
	}
	return nil
}

func (s *Store) stamp(object *gardencorev1beta1.ShootState, epoch int64) {
	metav1.SetMetaDataAnnotation(&object.ObjectMeta, constants.OwnershipEpoch, strconv.FormatInt(epoch, 10))
	metav1.SetMetaDataAnnotation(&object.ObjectMeta, constants.GardenerTimestamp, s.Clock.Now().UTC().Format(time.RFC3339))
}

// Spend notes that nothing is left of the shoot that its state could restore, which Load tells from then on (State.Spent).
// Without a state there is nothing to note. Who may is as for Delete.
func (s *Store) Spend(ctx context.Context, shoot client.ObjectKey, epoch int64, mine func(context.Context) error) error {
	_, err := s.confirm(ctx, shoot, epoch, mine, func(*gardencorev1beta1.ShootState) {})
	return err
}

// confirm confirms the deletion of a state, and returns it as it was written; nil if there is none.
func (s *Store) confirm(ctx context.Context, shoot client.ObjectKey, epoch int64, mine func(context.Context) error, further func(*gardencorev1beta1.ShootState)) (*gardencorev1beta1.ShootState, error) {
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
	asRead := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := s.Garden.Patch(ctx, object, asRead); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("confirm the deletion of ShootState %q: %w", shoot, err)
	}
	return object, nil
}

// Delete removes the state of a shoot and its chunks as who acts in the epoch given; that it is gone already is fine. A
// state of a newer epoch is a *StaleError. mine is asked after the state was read: if the shoot has been taken over since,
// or is taken over before the deletion, the state has another version, or will not be deleted.
func (s *Store) Delete(ctx context.Context, shoot client.ObjectKey, epoch int64, mine func(context.Context) error) error {
	object, err := s.confirm(ctx, shoot, epoch, mine, func(state *gardencorev1beta1.ShootState) { state.Finalizers = nil })
	if err != nil {
		return err
	}
	if object == nil {
		return s.prune(ctx, shoot, nil, epoch)
	}
	asWritten := client.Preconditions{UID: &object.UID, ResourceVersion: &object.ResourceVersion}
	if err := s.Garden.Delete(ctx, object, asWritten); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete ShootState %q: %w", shoot, err)
	}
	return s.prune(ctx, shoot, nil, epoch)
}

// prune removes the chunks of a shoot that are not among those to keep. Those of a newer epoch are somebody else's: who
// stood still between writing the state and coming here must not take them away.
func (s *Store) prune(ctx context.Context, shoot client.ObjectKey, keep []*transplantv1alpha1.ShootStateChunk, epoch int64) error {
	wanted := map[string]bool{}
	for _, chunk := range keep {
		wanted[chunk.Name] = true
	}
	// Names are enough: chunks are large.
	chunks := &metav1.PartialObjectMetadataList{}
	chunks.SetGroupVersionKind(transplantv1alpha1.SchemeGroupVersion.WithKind("ShootStateChunkList"))
	err := s.Garden.List(ctx, chunks, client.InNamespace(shoot.Namespace), client.MatchingLabels{transplantv1alpha1.LabelShoot: shoot.Name})
	if err != nil {
		return fmt.Errorf("list the chunks of ShootState %q: %w", shoot, err)
	}
	for i := range chunks.Items {
		if wanted[chunks.Items[i].Name] {
			continue
		}
		if of, err := parseEpoch(&chunks.Items[i]); err != nil || of > epoch {
			continue
		}
		if err := s.Garden.Delete(ctx, &chunks.Items[i]); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete stale chunk %q of ShootState %q: %w", chunks.Items[i].Name, shoot, err)
		}
	}
	return nil
}
