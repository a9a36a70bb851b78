// Package shootstate turns what a control plane must not lose into a ShootState and back
// (docs/specification/migration.md#spec-2-8, docs/specification/extensions.md#spec-3-7,
// docs/specification/state-size.md#spec-9-5): the persisted secrets, the state of the extensions with the objects they
// refer to, and the machines.
//
// It knows the form of the data, not when it is saved or restored.
package shootstate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// State is the content of a ShootState, expanded: nothing compressed, nothing in chunks.
type State struct {
	// Epoch is the ownership epoch in which the state was collected (docs/ownership.md#spec-9-1), zero if that is not
	// known.
	Epoch int64
	// Owner is the UID of the Shoot that the state was collected of. It is for who saves: Load says nothing of it.
	Owner types.UID
	// Secrets are the persisted secrets, without namespace.
	Secrets []*corev1.Secret
	// Extensions are the states of extension objects.
	Extensions []ExtensionState
	// Machines is the machine state as the Worker extension wants it in its status
	// (docs/specification/extensions.md#spec-3-7), nil if there is none.
	Machines *runtime.RawExtension
	// Spent is true if nothing is left of the shoot that the state could restore: its deletion has come that far.
	Spent bool
}

// ExtensionState is the state of one extension object.
type ExtensionState struct {
	Kind, Name string
	// Purpose is empty for kinds without one.
	Purpose string
	// State is nil if the extension keeps only objects.
	State *runtime.RawExtension
	// Resources are the references as they stand in status.resources.
	Resources []gardencorev1beta1.NamedResourceReference
	// Objects are the referenced objects, without namespace.
	Objects []*unstructured.Unstructured
}

// ForExtension finds the state of an extension object; nil if it has none. For a Worker that is the machine state.
func (s *State) ForExtension(kind, name, purpose string) *ExtensionState {
	for i := range s.Extensions {
		if e := &s.Extensions[i]; e.Kind == kind && e.Name == name && e.Purpose == purpose {
			return e
		}
	}
	return nil
}

// damage is an entry of a saved state that cannot be read.
type damage struct {
	entry string // as entries calls it
	err   error
}

func parts(damages []damage) []string {
	texts := make([]string, 0, len(damages))
	for _, d := range damages {
		texts = append(texts, d.err.Error())
	}
	return texts
}

// entries are the names of what is in a state.
func (s *State) entries() map[string]bool {
	names := map[string]bool{nameOfMachines: s.Machines != nil}
	for _, secret := range s.Secrets {
		names[nameOfSecret(secret.Name)] = true
	}
	for _, extension := range s.Extensions {
		names[extension.name()] = true
	}
	return names
}

const nameOfMachines = "the machines"

func nameOfSecret(name string) string { return fmt.Sprintf("secret %q", name) }

func (e ExtensionState) name() string {
	name := fmt.Sprintf("%s %q", e.Kind, e.Name)
	if e.Purpose != "" {
		name += fmt.Sprintf(" (%s)", e.Purpose)
	}
	return name
}
