package fault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/chaos-mesh/chaos-mesh/api/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/sim/fit"
)

// Experiment is an object of Chaos Mesh as it stands in a file, read strictly into Chaos Mesh's own Go type.
type Experiment struct {
	object client.Object
	raw    json.RawMessage
}

// Experiments are the kinds of Chaos Mesh that a backend can carry out.
func Experiments() []string { return []string{"HTTPChaos", "NetworkChaos", "PodChaos"} }

// UnmarshalJSON reads an object of any kind of Chaos Mesh that harms something: the check says which of them can be
// carried out. Another kind or version, fields that the kind does not have, and values of a wrong type are fit.Misfits.
func (e *Experiment) UnmarshalJSON(data []byte) error {
	var head struct{ APIVersion, Kind string }
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("read an object of Chaos Mesh: %w", err)
	}
	if want := v1alpha1.SchemeGroupVersion.String(); head.APIVersion != want {
		return fit.Misfits{{Path: "apiVersion", Value: head.APIVersion, Remedy: fmt.Sprintf("must be %q", want)}}
	}
	kind, known := v1alpha1.AllKinds()[head.Kind]
	if !known {
		return fit.Misfits{{Path: "kind", Value: head.Kind, Remedy: "must be " + alternatives(Experiments())}}
	}
	object := kind.SpawnObject()
	var plain any
	if err := json.Unmarshal(data, &plain); err != nil {
		return fmt.Errorf("read the %s: %w", head.Kind, err)
	}
	if misfits := fit.Find(plain, reflect.TypeOf(object)); len(misfits) > 0 {
		return misfits
	}
	if err := json.Unmarshal(data, object); err != nil {
		return fmt.Errorf("read the %s: %s", head.Kind, strings.TrimPrefix(err.Error(), "json: "))
	}
	e.object, e.raw = object, bytes.Clone(data)
	return nil
}

// alternatives of which one is right, for a sentence.
func alternatives(all []string) string {
	return strings.Join(all[:len(all)-1], ", ") + " or " + all[len(all)-1]
}

// MarshalJSON writes the object as it was read.
func (e Experiment) MarshalJSON() ([]byte, error) {
	if e.raw == nil {
		return []byte("null"), nil
	}
	return e.raw, nil
}

// Equal says whether both were read from the same.
func (e Experiment) Equal(other Experiment) bool {
	var one, two any
	return json.Unmarshal(e.raw, &one) == nil && json.Unmarshal(other.raw, &two) == nil &&
		fmt.Sprint(one) == fmt.Sprint(two)
}

// hasSpec distinguishes an experiment that says something from one that is nothing but a name.
func (e Experiment) hasSpec() bool {
	var parts struct{ Spec map[string]any }
	return json.Unmarshal(e.raw, &parts) == nil && parts.Spec != nil
}

func (e Experiment) kind() string {
	if e.object == nil {
		return ""
	}
	return e.object.GetObjectKind().GroupVersionKind().Kind
}
