// Package manifest has the parts of a scenario file that belong to the API of a cluster: objects of a shoot, and merge
// patches. It reads them strictly by the types that the API has for them. It sends nothing.
package manifest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/transplant-sim/transplant/sim/choice"
	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/fit"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Object is an object of a shoot's API, or a part of one, as it stands in a file.
type Object struct{ fields map[string]any }

// UnmarshalJSON reads the object. Whether it fits its kind is for the step to check.
func (o *Object) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &o.fields); err != nil {
		return fmt.Errorf("read the object: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// MarshalJSON writes the object, its fields in order of their names.
func (o Object) MarshalJSON() ([]byte, error) { return json.Marshal(o.fields) }

// Equal says whether both are the same.
func (o Object) Equal(other Object) bool { return reflect.DeepEqual(o.fields, other.fields) }

// String is kind and name.
func (o Object) String() string {
	metadata, _ := o.fields["metadata"].(map[string]any)
	name := fmt.Sprint(metadata["name"])
	if namespace, given := metadata["namespace"]; given {
		name = fmt.Sprint(namespace) + "/" + name
	}
	return fmt.Sprintf("%v %s", o.fields["kind"], name)
}

// shootScheme has the kinds whose fields are known before there is a shoot.
func shootScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	return scheme
}

// foreign says whether a group is none of Kubernetes' own that the scheme has, so that only the shoot knows its kinds:
// those of APIServices, and those that a scenario itself defines.
func foreign(group string, scheme *runtime.Scheme) bool {
	return strings.Contains(group, ".") && !slices.ContainsFunc(scheme.PrioritizedVersionsAllGroups(),
		func(v schema.GroupVersion) bool {
			return v.Group == group
		})
}

// identified finds what is missing to say which object it is.
func (o Object) identified(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range []string{"apiVersion", "kind"} {
		if text, is := o.fields[name].(string); !is || text == "" {
			errs = append(errs, field.Required(path.Child(name), "an object says what it is"))
		}
	}
	metadata, _ := o.fields["metadata"].(map[string]any)
	if text, is := metadata["name"].(string); !is || text == "" {
		errs = append(errs, field.Required(path.Child("metadata", "name"), "an object has a name"))
	} else {
		namespace, _ := metadata["namespace"].(string)
		errs = append(errs, fault.CheckPlace(path.Child("metadata"), namespace, text)...)
	}
	return errs
}

// Check reads the object strictly as one of its kind. Of kinds that only the shoot will know it checks who they are.
func (o Object) Check(path *field.Path) field.ErrorList {
	errs := o.identified(path)
	if _, given := o.fields["status"]; given {
		errs = append(errs, field.Forbidden(path.Child("status"), "a scenario says what shall be, not how it is doing"))
	}
	if len(errs) > 0 {
		return errs
	}
	kind, scheme := o.kind(), shootScheme()
	empty, err := scheme.New(kind)
	if runtime.IsNotRegisteredError(err) {
		if foreign(kind.Group, scheme) {
			return nil
		}
		return field.ErrorList{field.Invalid(path.Child("kind"), kind.Kind, fmt.Sprintf("there is no such kind in %s",
			o.fields["apiVersion"]))}
	}
	if err != nil {
		return field.ErrorList{field.Invalid(path, o.String(), err.Error())}
	}
	return fit.Check(path, o.fields, empty)
}

// CheckBare finds what the object says beyond which one it is.
func (o Object) CheckBare(path *field.Path) field.ErrorList {
	metadata, _ := o.fields["metadata"].(map[string]any)
	errs := choice.CheckKeys(path, o.fields, []string{"apiVersion", "kind", "metadata"})
	return append(errs, choice.CheckKeys(path.Child("metadata"), metadata, []string{"name", "namespace"})...)
}

func (o Object) kind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(fmt.Sprint(o.fields["apiVersion"]), fmt.Sprint(o.fields["kind"]))
}

// Whole is the object as it is created: what is null in it is not there.
func (o Object) Whole() *unstructured.Unstructured {
	fields, _ := withoutNulls(runtime.DeepCopyJSON(o.fields)).(map[string]any)
	return &unstructured.Unstructured{Object: fields}
}

func withoutNulls(part any) any {
	switch part := part.(type) {
	case map[string]any:
		for name, value := range part {
			if value == nil {
				delete(part, name)
			} else {
				part[name] = withoutNulls(value)
			}
		}
	case []any:
		for i := range part {
			part[i] = withoutNulls(part[i])
		}
	}
	return part
}

// Ref says which object it is.
func (o Object) Ref() *timeline.ObjectRef {
	whole, kind := o.Whole(), o.kind()
	return &timeline.ObjectRef{Group: kind.Group, Kind: kind.Kind, Namespace: whole.GetNamespace(), Name: whole.GetName()}
}
