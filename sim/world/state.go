package world

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
	"github.com/transplant-sim/transplant/sim/expression"
)

// stateOf measures what the garden keeps of a shoot. It goes by what the ShootState refers to, and does not read the
// chunks themselves.
func stateOf(ctx context.Context, garden client.Client, key types.NamespacedName) (expression.State, error) {
	object := &gardencorev1beta1.ShootState{}
	if err := garden.Get(ctx, key, object); apierrors.IsNotFound(err) {
		return expression.State{}, nil
	} else if err != nil {
		return expression.State{}, fmt.Errorf("read the ShootState: %w", err)
	}
	content, err := json.Marshal(object.Spec)
	if err != nil {
		return expression.State{}, fmt.Errorf("measure the ShootState: %w", err)
	}
	seen := expression.State{Exists: true, Bytes: len(content)}
	if text := object.Annotations[constants.OwnershipEpoch]; text != "" {
		if seen.Epoch, err = strconv.Atoi(text); err != nil {
			return expression.State{}, fmt.Errorf("read the epoch of the ShootState: %w", err)
		}
	}
	var whole any
	if err := json.Unmarshal(content, &whole); err != nil {
		return expression.State{}, fmt.Errorf("read the ShootState: %w", err)
	}
	err = addChunks(whole, &seen)
	return seen, err
}

// addChunks adds what is in chunks, wherever the state refers to some.
func addChunks(part any, seen *expression.State) error {
	switch part := part.(type) {
	case []any:
		for _, item := range part {
			if err := addChunks(item, seen); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, item := range part {
			if name != constants.StateRef {
				if err := addChunks(item, seen); err != nil {
					return err
				}
				continue
			}
			reference := transplantv1alpha1.StateReference{}
			if content, err := json.Marshal(item); err != nil {
				return fmt.Errorf("read a reference to chunks: %w", err)
			} else if err := json.Unmarshal(content, &reference); err != nil {
				return fmt.Errorf("read a reference to chunks: %w", err)
			}
			seen.Bytes += int(reference.Bytes)
			seen.Chunks += len(reference.Chunks)
		}
	}
	return nil
}
