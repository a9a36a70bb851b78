package shootrules

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// differences are the paths at which two values differ, as deep as possible, in order of the names. Lists of
// different lengths differ as a whole.
func differences(path *field.Path, old, now any) []*field.Path {
	switch old := old.(type) {
	case map[string]any:
		if now, ok := now.(map[string]any); ok {
			return differentFields(path, old, now)
		}
	case []any:
		if now, ok := now.([]any); ok && len(old) == len(now) {
			var paths []*field.Path
			for i := range old {
				paths = append(paths, differences(path.Index(i), old[i], now[i])...)
			}
			return paths
		}
	}
	if reflect.DeepEqual(old, now) {
		return nil
	}
	return []*field.Path{path}
}

func differentFields(path *field.Path, old, now map[string]any) []*field.Path {
	var paths []*field.Path
	names := sets.New(slices.Collect(maps.Keys(old))...).Insert(slices.Collect(maps.Keys(now))...)
	for _, name := range sets.List(names) {
		before, was := old[name]
		after, is := now[name]
		child := childOf(path, name)
		switch {
		case was != is:
			paths = append(paths, child)
		default:
			paths = append(paths, differences(child, before, after)...)
		}
	}
	return paths
}

// childOf writes keys of maps, such as labels, in brackets.
func childOf(path *field.Path, name string) *field.Path {
	if strings.ContainsAny(name, "./") {
		return path.Key(name)
	}
	return path.Child(name)
}
