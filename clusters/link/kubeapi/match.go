package kubeapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Match selects requests to an API server: every field that is set must fit.
type Match struct {
	// Verbs of the requests, see [Verbs].
	Verbs []string `json:"verbs,omitempty"`
	// Group of the resource; core for the one without a name.
	Group string `json:"group,omitempty"`
	// Resource in the plural, such as shoots.
	Resource string `json:"resource,omitempty"`
	// Namespace of the object.
	Namespace string `json:"namespace,omitempty"`
	// Name of the object. That of a created object is looked up in the request's body.
	Name string `json:"name,omitempty"`
	// Subresource, such as status; "none" selects the object itself.
	Subresource string `json:"subresource,omitempty"`
	// Method and Path select what is no request for resources too. In the path * is any text, with slashes or without,
	// and ? any character.
	Method string `json:"method,omitempty"`
	Path   string `json:"path,omitempty"`
	// Headers that the request has, among others.
	Headers map[string]string `json:"headers,omitempty"`
}

// NoSubresource in a Match selects requests for objects themselves.
const NoSubresource = "none"

// Validate finds unknown verbs.
func (m Match) Validate() error {
	for _, verb := range m.Verbs {
		if !slices.Contains(Verbs(), verb) {
			return fmt.Errorf("unknown verb %q: must be one of %s", verb, strings.Join(Verbs(), ", "))
		}
	}
	return nil
}

// String is what is selected, for names of faults: "patch,update shoots/alpha".
func (m Match) String() string {
	what := m.Resource
	for _, part := range []string{m.Name, m.Subresource} {
		if part != "" {
			what += "/" + part
		}
	}
	words := []string{strings.Join(m.Verbs, ","), m.Method, m.Path, m.Group, m.Namespace, what}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// Fits says whether the request is selected. It may read, and put back, the body.
func (m Match) Fits(q *Request, r *http.Request) bool {
	same := func(wanted, is string) bool { return wanted == "" || wanted == is }
	if !same(m.Group, q.Group) || !same(m.Resource, q.Resource) || !same(m.Namespace, q.Namespace) || !same(m.Method,
		q.Method) {
		return false
	}
	if m.Subresource == NoSubresource && q.Subresource != "" || m.Subresource != NoSubresource && !same(m.Subresource,
		q.Subresource) {
		return false
	}
	if !m.fitsVerb(q.Verb) || m.Path != "" && !fitsPattern(q.Path, m.Path) {
		return false
	}
	for name, value := range m.Headers {
		if !slices.Contains(r.Header.Values(name), value) {
			return false
		}
	}
	return m.Name == "" || m.Name == q.Name || q.Name == "" && q.Verb == VerbCreate && m.Name == createdName(r)
}

func (m Match) fitsVerb(verb string) bool {
	return len(m.Verbs) == 0 || slices.Contains(m.Verbs, verb) || verb == VerbApply && slices.Contains(m.Verbs, VerbPatch)
}

// fitsPattern compares a text with a pattern that may have * and ? in it.
func fitsPattern(text, pattern string) bool {
	first, rest, some := strings.Cut(pattern, "*")
	if !some {
		return len(text) == len(first) && fitsStart(text, first)
	}
	if !fitsStart(text, first) {
		return false
	}
	for from := len(first); from <= len(text); from++ {
		if fitsPattern(text[from:], rest) {
			return true
		}
	}
	return false
}

// fitsStart compares the start of a text, in which each ? is any character.
func fitsStart(text, start string) bool {
	for i := range len(start) {
		if i == len(text) || start[i] != '?' && start[i] != text[i] {
			return false
		}
	}
	return true
}

// IsNoise says whether the request is about what controllers write all the time without meaning it: who wants their
// writes must name them.
func (m Match) IsNoise(q *Request) bool {
	return m.Resource == "" && m.Path == "" && (q.Resource == "leases" || q.Resource == "events")
}
