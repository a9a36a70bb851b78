package fields

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

const (
	// mostWarnings and mostPlaces bound the warnings of one response.
	mostWarnings, mostPlaces = 20, 3
	annotationsPath          = "metadata.annotations"
)

// Warnings are for a client that writes an object of a kind: which fields have no effect. The objects are in wire
// format; old is nil for a new object. Fields that have not changed cause no warning.
func Warnings(kind string, object, old map[string]any) []string {
	table, schema := Of(kind), specs()[kind]
	if schema == nil {
		return nil
	}
	before := map[string]any{}
	values(old["spec"], schema, "spec", "spec", func(_, place string, value any) { before[place] = value })
	w, known := warnings{places: map[string][]string{}}, annotationsOf(old)
	real := annotationsOf(object)[constants.Nodes] == constants.NodesReal
	values(object["spec"], schema, "spec", "spec", func(path, place string, value any) {
		if row, found := table.Find(path); found && row.Warning != "" && value != row.Unless &&
			!(row.Simulated && real) && !reflect.DeepEqual(value, before[place]) {
			w.add(row, place)
		}
	})
	for _, key := range slices.Sorted(maps.Keys(annotationsOf(object))) {
		path := annotationsPath + "[" + key + "]"
		if row, found := table.Find(path); found && row.Warning != "" && known[key] != annotationsOf(object)[key] {
			w.add(row, path)
		}
	}
	return w.texts()
}

// warnings are the places in an object of each row that warns.
type warnings struct {
	rows   []Row
	places map[string][]string
}

func (w *warnings) add(row Row, place string) {
	if w.places[row.Path] == nil {
		w.rows = append(w.rows, row)
	}
	if place = shortened(row.Path, place); !slices.Contains(w.places[row.Path], place) {
		w.places[row.Path] = append(w.places[row.Path], place)
	}
}

func (w *warnings) texts() []string {
	var all []string
	for _, row := range w.rows {
		places, more := w.places[row.Path], ""
		if len(places) > mostPlaces {
			places, more = places[:mostPlaces], fmt.Sprintf(" and %d more", len(places)-mostPlaces)
		}
		all = append(all, fmt.Sprintf("%s%s: %s", strings.Join(places, ", "), more, row.Warning))
	}
	return bounded(all)
}

func bounded(all []string) []string {
	if len(all) <= mostWarnings {
		return all
	}
	return append(all[:mostWarnings:mostWarnings],
		fmt.Sprintf("there are %d more warnings of fields without effect", len(all)-mostWarnings))
}

// shortened cuts a place off one name below the field of a row: what is below that is without effect as well.
func shortened(row, place string) string {
	names := strings.Count(row, ".") + 2
	parts := strings.SplitN(place, ".", names+1)
	if strings.HasPrefix(place, annotationsPath) || len(parts) <= names {
		return place
	}
	return strings.Join(parts[:names], ".")
}

func annotationsOf(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return annotations
}

// Unknown are warnings of fields in a specification that the type of the kind does not have. Such fields are kept, and
// nothing here reads them. The objects are JSON, and into returns a new object of the kind. Fields that the old object
// has cause no warning.
func Unknown(object, old []byte, into func() any) []string {
	before := unknown(old, into())
	var all []string
	for _, path := range unknown(object, into()) {
		if !slices.Contains(before, path) {
			all = append(all, path+": unknown field, kept without effect here")
		}
	}
	return bounded(all)
}

func unknown(document []byte, into any) []string {
	if len(document) == 0 {
		return nil
	}
	strict, err := kjson.UnmarshalStrict(document, into, kjson.DisallowUnknownFields)
	if err != nil {
		return nil // refused for that
	}
	var paths []string
	for _, one := range strict {
		if located, is := errors.AsType[kjson.FieldError](one); is && strings.HasPrefix(located.FieldPath(), "spec.") {
			paths = append(paths, located.FieldPath())
		}
	}
	return paths
}

func indexed(place string, i int) string { return fmt.Sprintf("%s[%d]", place, i) }
