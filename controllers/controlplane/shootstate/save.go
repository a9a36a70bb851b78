package shootstate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Source collects the state that is to be saved, and then returns why it must not be, if the shoot has been given away
// since. It is asked when the version is known that will be replaced, and only that one will: what is saved is never
// older than what it replaces, and nobody saves who stood still while the shoot went elsewhere.
type Source func(context.Context) (*State, error)

// Save keeps the state of a shoot in place of what is there. Chunks are written first, then the ShootState that refers
// to them: a crash leaves a whole state (docs/specification/state-size.md#z3). Stale chunks are removed by Prune.
// Nothing is written when nothing has changed, or when what is saved is of a newer epoch, which is a *StaleError. A
// conflict says that somebody else has saved meanwhile: who gets one has saved nothing, and is to begin anew.
func (s *Store) Save(ctx context.Context, shoot client.ObjectKey, source Source) error {
	v, state, err := s.begin(ctx, shoot, source)
	if err != nil {
		return err
	}
	return v.save(ctx, state, "")
}

// version is a ShootState as it was read, or that there was none. It is replaced as long as it is still so.
type version struct {
	*Store
	shoot client.ObjectKey
	// object has no resource version if there was none.
	object *gardencorev1beta1.ShootState
	again  bool // object was read again
}

// begin reads the version that is to be replaced, and then asks for the state that shall replace it.
func (s *Store) begin(ctx context.Context, shoot client.ObjectKey, source Source) (*version, *State, error) {
	object := &gardencorev1beta1.ShootState{}
	err := s.Garden.Get(ctx, shoot, object)
	if apierrors.IsNotFound(err) {
		object = &gardencorev1beta1.ShootState{ObjectMeta: metav1.ObjectMeta{Name: shoot.Name, Namespace: shoot.Namespace}}
	} else if err != nil {
		return nil, nil, fmt.Errorf("read ShootState %q: %w", shoot, err)
	}
	state, err := source(ctx)
	if err != nil {
		return nil, nil, err
	}
	// Before the chunks: those of a stale state must not even come into being.
	return &version{Store: s, shoot: shoot, object: object}, state, stale("save", shoot, object, state.Epoch)
}

func (v *version) there() bool { return v.object.ResourceVersion != "" }

// save replaces the version. leaving is empty for a shoot that stays.
func (v *version) save(ctx context.Context, state *State, leaving string) error {
	spec, err := encode(state)
	if err != nil {
		return fmt.Errorf("encode ShootState %q: %w", v.shoot, err)
	}
	chunks, err := v.split(v.shoot, spec)
	if err != nil {
		return fmt.Errorf("split ShootState %q: %w", v.shoot, err)
	}
	if err := v.keep(ctx, chunks, state); err != nil {
		return err
	}
	return v.write(ctx, spec, state, leaving)
}

// write leaves an unchanged version alone.
func (v *version) write(
	ctx context.Context, spec *gardencorev1beta1.ShootStateSpec, state *State, leaving string,
) error {
	object := v.object.DeepCopy()
	object.Spec = *spec
	delete(object.Annotations, constants.StateLeaving)
	if leaving != "" {
		metav1.SetMetaDataAnnotation(&object.ObjectMeta, constants.StateLeaving, leaving)
	}
	metav1.SetMetaDataAnnotation(&object.ObjectMeta, constants.OwnershipEpoch, strconv.FormatInt(state.Epoch, 10))
	own(object, v.shoot.Name, state.Owner)
	if !v.there() {
		v.stamp(object)
		if err := v.Garden.Create(ctx, object); err != nil {
			return fmt.Errorf("create ShootState %q: %w", v.shoot, raced("shootstates", v.shoot.Name, err))
		}
		return nil
	}
	same, err := v.same(object)
	if err != nil || same {
		return err
	}
	v.stamp(object)
	err = v.Garden.Patch(ctx, object, patch.AsRead(v.object))
	if apierrors.IsConflict(err) && v.reread(ctx) {
		return v.write(ctx, spec, state, leaving)
	}
	if err != nil {
		return fmt.Errorf("patch ShootState %q: %w", v.shoot, raced("shootstates", v.shoot.Name, err))
	}
	return nil
}

// reread reports whether whoever has written first has only taken a finalizer off, as when a restore has ended. Then
// the state that was collected is still newer than what it replaces. A finalizer that was added says that a migration
// has begun since: the shoot may be another's. It says so once.
func (v *version) reread(ctx context.Context) bool {
	now, before := &gardencorev1beta1.ShootState{}, v.object
	if v.again || v.Garden.Get(ctx, v.shoot, now) != nil || now.UID != before.UID || now.Generation != before.Generation ||
		!maps.Equal(now.Annotations, before.Annotations) {
		return false
	}
	isNew := func(finalizer string) bool { return !slices.Contains(before.Finalizers, finalizer) }
	if slices.ContainsFunc(now.Finalizers, isNew) {
		return false
	}
	same, err := v.same(now)
	v.object, v.again = now, true
	return err == nil && same
}

// same reports whether what is to be written is what was read.
func (v *version) same(object *gardencorev1beta1.ShootState) (bool, error) {
	for _, annotation := range []string{constants.OwnershipEpoch, constants.StateLeaving} {
		if object.Annotations[annotation] != v.object.Annotations[annotation] {
			return false, nil
		}
	}
	if !apiequality.Semantic.DeepEqual(object.OwnerReferences, v.object.OwnerReferences) {
		return false, nil
	}
	return equal(v.object.Spec, object.Spec)
}

// own makes the Shoot the owner of its state, as in docs/specification/README.md#s0: who has lost the Shoot loses the
// state to the garden's garbage collector. The reference to a Shoot that had the name before is replaced, for the state
// would be collected with it; those to other owners stay.
func own(object *gardencorev1beta1.ShootState, name string, uid types.UID) {
	if uid == "" {
		return
	}
	shoot := &metav1.ObjectMeta{Name: name, UID: uid}
	owners := []metav1.OwnerReference{*metav1.NewControllerRef(shoot,
		gardencorev1beta1.SchemeGroupVersion.WithKind("Shoot"))}
	for _, owner := range object.OwnerReferences {
		version, err := schema.ParseGroupVersion(owner.APIVersion)
		if owner.Kind != "Shoot" || err != nil || version.Group != gardencorev1beta1.SchemeGroupVersion.Group {
			owners = append(owners, owner)
		}
	}
	object.OwnerReferences = owners
}

func (s *Store) stamp(object *gardencorev1beta1.ShootState) {
	metav1.SetMetaDataAnnotation(&object.ObjectMeta, constants.GardenerTimestamp, s.Clock.Now().UTC().Format(time.RFC3339))
}

// raced makes a conflict of everything by which an API server says that somebody else has written first.
func raced(resource, name string, err error) error {
	if apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return apierrors.NewConflict(schema.GroupResource{Resource: resource}, name, err)
	}
	return err
}
