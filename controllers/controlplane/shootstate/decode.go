package shootstate

import (
	"encoding/json"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// decode reads the form of the wire, as far as it can be read, and returns what of it cannot. Chunks must have been put
// back; unread are the parts for which that was not possible.
func decode(spec *gardencorev1beta1.ShootStateSpec, unread map[*runtime.RawExtension]error) (*State, []damage) {
	state := &State{}
	var damages []damage
	for i := range spec.Gardener {
		entry := &spec.Gardener[i]
		err := unread[&entry.Data]
		if err == nil {
			err = decodeGardener(state, entry)
		}
		if err != nil {
			damages = append(damages, damage{nameOfGardener(entry), err})
		}
	}
	objects := decodeResources(spec.Resources, unread)
	for i := range spec.Extensions {
		extension, err := decodeExtension(&spec.Extensions[i], unread, objects)
		if err != nil {
			damages = append(damages, damage{extension.name(), err})
			continue
		}
		state.Extensions = append(state.Extensions, extension)
	}
	return state, damages
}

func nameOfGardener(entry *gardencorev1beta1.GardenerResourceData) string {
	if entry.Type == gardencorev1beta1.DataTypeMachineState {
		return nameOfMachines
	}
	return nameOfSecret(entry.Name)
}

func decodeExtension(entry *gardencorev1beta1.ExtensionResourceState, unread map[*runtime.RawExtension]error,
	objects map[autoscalingv1.CrossVersionObjectReference]decoded) (ExtensionState, error) {
	extension := ExtensionState{
		Kind: entry.Kind, Name: ptr.Deref(entry.Name, ""), Purpose: ptr.Deref(entry.Purpose, ""), Resources: entry.Resources,
	}
	if entry.State != nil {
		if err := unread[entry.State]; err != nil {
			return extension, err
		}
		raw, err := unpack(entry.State.Raw)
		if err != nil {
			return extension, fmt.Errorf("read the state of %s: %w", extension.name(), err)
		}
		extension.State = &runtime.RawExtension{Raw: raw}
	}
	for _, resource := range entry.Resources {
		object, found := objects[resource.ResourceRef]
		if !found {
			return extension, fmt.Errorf("resource %q of %s, %s %q, is missing in the ShootState",
				resource.Name, extension.name(), resource.ResourceRef.Kind, resource.ResourceRef.Name)
		}
		if object.err != nil {
			return extension, object.err
		}
		extension.Objects = append(extension.Objects, object.Unstructured)
	}
	return extension, nil
}

func decodeGardener(state *State, entry *gardencorev1beta1.GardenerResourceData) error {
	if err := decodeEntry(state, entry); err != nil {
		return fmt.Errorf("read entry %q: %w", entry.Name, err)
	}
	return nil
}

func decodeEntry(state *State, entry *gardencorev1beta1.GardenerResourceData) error {
	switch entry.Type {
	case gardencorev1beta1.DataTypeSecret:
		data := secretData{}
		if err := json.Unmarshal(entry.Data.Raw, &data); err != nil {
			return err
		}
		state.Secrets = append(state.Secrets, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: entry.Name, Labels: entry.Labels},
			Data:       data.Data, Immutable: data.Immutable, Type: data.Type,
		})
	case gardencorev1beta1.DataTypeMachineState:
		data := machineData{}
		if err := json.Unmarshal(entry.Data.Raw, &data); err != nil {
			return err
		}
		raw, err := decompress(data.State)
		if err != nil {
			return err
		}
		state.Machines = &runtime.RawExtension{Raw: raw}
	default:
		return fmt.Errorf("its type %q is not known", entry.Type)
	}
	return nil
}

// decoded is a referenced object, or why it cannot be read.
type decoded struct {
	*unstructured.Unstructured
	err error
}

func decodeResources(resources []gardencorev1beta1.ResourceData,
	unread map[*runtime.RawExtension]error) map[autoscalingv1.CrossVersionObjectReference]decoded {
	objects := map[autoscalingv1.CrossVersionObjectReference]decoded{}
	for i := range resources {
		resource := &resources[i]
		object, err := &unstructured.Unstructured{}, unread[&resource.Data]
		if err == nil {
			err = decodeResource(resource, object)
		}
		objects[resource.CrossVersionObjectReference] = decoded{object, err}
	}
	return objects
}

func decodeResource(resource *gardencorev1beta1.ResourceData, object *unstructured.Unstructured) error {
	raw, err := unpack(resource.Data.Raw)
	if err == nil {
		err = json.Unmarshal(raw, &object.Object)
	}
	if err != nil {
		return fmt.Errorf("read %s %q: %w", resource.Kind, resource.Name, err)
	}
	if len(object.Object) == 0 {
		return fmt.Errorf("%s %q is empty in the ShootState", resource.Kind, resource.Name)
	}
	return nil
}
