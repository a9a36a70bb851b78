// Package mergepatch has JSON merge patches (RFC 7386) as they stand in files. It applies none.
package mergepatch

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/choice"
	"github.com/transplant-sim/transplant/sim/fit"
)

// Merge is a JSON merge patch as it stands in a file.
type Merge struct{ fields map[string]any }

// UnmarshalJSON reads the patch. Whether it fits an object is for the step to check.
func (m *Merge) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &m.fields); err != nil {
		return fmt.Errorf("read the patch: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// MarshalJSON writes the patch, its fields in order of their names.
func (m Merge) MarshalJSON() ([]byte, error) { return json.Marshal(m.fields) }

// Equal says whether both change the same.
func (m Merge) Equal(other Merge) bool { return m.String() == other.String() }

func (m Merge) String() string {
	content, err := json.Marshal(m.fields)
	if err != nil {
		return err.Error() // what was read from JSON can be written as JSON
	}
	return string(content)
}

// Fields of the patch. They must not be changed.
func (m Merge) Fields() map[string]any { return m.fields }

// changeable are the parts of an object that a scenario may change: its identity and its status are not among them.
var changeable = map[string][]string{"": {"metadata", "spec"}, "metadata": {"annotations", "labels"}}

// Check reads the patch strictly into an empty object of the type that it is for.
func (m Merge) Check(path *field.Path, object any) field.ErrorList {
	errs := choice.CheckKeys(path, m.fields, changeable[""])
	if metadata, is := m.fields["metadata"].(map[string]any); is {
		errs = append(errs, choice.CheckKeys(path.Child("metadata"), metadata, changeable["metadata"])...)
	}
	if len(errs) > 0 {
		return errs
	}
	return m.CheckPart(path, object)
}

// CheckPart reads the patch strictly into an empty value of the type that it is for, whatever its fields are.
func (m Merge) CheckPart(path *field.Path, part any) field.ErrorList {
	if len(m.fields) == 0 {
		return field.ErrorList{field.Required(path, "a patch changes something")}
	}
	return fit.Check(path, m.fields, part)
}

// Part is a patch of a part of an object: it has neither metadata nor spec.
type Part struct{ Merge }
