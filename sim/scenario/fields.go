package scenario

import (
	"iter"
	"reflect"
	"slices"
	"strings"
)

// meansAbsence says whether a zero in this field is the same as none: it is an optional number or duration, unless its
// tag "zero" says what zero is.
func meansAbsence(f reflect.StructField) bool {
	_, optional := jsonTag(f)
	return optional && f.Tag.Get("zero") == "" && (f.Type == durationType || f.Type.Kind() == reflect.Int)
}

// fieldByName finds a field by its name in files; those of embedded structs count as its own.
func fieldByName(of reflect.Value, name string) (reflect.Value, reflect.StructField, bool) {
	for i := range of.NumField() {
		f := of.Type().Field(i)
		if f.Anonymous {
			if found, form, ok := fieldByName(of.Field(i), name); ok {
				return found, form, true
			}
		} else if tag, _ := jsonTag(f); tag == name && tag != "" {
			return of.Field(i), f, true
		}
	}
	return reflect.Value{}, reflect.StructField{}, false
}

// fieldsOf gives the fields that files may have, those of embedded structs among them, and their names there.
func fieldsOf(of reflect.Type) iter.Seq2[string, reflect.StructField] {
	return func(yield func(string, reflect.StructField) bool) {
		for _, f := range reflect.VisibleFields(of) {
			if name, _ := jsonTag(f); !f.Anonymous && name != "" && !yield(name, f) {
				return
			}
		}
	}
}

func fieldNames(of reflect.Type) []string {
	var names []string
	for name := range fieldsOf(of) {
		names = append(names, name)
	}
	return names
}

func required(of reflect.Type) []string {
	var names []string
	for name, f := range fieldsOf(of) {
		if _, optional := jsonTag(f); !optional {
			names = append(names, name)
		}
	}
	return names
}

func jsonTag(f reflect.StructField) (name string, optional bool) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" { // no field of files
		return "", true
	}
	return name, slices.ContainsFunc(strings.Split(options, ","), func(o string) bool {
		return o == "omitempty" || o == "omitzero"
	})
}
