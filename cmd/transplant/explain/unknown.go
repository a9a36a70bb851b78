package explain

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"

	"github.com/transplant-sim/transplant/api/spelling"
)

// decode reads JSON as an API server does: names of fields count with their case.
func decode(document []byte, into any) error {
	return kjson.UnmarshalCaseSensitivePreserveInts(document, into)
}

// unknown is a field of a document that the type it is read into does not have. Objects of real gardens have such
// fields, so they are no mistakes; but the answer does not depend on them, and whoever misspelt one has to know.
type unknown struct {
	path []any  // names and indices
	near string // the name that may be meant, or ""
}

func (u unknown) String() string {
	var text strings.Builder
	for _, part := range u.path {
		switch part := part.(type) {
		case int:
			text.WriteString("[" + strconv.Itoa(part) + "]")
		case string:
			text.WriteString("." + part)
		}
	}
	return strings.TrimPrefix(text.String(), ".")
}

// meant is what to say of a name that is near.
func (u unknown) meant() string {
	if u.near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", u.near)
}

// unknowns finds the fields that a type does not have, in order. What is no JSON has none.
func unknowns(document []byte, into any) []unknown {
	var value any
	if json.Unmarshal(document, &value) != nil {
		return nil
	}
	var found []unknown
	findUnknown(&found, nil, value, reflect.TypeOf(into))
	return found
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func findUnknown(found *[]unknown, path []any, value any, of reflect.Type) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if reflect.PointerTo(of).Implements(unmarshaler) {
		return // it reads itself
	}
	switch value := value.(type) {
	case map[string]any:
		findUnknownKeys(found, path, value, of)
	case []any:
		if of.Kind() != reflect.Slice {
			return
		}
		for i, item := range value {
			findUnknown(found, append(path, i), item, of.Elem())
		}
	}
}

func findUnknownKeys(found *[]unknown, path []any, object map[string]any, of reflect.Type) {
	var fields map[string]reflect.Type
	switch of.Kind() {
	case reflect.Struct:
		fields = fieldsOf(of)
	case reflect.Map:
	default:
		return
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		here := append(slices.Clone(path), key)
		switch field, known := fields[key]; {
		case of.Kind() == reflect.Map:
			findUnknown(found, here, object[key], of.Elem())
		case known:
			findUnknown(found, here, object[key], field)
		default:
			// A third of the letters: real fields that are not modelled should not be taken for others.
			names := slices.Sorted(maps.Keys(fields))
			*found = append(*found, unknown{path: here, near: spelling.Nearest(key, names, len(key)/3)})
		}
	}
}

// fieldsOf are the fields of a struct by their JSON names; those of inlined structs count as its own.
func fieldsOf(of reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name != "":
			fields[name] = f.Type
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			maps.Copy(fields, fieldsOf(f.Type))
		case f.IsExported():
			fields[f.Name] = f.Type
		}
	}
	return fields
}

// lineOf finds the line of a field in a YAML document; 0 if the field is not written there as such.
func lineOf(document *yaml.Node, path []any) int {
	if len(document.Content) == 0 {
		return 0
	}
	node, line := document.Content[0], 0
	for _, part := range path {
		if node, line = childOf(node, part); node == nil {
			return 0
		}
	}
	return line
}

func childOf(node *yaml.Node, part any) (child *yaml.Node, line int) {
	switch part := part.(type) {
	case int:
		if node.Kind == yaml.SequenceNode && part < len(node.Content) {
			return node.Content[part], node.Content[part].Line
		}
	case string:
		for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == part {
				return node.Content[i+1], node.Content[i].Line
			}
		}
	}
	return nil, 0
}

// mostWarned is how many unknown fields are printed; programs that ask thousands of questions may not read warnings.
const mostWarned = 20

// warnings prints unknown fields, each once, whatever the list items that have it.
type warnings struct {
	out     io.Writer
	printed map[string]bool
}

func newWarnings(out io.Writer) *warnings { return &warnings{out: out, printed: map[string]bool{}} }

// print names the place of each field. What cannot be written does not matter to the answer.
func (w *warnings) print(found []unknown, place func(unknown) string) {
	for _, u := range found {
		alike := unknown{path: slices.DeleteFunc(slices.Clone(u.path), func(part any) bool {
			_, index := part.(int)
			return index
		})}.String()
		switch {
		case w.printed[alike] || len(w.printed) > mostWarned:
			continue
		case len(w.printed) == mostWarned:
			fmt.Fprintln(w.out, "warning: there are more fields that are not known here and were ignored")
		default:
			fmt.Fprintf(w.out, "warning: %s: field %s is not known here and was ignored%s\n", place(u), u, u.meant())
		}
		w.printed[alike] = true
	}
}
