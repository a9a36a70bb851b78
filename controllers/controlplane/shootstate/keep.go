package shootstate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// keep makes sure that the chunks are there, and stay until the version has been replaced.
//
// Prune removes a chunk in the version in which it was listed, and keeps what the ShootState refers to and what was
// written over its version. So keep writes each chunk that is neither: it has another version then, and stays.
func (v *version) keep(ctx context.Context, chunks []*transplantv1alpha1.ShootStateChunk, state *State) error {
	referred, _ := references(&v.object.Spec) // what cannot be read is replaced
	over := v.name(state.Owner)
	for _, chunk := range chunks {
		metav1.SetMetaDataAnnotation(&chunk.ObjectMeta, constants.OwnershipEpoch, strconv.FormatInt(state.Epoch, 10))
		metav1.SetMetaDataAnnotation(&chunk.ObjectMeta, constants.StateOver, over)
		if err := v.keepOne(ctx, chunk, referred.Has(chunk.Name), state.Epoch); err != nil {
			return fmt.Errorf("keep chunk %q of ShootState %q: %w", chunk.Name, v.shoot,
				raced("shootstatechunks", chunk.Name, err))
		}
	}
	return nil
}

// references are the names of the chunks that a ShootState refers to. With a *DamagedError they are not all.
func references(spec *gardencorev1beta1.ShootStateSpec) (sets.Set[string], error) {
	names, errs := sets.New[string](), []error{}
	for _, part := range raws(spec) {
		reference, _, err := parseReference(part.Raw)
		names.Insert(reference.Chunks...)
		errs = append(errs, err)
	}
	return names, errors.Join(errs...)
}

// noState begins what a chunk has that was written for the first ShootState of a Shoot, before the UID of the Shoot.
const noState = "none/"

// name is what a chunk has of the version for which it was written.
func (v *version) name(owner types.UID) string {
	if !v.there() {
		return noState + string(owner)
	}
	return v.object.ResourceVersion
}

// keepOne makes one of the chunks, or mends it: it is named by its content, and what is there under that name need not
// have it any more. The epoch of a chunk is raised, never lowered.
func (v *version) keepOne(ctx context.Context, chunk *transplantv1alpha1.ShootStateChunk, referred bool,
	epoch int64) error {
	there := &transplantv1alpha1.ShootStateChunk{}
	err := v.Garden.Get(ctx, client.ObjectKeyFromObject(chunk), there)
	if apierrors.IsNotFound(err) {
		return v.Garden.Create(ctx, chunk)
	}
	if err != nil {
		return err
	}
	if there.ShootName != chunk.ShootName || there.Index != chunk.Index || there.Bytes != chunk.Bytes ||
		there.SHA256 != chunk.SHA256 {
		return v.makeAnew(ctx, there, chunk) // the API server lets nobody change these
	}
	of, err := parseEpoch(there)
	older := err != nil || of < epoch
	over := chunk.Annotations[constants.StateOver]
	referred = referred || there.Annotations[constants.StateOver] == over
	if referred && !older && bytes.Equal(there.Data, chunk.Data) {
		return nil
	}
	return patch.LockedObject(ctx, v.Garden, there, func() {
		there.Data = chunk.Data
		metav1.SetMetaDataAnnotation(&there.ObjectMeta, constants.StateOver, over)
		if older {
			metav1.SetMetaDataAnnotation(&there.ObjectMeta, constants.OwnershipEpoch, strconv.FormatInt(epoch, 10))
		}
	})
}

func (v *version) makeAnew(ctx context.Context, there, chunk *transplantv1alpha1.ShootStateChunk) error {
	asRead := client.Preconditions{UID: &there.UID, ResourceVersion: &there.ResourceVersion}
	if err := v.Garden.Delete(ctx, there, asRead); client.IgnoreNotFound(err) != nil {
		return err
	}
	return v.Garden.Create(ctx, chunk)
}
