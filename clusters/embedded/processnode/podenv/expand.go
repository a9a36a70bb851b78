// Package podenv works out what a container of a pod finds in its environment: variables from fields, Secrets,
// ConfigMaps and services, and the expansion of $(VAR) in them and in the command.
//
// It reads objects through an interface and starts nothing.
package podenv

import "strings"

// Expand replaces each $(NAME) for which lookup knows a value. $$ stands for one $, so that $$(NAME) stays $(NAME);
// what is unknown stays as it is written.
func Expand(text string, lookup func(name string) (string, bool)) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		text = after
		if rest, escaped := strings.CutPrefix(text, "$"); escaped {
			out.WriteByte('$')
			text = rest
			continue
		}
		name, rest, isReference := reference(text)
		if !isReference {
			out.WriteByte('$')
			continue
		}
		if value, known := lookup(name); known {
			out.WriteString(value)
		} else {
			out.WriteString("$(" + name + ")")
		}
		text = rest
	}
}

// reference splits "(NAME)rest".
func reference(text string) (name, rest string, ok bool) {
	inner, opened := strings.CutPrefix(text, "(")
	if !opened {
		return "", text, false
	}
	name, rest, ok = strings.Cut(inner, ")")
	return name, rest, ok
}
