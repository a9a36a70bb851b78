// Package fit finds what does not fit in an object of others that stands in a file: the fields that the object's Go
// type does not have, and values of a wrong type.
//
// It knows nothing of what values mean.
package fit

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/api/spelling"
)

// Misfit is a part of an object that its type has no place for.
type Misfit struct {
	// Path to it, such as spec.ports[0].port.
	Path string
	// Unknown says that there is no such field; else the value is wrong.
	Unknown bool
	// Value that is wrong; of a mapping or a list only that it is one.
	Value any
	// Remedy is what would be right.
	Remedy string
	// Meant is the value of a closed set that is likeliest meant; empty if there is none.
	Meant string
}

func (m Misfit) String() string {
	if m.Unknown {
		return "unknown field; " + m.Remedy
	}
	if text, is := m.Value.(string); is {
		return fmt.Sprintf("is %q; %s", text, m.Remedy)
	}
	return fmt.Sprintf("is %v; %s", m.Value, m.Remedy)
}

// whole is a mapping or a list, of which nobody wants to read all.
type whole string

func (w whole) String() string { return string(w) }

// Misfits are all of an object, in order of their paths. As an error they are one line.
type Misfits []Misfit

func (m Misfits) Error() string {
	var parts []string
	for _, one := range m {
		parts = append(parts, one.Path+": "+one.String())
	}
	return strings.Join(parts, "; ")
}

// Find what does not fit of a value, as encoding/json reads it into an any, in a type.
func Find(value any, form reflect.Type) Misfits {
	var found Misfits
	found.look("", value, form)
	return found
}

func (m *Misfits) wrong(path string, value any, remedy string, arguments ...any) {
	switch number := value.(type) {
	case map[string]any:
		value = whole("a mapping")
	case []any:
		value = whole("a list")
	case float64:
		if number == math.Trunc(number) && math.Abs(number) < 1<<53 {
			value = int64(number)
		}
	}
	*m = append(*m, Misfit{Path: path, Value: value, Remedy: fmt.Sprintf(remedy, arguments...)})
}

func (m *Misfits) look(path string, value any, form reflect.Type) {
	if form.Kind() == reflect.Pointer {
		form = form.Elem()
	}
	switch reads, text := readsItself(form); {
	case value == nil: // as if it were not there
	case text:
		m.wants(path, value, is[string](value), "a string")
	case reads:
		m.ask(path, value, form)
	default:
		m.byKind(path, value, form)
	}
}

// readsItself says whether a type's own code decides what fits, and whether the type is written as a text.
func readsItself(form reflect.Type) (reads, text bool) {
	of := reflect.PointerTo(form)
	reads = of.Implements(reflect.TypeFor[json.Unmarshaler]())
	return reads, !reads && of.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// ask a type that reads itself.
func (m *Misfits) ask(path string, value any, form reflect.Type) {
	content, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(content, reflect.New(form).Interface())
	}
	if err != nil {
		m.wrong(path, value, "%s", strings.TrimPrefix(err.Error(), "json: "))
	}
}

func (m *Misfits) byKind(path string, value any, form reflect.Type) {
	switch form.Kind() {
	case reflect.Struct:
		m.structure(path, value, form)
	case reflect.Map:
		entries, fits := value.(map[string]any)
		m.wants(path, value, fits, "a mapping")
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			m.look(join(path, key), entries[key], form.Elem())
		}
	case reflect.Slice:
		if form.Elem().Kind() == reflect.Uint8 {
			m.wants(path, value, is[string](value), "a string in base64")
			return
		}
		elements, fits := value.([]any)
		m.wants(path, value, fits, "a list")
		for i, element := range elements {
			m.look(fmt.Sprintf("%s[%d]", path, i), element, form.Elem())
		}
	default:
		m.scalar(path, value, form)
	}
}

func (m *Misfits) scalar(path string, value any, form reflect.Type) {
	switch form.Kind() {
	case reflect.String:
		m.wants(path, value, is[string](value), "a string, in quotes")
	case reflect.Bool:
		m.wants(path, value, is[bool](value), "true or false, without quotes")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		most := math.Ldexp(1, form.Bits()-1)
		m.integer(path, value, -most, most-1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		m.integer(path, value, 0, math.Ldexp(1, form.Bits())-1)
	case reflect.Float32, reflect.Float64:
		m.wants(path, value, is[float64](value), "a number")
	}
}

func (m *Misfits) integer(path string, value any, least, most float64) {
	switch number, numeric := value.(float64); {
	case !numeric || number != math.Trunc(number):
		m.wants(path, value, false, "a whole number")
	default:
		m.wants(path, value, least <= number && number <= most, "from %.0f to %.0f", least, most)
	}
}

func is[T any](value any) bool {
	_, is := value.(T)
	return is
}

func (m *Misfits) wants(path string, value any, fits bool, what string, arguments ...any) {
	if !fits {
		m.wrong(path, value, "must be "+what, arguments...)
	}
}

func (m *Misfits) structure(path string, value any, form reflect.Type) {
	names, types := fields(form)
	parts, fits := value.(map[string]any)
	m.wants(path, value, fits, "a mapping with "+strings.ReplaceAll(strings.Join(names, ", "), "%", "%%"))
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		at := slices.Index(names, name)
		if at < 0 {
			*m = append(*m, Misfit{Path: join(path, name), Unknown: true, Remedy: spelling.Suggest(name, names)})
			continue
		}
		m.look(join(path, name), parts[name], types[at])
	}
}

// fields of a struct by their names in files; those of embedded structs count as its own.
func fields(form reflect.Type) (names []string, types []reflect.Type) {
	for i := range form.NumField() {
		f := form.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case name == "-":
		case name == "" && f.Anonymous && inner.Kind() == reflect.Struct:
			more, theirs := fields(inner)
			names, types = append(names, more...), append(types, theirs...)
		case f.IsExported():
			name = cmp.Or(name, f.Name)
			names, types = append(names, name), append(types, f.Type)
		}
	}
	return names, types
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Check finds what does not fit of the fields of an object in its type, and fills it.
func Check(path *field.Path, fields map[string]any, object any) field.ErrorList {
	var errs field.ErrorList
	for _, m := range Find(fields, reflect.TypeOf(object)) {
		at := below(path, m.Path)
		if m.Unknown {
			errs = append(errs, field.Forbidden(at, "there is no such field; "+m.Remedy))
		} else {
			errs = append(errs, field.Invalid(at, m.Value, m.Remedy))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	content, err := json.Marshal(fields)
	if err == nil {
		err = json.Unmarshal(content, object)
	}
	if err != nil { // what only the type's own code finds
		errs = append(errs, field.Invalid(path, string(content), err.Error()))
	}
	return errs
}

// below is a path with dots and indices under another.
func below(path *field.Path, rest string) *field.Path {
	for name := range strings.SplitSeq(rest, ".") {
		if name != "" {
			path = path.Child(name)
		}
	}
	return path
}
