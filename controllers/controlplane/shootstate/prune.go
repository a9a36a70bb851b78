package shootstate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
)

// Prune removes the chunks of a shoot that nobody needs (docs/specification/state-size.md#z3). It may run at any time
// beside those who save: a chunk is read first, the ShootState afterwards, and the chunk goes only in the version that
// was read. It stays while
//   - the ShootState refers to it;
//   - it was written over this version of the ShootState, so that a save may be under way. What a save has left that
//     failed is removed when the next version is there. Before the first version it stays as long as the Shoot is
//     there;
//   - its epoch is newer than that of the ShootState, or cannot be read.
//
// While the ShootState cannot be read all stay, and an error says so.
//
// Whoever saves over a later version has written the chunk after it was read here, or makes it again (keep).
func (s *Store) Prune(ctx context.Context, shoot client.ObjectKey) error {
	// Names are enough: chunks are large.
	chunks := &metav1.PartialObjectMetadataList{}
	chunks.SetGroupVersionKind(transplantv1alpha1.SchemeGroupVersion.WithKind("ShootStateChunkList"))
	ofShoot := client.MatchingLabels{transplantv1alpha1.LabelShoot: shoot.Name}
	err := s.Garden.List(ctx, chunks, client.InNamespace(shoot.Namespace), ofShoot)
	if err != nil {
		return fmt.Errorf("list the chunks of ShootState %q: %w", shoot, err)
	}
	if len(chunks.Items) == 0 {
		return nil
	}
	needed, err := s.needed(ctx, shoot)
	if err != nil {
		return err
	}
	for i := range chunks.Items {
		chunk := &chunks.Items[i]
		if needed(chunk) {
			continue
		}
		asListed := client.Preconditions{UID: &chunk.UID, ResourceVersion: &chunk.ResourceVersion}
		if err := s.Garden.Delete(ctx, chunk, asListed); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete stale chunk %q of ShootState %q: %w", chunk.Name, shoot, err)
		}
	}
	return nil
}

// needed reads the ShootState, and returns which chunks somebody needs.
func (s *Store) needed(ctx context.Context, key client.ObjectKey) (func(client.Object) bool, error) {
	state := &gardencorev1beta1.ShootState{}
	err := s.Garden.Get(ctx, key, state)
	if apierrors.IsNotFound(err) {
		return s.neededByFirst(ctx, key)
	}
	if err != nil {
		return nil, fmt.Errorf("read ShootState %q: %w", key, err)
	}
	epoch, err := parseEpoch(state)
	referred, unread := references(&state.Spec)
	if err := errors.Join(err, unread); err != nil {
		return nil, fmt.Errorf("keep the chunks of ShootState %q: %w", key, err)
	}
	return func(chunk client.Object) bool {
		of, err := parseEpoch(chunk)
		return referred.Has(chunk.GetName()) || chunk.GetAnnotations()[constants.StateOver] == state.ResourceVersion ||
			err != nil || of > epoch
	}, nil
}

// neededByFirst is needed while there is no ShootState. One that is created for a Shoot that has gone is collected as
// garbage.
func (s *Store) neededByFirst(ctx context.Context, key client.ObjectKey) (func(client.Object) bool, error) {
	shoot := &gardencorev1beta1.Shoot{}
	err := s.Garden.Get(ctx, key, shoot)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read shoot %q: %w", key, err)
	}
	return func(chunk client.Object) bool {
		owner, first := strings.CutPrefix(chunk.GetAnnotations()[constants.StateOver], noState)
		return first && err == nil && types.UID(owner) == shoot.UID
	}, nil
}
