package probe

import (
	"maps"
	"slices"
)

// changed are the names under which something is new, gone or other than it was, sorted.
func changed[T comparable](before, after map[string]T) []string {
	names := map[string]bool{}
	for name, was := range before {
		if is, there := after[name]; !there || is != was {
			names[name] = true
		}
	}
	for name := range after {
		if _, known := before[name]; !known {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
