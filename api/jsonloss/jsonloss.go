// Package jsonloss finds what one JSON document has that another lacks: the question of every test that objects of
// others keep their fields on the way through our types, API servers and controllers.
//
// It is not a comparison: what the second document has in addition is of no interest.
package jsonloss

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Between returns the paths, in order, at which after lacks or changes a value of before. Both may be anything that can
// be written as JSON. A null counts as absent. Items of lists are compared by position.
func Between(before, after any) ([]string, error) {
	b, err := generic(before)
	if err != nil {
		return nil, fmt.Errorf("read the first document: %w", err)
	}
	a, err := generic(after)
	if err != nil {
		return nil, fmt.Errorf("read the second document: %w", err)
	}
	return lost("", b, a), nil
}

func generic(document any) (any, error) {
	data, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	var value any
	return value, json.Unmarshal(data, &value)
}

func lost(path string, before, after any) []string {
	switch before := before.(type) {
	case nil:
		return nil
	case map[string]any:
		return lostOfObject(path, before, after)
	case []any:
		return lostOfList(path, before, after)
	}
	if !reflect.DeepEqual(before, after) {
		return []string{fmt.Sprintf("%s: %v became %v", path, before, after)}
	}
	return nil
}

func lostOfObject(path string, before map[string]any, after any) []string {
	object, ok := after.(map[string]any)
	if !ok {
		return []string{fmt.Sprintf("%s: an object became %v", path, after)}
	}
	var all []string
	for _, key := range slices.Sorted(maps.Keys(before)) {
		all = append(all, lost(path+"."+key, before[key], object[key])...)
	}
	return all
}

func lostOfList(path string, before []any, after any) []string {
	list, ok := after.([]any)
	if !ok && len(before) > 0 {
		return []string{fmt.Sprintf("%s: a list became %v", path, after)}
	}
	var all []string
	for i, item := range before {
		var other any
		if i < len(list) {
			other = list[i]
		}
		all = append(all, lost(fmt.Sprintf("%s[%d]", path, i), item, other)...)
	}
	return all
}
