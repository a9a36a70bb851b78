package kubeapi

import "strings"

// Kind is what requests have in common that differ in their objects alone.
type Kind struct {
	// Verb is that of Kubernetes; of a request for no resource, its method in lower case.
	Verb string `json:"verb"`
	// Resource is the plural with its group and subresource, such as shoots.core.gardener.cloud/status or secrets. What
	// asks an API server for no resource is discovery; to anything else, the collections in its path, such as
	// buckets/objects.
	Resource string `json:"resource"`
}

// Kind of the request.
func (q *Request) Kind() Kind {
	if q.Resource == "" {
		return Kind{Verb: strings.ToLower(q.Method), Resource: collections(q.Path)}
	}
	resource := q.Resource
	if q.Group != Core {
		resource += "." + q.Group
	}
	if q.Subresource != "" {
		resource += "/" + q.Subresource
	}
	return Kind{Verb: q.Verb, Resource: resource}
}

// collections are the parts of a path that name no object: /buckets/B/objects/K is buckets/objects.
func collections(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch parts[0] {
	case "api", "apis", "openapi":
		return "discovery"
	}
	if len(parts) < 3 {
		return parts[0]
	}
	return parts[0] + "/" + parts[2]
}
