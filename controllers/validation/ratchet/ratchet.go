// Package ratchet lets objects keep the values that they have: an update is refused for what it makes wrong, not for
// what was wrong before (the ratcheting of Kubernetes, KEP-4008). It knows no rules; those are package validation's.
package ratchet

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Added are the errors of an object that it did not have before. A value that was accepted once and has not changed
// does not block changes of other fields. The objects are in wire format. List items are identified by their name, not
// by their position.
func Added(errs, before field.ErrorList, object, old map[string]any) field.ErrorList {
	known := sets.New[string]()
	for _, err := range before {
		known.Insert(identity(err, old))
	}
	var added field.ErrorList
	for _, err := range errs {
		if !known.Has(identity(err, object)) && !isUnchangedAnnotation(err.Field, object, old) {
			added = append(added, err)
		}
	}
	return added
}

// isUnchangedAnnotation is true for the path of an annotation with the same value as before. Such an annotation
// requests nothing new, even if the pool that it names is gone.
func isUnchangedAnnotation(path string, object, old map[string]any) bool {
	key, is := strings.CutPrefix(path, "metadata.annotations[")
	if !is {
		return false
	}
	key = strings.TrimSuffix(key, "]")
	return annotationOf(object, key) == annotationOf(old, key)
}

func annotationOf(object map[string]any, key string) any {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return annotations[key]
}

// identity is an error as text, with the names of list items in place of their indices.
func identity(err *field.Error, object map[string]any) string {
	return named(err.Field, object) + ": " + err.ErrorBody()
}

// part is one step of a path: a name, or an index or key in brackets.
var part = regexp.MustCompile(`^(?:\.?([^.\[]+)|\[([^\]]*)\])`)

// nameKeys are the fields by which an item of a list is known.
var nameKeys = []string{"name", "type", "key", "version"}

func named(path string, object map[string]any) string {
	var text strings.Builder
	var value any = object
	for rest := path; rest != ""; {
		match := part.FindStringSubmatch(rest)
		if match == nil {
			return path
		}
		rest = rest[len(match[0]):]
		if name := match[1]; name != "" {
			fields, _ := value.(map[string]any)
			value = fields[name]
			text.WriteString("." + name)
			continue
		}
		var name string
		value, name = item(value, match[2])
		text.WriteString("[" + name + "]")
	}
	return text.String()
}

// item is what a list has at an index, or an object at a key, and what it is known by.
func item(value any, index string) (any, string) {
	if fields, ok := value.(map[string]any); ok {
		return fields[index], index
	}
	list, _ := value.([]any)
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= len(list) {
		return nil, index
	}
	fields, ok := list[i].(map[string]any)
	if !ok {
		content, _ := json.Marshal(list[i]) // it was JSON
		return list[i], string(content)
	}
	for _, key := range nameKeys {
		if name, ok := fields[key].(string); ok && name != "" {
			return fields, fmt.Sprintf("%s=%s", key, name)
		}
	}
	return fields, index
}
