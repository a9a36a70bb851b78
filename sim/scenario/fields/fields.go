// Package fields reads the fields of the types that files are read into: their names there, and which must be given.
//
// It reads no file.
package fields

import (
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MeansAbsence says whether a zero in this field is the same as none: it is an optional number or duration, unless its
// tag "zero" says what zero is.
func MeansAbsence(f reflect.StructField) bool {
	_, optional := Tag(f)
	return optional && f.Tag.Get("zero") == "" &&
		(f.Type == reflect.TypeFor[metav1.Duration]() || f.Type.Kind() == reflect.Int)
}

// ByName finds a field by its name in files; those of embedded structs count as its own.
func ByName(of reflect.Value, name string) (reflect.Value, reflect.StructField, bool) {
	for i := range of.NumField() {
		f := of.Type().Field(i)
		if f.Anonymous {
			if found, form, ok := ByName(of.Field(i), name); ok {
				return found, form, true
			}
		} else if tag, _ := Tag(f); tag == name && tag != "" {
			return of.Field(i), f, true
		}
	}
	return reflect.Value{}, reflect.StructField{}, false
}

// Names of the fields that files may have, those of embedded structs among them.
func Names(of reflect.Type) []string { return names(of, func(bool) bool { return true }) }

// Required are the names of those that must be given.
func Required(of reflect.Type) []string {
	return names(of, func(optional bool) bool { return !optional })
}

// names also finds a field of an embedded struct that has the Go name of that struct: reflect.VisibleFields does not.
func names(of reflect.Type, fit func(optional bool) bool) []string {
	var found []string
	for f := range of.Fields() {
		if f.Anonymous {
			found = append(found, names(f.Type, fit)...)
		} else if name, optional := Tag(f); name != "" && fit(optional) {
			found = append(found, name)
		}
	}
	return found
}

// Tag is the name of a field in files, empty for one that they do not have, and whether it may be left out.
func Tag(f reflect.StructField) (name string, optional bool) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" { // no field of files
		return "", true
	}
	return name, slices.ContainsFunc(strings.Split(options, ","), func(o string) bool {
		return o == "omitempty" || o == "omitzero"
	})
}
