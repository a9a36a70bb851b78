// Package choice is about what files choose: one name of a list, or one member of a struct.
//
// It has no names of its own, and knows nothing of what is chosen.
package choice

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Check refuses a name that is none of these.
func Check[T ~string](path *field.Path, name T, known []T) field.ErrorList {
	if slices.Contains(known, name) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, name, known)}
}

// Members are the names of the fields of a struct that are a T, as they stand in files.
func Members[T, Struct any]() []string {
	var names []string
	for _, f := range fields[T](reflect.TypeFor[Struct]()) {
		names = append(names, nameOf(f))
	}
	return names
}

// Given are those that are set in a struct, and their names.
func Given[T any](of any) (names []string, members []T) {
	value := reflect.ValueOf(of).Elem()
	for _, f := range fields[T](value.Type()) {
		if member := value.FieldByIndex(f.Index); !member.IsZero() {
			names, members = append(names, nameOf(f)), append(members, member.Interface().(T))
		}
	}
	return names, members
}

// fields of a struct that are a T, those of embedded structs too.
func fields[T any](form reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(form), func(f reflect.StructField) bool {
		return !f.IsExported() || !f.Type.Implements(reflect.TypeFor[T]())
	})
}

// Only is the one that is set, with its name; nothing when not exactly one is.
func Only[T any](of any) (name string, member T) {
	if names, members := Given[T](of); len(names) == 1 {
		return names[0], members[0]
	}
	return "", member
}

func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// CheckKeys finds keys of a mapping that are not among the names.
func CheckKeys(path *field.Path, fields map[string]any, names []string) field.ErrorList {
	var errs field.ErrorList
	for name := range fields {
		errs = append(errs, Check(path.Child(name), name, names)...)
	}
	return errs
}
