package webhooks

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// matching are the resources of which objects that matter are sent to the webhook when they are created or updated. A
// resource is listed once for each rule that it matches.
func (w Webhook) matching(resources []resource) []resource {
	object, namespace := selector(*w.objectSelector), selector(*w.namespaceSelector)
	var found []resource
	for _, rule := range w.rules {
		for _, resource := range resources {
			if selects(resource, object, namespace) && covers(rule, resource) {
				found = append(found, resource)
			}
		}
	}
	return found
}

// selector is what a webhook's selector stands for: nothing set, and what cannot be understood, means all. An API
// server accepts no selector that cannot be understood.
func selector(s *metav1.LabelSelector) labels.Selector {
	if s == nil {
		return labels.Everything()
	}
	parsed, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Everything()
	}
	return parsed
}

// selects says whether the selectors let critical objects of the resource through. Selectors of namespaces do not apply
// to cluster-scoped objects, other than to namespaces themselves.
func selects(r resource, object, namespace labels.Selector) bool {
	if r.Object != nil && !object.Matches(r.Object) {
		return false
	}
	ignored := r.ClusterScoped && !r.isNamespace()
	return ignored || r.Namespace == nil || namespace.Matches(r.Namespace)
}

func (r resource) isNamespace() bool { return r.Group == "" && r.Name == "namespaces" }

func covers(rule admissionregistrationv1.RuleWithOperations, r resource) bool {
	return coversOperation(rule.Operations) && coversScope(rule.Scope, r) &&
		contains(rule.APIGroups, r.Group) && contains(rule.APIVersions, r.Version) &&
		slices.ContainsFunc(rule.Resources, func(named string) bool {
			name, sub := split(named, false)
			return (name == "*" || name == r.Name) && (sub == "*" || sub == r.Subresource)
		})
}

func coversOperation(operations []admissionregistrationv1.OperationType) bool {
	return slices.ContainsFunc(operations, func(o admissionregistrationv1.OperationType) bool {
		return o == admissionregistrationv1.Create || o == admissionregistrationv1.Update ||
			o == admissionregistrationv1.OperationAll
	})
}

func coversScope(scope *admissionregistrationv1.ScopeType, r resource) bool {
	if scope == nil || *scope == admissionregistrationv1.AllScopes {
		return true
	}
	if r.ClusterScoped {
		return *scope == admissionregistrationv1.ClusterScope
	}
	return *scope == admissionregistrationv1.NamespacedScope
}

func contains(items []string, wanted string) bool {
	return slices.Contains(items, "*") || slices.Contains(items, wanted)
}

// split cuts at the slash. Without one, the text is the second part if last is set, else the first.
func split(text string, last bool) (string, string) {
	before, after, found := strings.Cut(text, "/")
	if !found && last {
		return "", text
	}
	return before, after
}
