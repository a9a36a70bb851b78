package shootstate

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
)

// chunkBytes is how much one chunk holds: in base64 it stays below 1 MiB, whatever the API server does to it.
const chunkBytes = 700 << 10

// raws are the parts of a ShootState that may move to chunks.
func raws(spec *gardencorev1beta1.ShootStateSpec) []*runtime.RawExtension {
	var all []*runtime.RawExtension
	for i := range spec.Gardener {
		all = append(all, &spec.Gardener[i].Data)
	}
	for i := range spec.Extensions {
		if spec.Extensions[i].State != nil {
			all = append(all, spec.Extensions[i].State)
		}
	}
	for i := range spec.Resources {
		all = append(all, &spec.Resources[i].Data)
	}
	return all
}

// split moves the largest parts of the spec to chunks until the rest is within the budget
// (docs/specification/state-size.md#z2). Chunks are named by their content, so that what has not changed is not written
// again.
func (s *Store) split(shoot client.ObjectKey,
	spec *gardencorev1beta1.ShootStateSpec) ([]*transplantv1alpha1.ShootStateChunk, error) {
	budget := cmp.Or(s.Budget, DefaultBudget)
	whole, err := wireBytes(spec)
	if err != nil {
		return nil, err
	}
	parts := raws(spec)
	slices.SortStableFunc(parts, func(a, b *runtime.RawExtension) int { return len(b.Raw) - len(a.Raw) })
	var chunks []*transplantv1alpha1.ShootStateChunk
	for _, part := range parts {
		if whole <= budget {
			break
		}
		moved := cut(shoot, part.Raw)
		reference, err := compactJSON(map[string]transplantv1alpha1.StateReference{constants.StateRef: referTo(moved,
			part.Raw)})
		if err != nil {
			return nil, err
		}
		if len(reference) >= len(part.Raw) {
			break
		}
		whole -= len(part.Raw) - len(reference)
		part.Raw = reference
		chunks = append(chunks, moved...)
	}
	if whole > budget {
		return nil, fmt.Errorf("%d bytes are left after all that can move has moved to chunks, the budget is %d", whole,
			budget)
	}
	return chunks, nil
}

// wireBytes is the size of the spec as the API server stores it: as JSON with HTML escaping.
func wireBytes(spec *gardencorev1beta1.ShootStateSpec) (int, error) {
	data, err := compactJSON(spec)
	return len(data), err
}

func cut(shoot client.ObjectKey, raw []byte) []*transplantv1alpha1.ShootStateChunk {
	var chunks []*transplantv1alpha1.ShootStateChunk
	for part := range slices.Chunk(raw, chunkBytes) {
		sum := digest(part)
		chunks = append(chunks, &transplantv1alpha1.ShootStateChunk{
			ObjectMeta: metav1.ObjectMeta{
				Name:      fmt.Sprintf("%s-%s-%d", shoot.Name, sum[:16], len(chunks)),
				Namespace: shoot.Namespace,
				Labels:    map[string]string{transplantv1alpha1.LabelShoot: shoot.Name},
			},
			ShootName: shoot.Name, Index: int32(len(chunks)), Bytes: int64(len(part)), SHA256: sum, Data: part,
		})
	}
	return chunks
}

func referTo(chunks []*transplantv1alpha1.ShootStateChunk, raw []byte) transplantv1alpha1.StateReference {
	reference := transplantv1alpha1.StateReference{SHA256: digest(raw), Bytes: int64(len(raw))}
	for _, chunk := range chunks {
		reference.Chunks = append(reference.Chunks, chunk.Name)
	}
	return reference
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// join puts the chunks back in their places, verified (docs/specification/state-size.md#z4), and returns of which
// parts some are missing or damaged.
func (s *Store) join(ctx context.Context, namespace string,
	spec *gardencorev1beta1.ShootStateSpec) (map[*runtime.RawExtension]error, error) {
	unread := map[*runtime.RawExtension]error{}
	for _, part := range raws(spec) {
		reference, found, err := parseReference(part.Raw)
		if err == nil && found {
			part.Raw, err = s.read(ctx, namespace, reference)
		}
		if _, damaged := errors.AsType[*DamagedError](err); damaged {
			unread[part] = err
		} else if err != nil {
			return nil, err
		}
	}
	return unread, nil
}

func parseReference(raw []byte) (transplantv1alpha1.StateReference, bool, error) {
	wrapped := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &wrapped); err != nil || len(wrapped) != 1 || wrapped[constants.StateRef] == nil {
		return transplantv1alpha1.StateReference{}, false, nil //nolint:nilerr // a part that is no object is not a reference
	}
	reference := transplantv1alpha1.StateReference{}
	if err := json.Unmarshal(wrapped[constants.StateRef], &reference); err != nil {
		return reference, false, &DamagedError{Part: fmt.Sprintf("a reference to chunks cannot be read: %v", err)}
	}
	return reference, true, nil
}

func (s *Store) read(ctx context.Context, namespace string, reference transplantv1alpha1.StateReference) ([]byte,
	error) {
	var whole bytes.Buffer
	for _, name := range reference.Chunks {
		chunk := &transplantv1alpha1.ShootStateChunk{}
		err := s.Garden.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, chunk)
		if apierrors.IsNotFound(err) {
			return nil, &DamagedError{Part: fmt.Sprintf("chunk %q is missing", name)}
		}
		if err != nil {
			return nil, fmt.Errorf("read chunk %q: %w", name, err)
		}
		if digest(chunk.Data) != chunk.SHA256 || int64(len(chunk.Data)) != chunk.Bytes {
			return nil, &DamagedError{Part: fmt.Sprintf("chunk %q is damaged: its content does not match its digest", name)}
		}
		whole.Write(chunk.Data)
	}
	if int64(whole.Len()) != reference.Bytes || digest(whole.Bytes()) != reference.SHA256 {
		return nil, &DamagedError{Part: fmt.Sprintf("chunks %q are damaged: together they do not match their digest",
			reference.Chunks)}
	}
	return whole.Bytes(), nil
}

// equal compares specs as the wire shows them: raw parts may differ in the order of their keys.
func equal(a, b gardencorev1beta1.ShootStateSpec) (bool, error) {
	left, err := canonical(a)
	if err != nil {
		return false, err
	}
	right, err := canonical(b)
	return bytes.Equal(left, right), err
}

func canonical(spec gardencorev1beta1.ShootStateSpec) ([]byte, error) {
	data, err := compactJSON(spec)
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return nil, fmt.Errorf("read a ShootState: %w", err)
	}
	return compactJSON(value)
}
