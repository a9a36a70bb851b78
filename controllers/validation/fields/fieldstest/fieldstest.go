// Package fieldstest makes objects with single fields set, for tests that go through all fields of a kind.
package fieldstest

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/transplant-sim/transplant/controllers/validation/fields"
)

// step is one part of a path: a name, an item of a list, or a value of a map.
var step = regexp.MustCompile(`\.?([^.\[{]+)|\[([^\]]*)\]|\{\}`)

// Place is where a field of a table is in an object: the first item of each list, and a key in each map.
func Place(path string) string {
	path = regexp.MustCompile(`\[\]`).ReplaceAllString(path, "[0]")
	return regexp.MustCompile(`\{\}`).ReplaceAllString(path, "[key]")
}

// Set sets the value at a place of an object, and makes what is missing on the way to it. Null takes the value away.
// The name of a place is as in error messages: items of lists have their index in brackets, values of maps their key.
func Set(t *testing.T, object map[string]any, place string, value any) {
	t.Helper()
	var steps []any
	for _, match := range step.FindAllStringSubmatch(place, -1) {
		switch index, err := strconv.Atoi(match[2]); {
		case match[1] != "":
			steps = append(steps, match[1])
		case err == nil:
			steps = append(steps, index)
		default:
			steps = append(steps, match[2])
		}
	}
	object[steps[0].(string)] = with(t, object[steps[0].(string)], steps[1:], value)
}

// with is a value in which something is set. Lists and maps on the way are copied: others may have them, too.
func with(t *testing.T, old any, steps []any, value any) any {
	t.Helper()
	if len(steps) == 0 {
		return value
	}
	switch step := steps[0].(type) {
	case int:
		list, _ := old.([]any)
		list = slices.Clone(list)
		if step > len(list) {
			t.Fatalf("the list %v has no item %d", list, step)
		}
		if step == len(list) {
			list = append(list, nil)
		}
		list[step] = with(t, list[step], steps[1:], value)
		return list
	case string:
		fields, _ := old.(map[string]any)
		fields = maps.Clone(fields)
		if fields == nil {
			fields = map[string]any{}
		}
		if len(steps) == 1 && value == nil {
			delete(fields, step)
			return fields
		}
		fields[step] = with(t, fields[step], steps[1:], value)
		return fields
	}
	return nil
}

// Sample is a value that a field can have by its type.
func Sample(t *testing.T, leaf fields.Leaf) any {
	t.Helper()
	samples := map[string]any{
		"string": "1h", "boolean": true, "integer": int64(1), "number": 0.5, "object": map[string]any{"any": "thing"},
		"quantity": "1Gi", "number or percentage": "1%", "date-time": "2026-01-01T00:00:00Z",
	}
	sample, found := samples[leaf.Type]
	if !found {
		t.Fatalf("%s is of type %q, of which there is no sample", leaf.Path, leaf.Type)
	}
	return sample
}
