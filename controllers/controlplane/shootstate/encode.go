package shootstate

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

const machineStateName = "machine-state"

// secretData is the data of an entry of type secret on the wire (docs/specification/api.md#spec-1-3).
type secretData struct {
	Data      map[string][]byte `json:"data"`
	Immutable *bool             `json:"immutable,omitempty"`
	Type      corev1.SecretType `json:"type,omitempty"`
}

// machineData is the data of an entry of type machine-state on the wire: gzip in base64.
type machineData struct {
	State []byte `json:"state"`
}

// zipped is a state that was compressed (docs/specification/state-size.md#z1).
type zipped struct {
	Gzip []byte `json:"transplant.dev/gzip"`
}

// encode writes a state in the form of the wire, compressed where that makes it smaller.
func encode(state *State) (*gardencorev1beta1.ShootStateSpec, error) {
	spec := &gardencorev1beta1.ShootStateSpec{}
	for _, secret := range state.Secrets {
		data, err := compactJSON(secretData{Data: secret.Data, Immutable: secret.Immutable, Type: secret.Type})
		if err != nil {
			return nil, err
		}
		spec.Gardener = append(spec.Gardener, gardencorev1beta1.GardenerResourceData{
			Name: secret.Name, Type: gardencorev1beta1.DataTypeSecret, Data: runtime.RawExtension{Raw: data},
			Labels: secret.Labels,
		})
	}
	if state.Machines != nil {
		packed, err := compress(state.Machines.Raw)
		if err != nil {
			return nil, err
		}
		data, err := compactJSON(machineData{State: packed})
		if err != nil {
			return nil, err
		}
		spec.Gardener = append(spec.Gardener, gardencorev1beta1.GardenerResourceData{
			Name: machineStateName, Type: gardencorev1beta1.DataTypeMachineState, Data: runtime.RawExtension{Raw: data},
		})
	}
	return spec, encodeExtensions(spec, state.Extensions)
}

func encodeExtensions(spec *gardencorev1beta1.ShootStateSpec, extensions []ExtensionState) error {
	for _, extension := range extensions {
		entry := gardencorev1beta1.ExtensionResourceState{
			Kind: extension.Kind, Name: ptr.To(extension.Name), Resources: extension.Resources,
		}
		if extension.Purpose != "" {
			entry.Purpose = ptr.To(extension.Purpose)
		}
		if extension.State != nil {
			packed, err := pack(extension.State.Raw)
			if err != nil {
				return err
			}
			entry.State = &runtime.RawExtension{Raw: packed}
		}
		spec.Extensions = append(spec.Extensions, entry)
		for i, object := range extension.Objects {
			data, err := compactJSON(object)
			if err != nil {
				return err
			}
			if data, err = pack(data); err != nil {
				return err
			}
			spec.Resources = append(spec.Resources, gardencorev1beta1.ResourceData{
				CrossVersionObjectReference: extension.Resources[i].ResourceRef, Data: runtime.RawExtension{Raw: data},
			})
		}
	}
	return nil
}

// pack compresses JSON where that makes it smaller.
func pack(raw []byte) ([]byte, error) {
	packed, err := compress(raw)
	if err != nil {
		return nil, err
	}
	wrapped, err := compactJSON(zipped{packed})
	if err != nil || len(wrapped) >= len(raw) {
		return raw, err
	}
	return wrapped, nil
}

// unpack undoes pack.
func unpack(raw []byte) ([]byte, error) {
	wrapped := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &wrapped); err != nil || len(wrapped) != 1 || wrapped[constants.StateGzip] == nil {
		return raw, nil //nolint:nilerr // a state that is no object is a state all the same
	}
	z := zipped{}
	if err := json.Unmarshal(raw, &z); err != nil {
		return nil, err
	}
	return decompress(z.Gzip)
}

func compress(raw []byte) ([]byte, error) {
	var buffer bytes.Buffer
	w, err := gzip.NewWriterLevel(&buffer, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(raw); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return buffer.Bytes(), nil
}

func decompress(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	raw, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return raw, nil
}
