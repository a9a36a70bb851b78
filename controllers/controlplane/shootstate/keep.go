package shootstate

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
)

// keep makes sure that the chunks are there, and stay.
//
// Who replaces a version removes the chunks that it no longer refers to, in the version in which they were listed before. So
// whoever refers to one anew, which is there by chance, writes it first: it has another version then, and stays.
func (v *version) keep(ctx context.Context, chunks []*transplantv1alpha1.ShootStateChunk, epoch int64) error {
	referred := map[string]bool{}
	for _, part := range raws(&v.object.Spec) {
		if reference, found, err := parseReference(part.Raw); err == nil && found {
			for _, name := range reference.Chunks {
				referred[name] = true
			}
		}
	}
	for _, chunk := range chunks {
		metav1.SetMetaDataAnnotation(&chunk.ObjectMeta, constants.OwnershipEpoch, strconv.FormatInt(epoch, 10))
		metav1.SetMetaDataAnnotation(&chunk.ObjectMeta, constants.StateOver, v.name())
		if err := v.keepOne(ctx, chunk, referred[chunk.Name], epoch); err != nil {
			return fmt.Errorf("keep chunk %q of ShootState %q: %w", chunk.Name, v.shoot, raced("shootstatechunks", chunk.Name, err))
		}
	}
	return nil
}

// name is what a chunk has of the version for which it was written.
func (v *version) name() string {
	if !v.there() {
		return "none"
	}
	return v.object.ResourceVersion
}

// keepOne makes one of the chunks, or mends it: it is named by its content, and what is there under that name need not have it
// any more. The epoch of a chunk is raised, never lowered.
func (v *version) keepOne(ctx context.Context, chunk *transplantv1alpha1.ShootStateChunk, referred bool, epoch int64) error {
	there := &transplantv1alpha1.ShootStateChunk{}
	err := v.Garden.Get(ctx, client.ObjectKeyFromObject(chunk), there)
	if apierrors.IsNotFound(err) {
		return v.Garden.Create(ctx, chunk)
	}
	if err != nil {
		return err
	}
	if there.ShootName != chunk.ShootName || there.Index != chunk.Index || there.Bytes != chunk.Bytes || there.SHA256 != chunk.SHA256 {
		return v.makeAnew(ctx, there, chunk) // the API server lets nobody change these
	}
	of, err := parseEpoch(there)
	older := err != nil || of < epoch
	referred = referred || there.Annotations[constants.StateOver] == v.name()
	if referred && !older && bytes.Equal(there.Data, chunk.Data) {
		return nil
	}
	before := there.DeepCopy()
	there.Data = chunk.Data
	metav1.SetMetaDataAnnotation(&there.ObjectMeta, constants.StateOver, v.name())
	if older {
		metav1.SetMetaDataAnnotation(&there.ObjectMeta, constants.OwnershipEpoch, strconv.FormatInt(epoch, 10))
	}
	return v.Garden.Patch(ctx, there, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

func (v *version) makeAnew(ctx context.Context, there, chunk *transplantv1alpha1.ShootStateChunk) error {
	asRead := client.Preconditions{UID: &there.UID, ResourceVersion: &there.ResourceVersion}
	if err := v.Garden.Delete(ctx, there, asRead); client.IgnoreNotFound(err) != nil {
		return err
	}
	return v.Garden.Create(ctx, chunk)
}

// chunksBut lists the chunks of a shoot that are not among those to keep. Those of a newer epoch are somebody else's: who
// stood still before coming here must not take them away.
func (s *Store) chunksBut(ctx context.Context, shoot client.ObjectKey, keep []*transplantv1alpha1.ShootStateChunk, epoch int64) ([]metav1.PartialObjectMetadata, error) {
	wanted := map[string]bool{}
	for _, chunk := range keep {
		wanted[chunk.Name] = true
	}
	// Names are enough: chunks are large.
	chunks := &metav1.PartialObjectMetadataList{}
	chunks.SetGroupVersionKind(transplantv1alpha1.SchemeGroupVersion.WithKind("ShootStateChunkList"))
	err := s.Garden.List(ctx, chunks, client.InNamespace(shoot.Namespace), client.MatchingLabels{transplantv1alpha1.LabelShoot: shoot.Name})
	if err != nil {
		return nil, fmt.Errorf("list the chunks of ShootState %q: %w", shoot, err)
	}
	var others []metav1.PartialObjectMetadata
	for _, chunk := range chunks.Items {
		if of, err := parseEpoch(&chunk); err == nil && of <= epoch && !wanted[chunk.Name] {
			others = append(others, chunk)
		}
	}
	return others, nil
}

// prune removes chunks as they were listed; whoever has written one since wants it.
func (s *Store) prune(ctx context.Context, shoot client.ObjectKey, chunks []metav1.PartialObjectMetadata) error {
	for i := range chunks {
		chunk := &chunks[i]
		asListed := client.Preconditions{UID: &chunk.UID, ResourceVersion: &chunk.ResourceVersion}
		if err := s.Garden.Delete(ctx, chunk, asListed); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete stale chunk %q of ShootState %q: %w", chunk.Name, shoot, err)
		}
	}
	return nil
}
