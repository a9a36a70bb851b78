// Package kubeapi is what a link understands of the Kubernetes API: what a request wants, and which requests a fault
// selects; a list's versions, the ends of a watch's events, and how an API server refuses. It does not know faults or
// connections, and reads a body only where it is asked to.
package kubeapi

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
)

// Request is what a link understands of a request to an API server, from its first line and headers alone. Requests to
// anything else have a method and a path only.
type Request struct {
	Method string
	Path   string
	// Verb is that of Kubernetes: get, list, watch, create, update, patch, delete or deletecollection. A server-side
	// apply is apply.
	Verb string
	// Group is core for the group without a name.
	Group       string
	Version     string
	Resource    string // in the plural, such as shoots
	Namespace   string
	Name        string // empty for collections, and for objects that are being created
	Subresource string
}

// Core is how the API group without a name is called.
const Core = "core"

// Verbs that a [Match] can name.
const (
	VerbGet              = "get"
	VerbList             = "list"
	VerbWatch            = "watch"
	VerbCreate           = "create"
	VerbUpdate           = "update"
	VerbPatch            = "patch" // a server-side apply too
	VerbApply            = "apply"
	VerbDelete           = "delete"
	VerbDeleteCollection = "deletecollection"
)

// Verbs are all verbs that a Match can name; the last ones write.
func Verbs() []string {
	return append([]string{VerbGet, VerbList, VerbWatch}, writeVerbs...)
}

var writeVerbs = []string{VerbCreate, VerbUpdate, VerbPatch, VerbApply, VerbDelete, VerbDeleteCollection}

// applyTypes are the content types of a server-side apply.
var applyTypes = []string{"application/apply-patch+yaml", "application/apply-patch+cbor"}

// Describe understands a request without reading its body.
func Describe(r *http.Request) Request {
	q := Request{Method: r.Method, Path: r.URL.Path}
	rest, ok := q.readGroup(strings.Split(strings.Trim(r.URL.Path, "/"), "/"))
	if !ok {
		return q
	}
	watches := IsTrue(r.URL.Query().Get("watch"))
	if rest[0] == "watch" && len(rest) > 1 { // the old form, still served
		rest, watches = rest[1:], true
	}
	if rest[0] == "namespaces" && len(rest) > 1 {
		q.Namespace = rest[1]
		if len(rest) > 2 && rest[2] != "status" && rest[2] != "finalize" {
			rest = rest[2:]
		}
	}
	part := func(i int) string {
		if i < len(rest) {
			return rest[i]
		}
		return ""
	}
	q.Resource, q.Name, q.Subresource = part(0), part(1), part(2)
	q.Verb = q.verb(r, watches)
	if q.Verb == VerbList || q.Verb == VerbWatch { // of one object, the way that clients do it
		if selector, err := fields.ParseSelector(r.URL.Query().Get("fieldSelector")); err == nil {
			q.Name, _ = selector.RequiresExactMatch("metadata.name")
		}
	}
	return q
}

// readGroup takes group and version off the path; false when it is none of a resource.
func (q *Request) readGroup(parts []string) (rest []string, ok bool) {
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		q.Group, q.Version = Core, parts[1]
		return parts[2:], true
	case len(parts) >= 4 && parts[0] == "apis":
		q.Group, q.Version = parts[1], parts[2]
		return parts[3:], true
	}
	return nil, false
}

func (q *Request) verb(r *http.Request, watches bool) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		switch {
		case watches:
			return VerbWatch
		case q.Name == "" && q.Resource != "":
			return VerbList
		}
		return VerbGet
	case http.MethodPost:
		return VerbCreate
	case http.MethodPut:
		return VerbUpdate
	case http.MethodPatch:
		if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); slices.Contains(applyTypes, kind) {
			return VerbApply
		}
		return VerbPatch
	case http.MethodDelete:
		if q.Name == "" {
			return VerbDeleteCollection
		}
		return VerbDelete
	}
	return ""
}

// Writes says whether the request may change what is stored. Reviews are created and never stored.
func (q *Request) Writes(r *http.Request) bool {
	return slices.Contains(writeVerbs, q.Verb) && r.URL.Query().Get("dryRun") == "" &&
		q.Group != "authentication.k8s.io" && q.Group != "authorization.k8s.io"
}

// IsTrue reads a query parameter as API servers do.
func IsTrue(value string) bool {
	return value != "" && value != "0" && !strings.EqualFold(value, "false")
}

// MayWatch is a quick look that misses no watch.
func MayWatch(r *http.Request) bool {
	return r.Method == http.MethodGet && (strings.Contains(r.URL.RawQuery, "watch=") || strings.Contains(r.URL.Path,
		"/watch/"))
}
