package webhooks

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// warning is what the annotation says; the changes follow, one a line.
const warning = "ATTENTION: This webhook configuration was changed because it does not follow the best practices of " +
	"Kubernetes (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/" +
	"#best-practices-and-warnings) and might interfere with the operations of the cluster. Please make it follow them " +
	"at its source, then remove this annotation. The following was changed:"

// Remediate changes a configuration so that none of its webhooks is problematic any more, writes the warning about it,
// and says what it changed (docs/specification/care.md#spec-5-7). Nothing returned means nothing changed. It needs a
// single pass, so that doing it again changes nothing (docs/specification/versions.md#spec-4-11-1). Excluded
// configurations are left alone. Pass a copy: the object is changed.
func Remediate(c Configuration) []string {
	if c.Excluded() != "" {
		return nil
	}
	var changes []string
	for _, w := range c.Webhooks {
		changes = append(changes, w.remediate()...)
	}
	if len(changes) > 0 {
		metav1.SetMetaDataAnnotation(c.meta, constants.GardenerWarning, warning+"\n- "+strings.Join(changes, "\n- "))
	}
	return changes
}

func (w Webhook) remediate() []string {
	var changes []string
	changed := func(field, format string, args ...any) {
		changes = append(changes, fmt.Sprintf("%s of webhook %q was %s", field, w.Name, fmt.Sprintf(format, args...)))
	}
	// What concerns Leases goes by the selectors as they were: it is also true of webhooks that ignore failures.
	if limit := w.timeoutLimit(); w.slowerThan(limit) {
		*w.timeoutSeconds = ptr.To(limit)
		changed("timeoutSeconds", "set to %d", limit)
	}
	if *w.failurePolicy != nil && **w.failurePolicy == admissionregistrationv1.Ignore {
		return changes
	}
	found := w.matching(critical)
	if len(found) == 0 {
		return changes
	}
	if slices.ContainsFunc(found, resource.everywhere) {
		*w.failurePolicy = ptr.To(admissionregistrationv1.Ignore)
		changed("failurePolicy", "set to %s", admissionregistrationv1.Ignore)
	}
	objects, namespaces := spare(found)
	if extend(w.objectSelector, objects) {
		changed("objectSelector", "extended with %s", describe(objects))
	}
	if extend(w.namespaceSelector, namespaces) {
		changed("namespaceSelector", "extended with %s", describe(namespaces))
	}
	return changes
}

func (w Webhook) timeoutLimit() int32 {
	if len(w.matching(leaderElection)) > 0 {
		return maxTimeoutSecondsLeases
	}
	return maxTimeoutSeconds
}

// spare are the requirements that keep the webhook off the critical objects of the resources, for the selectors of
// objects and of namespaces.
func spare(resources []resource) (objects, namespaces []metav1.LabelSelectorRequirement) {
	for _, r := range resources {
		objects = exclude(objects, r.Object)
		namespaces = exclude(namespaces, r.Namespace)
	}
	return objects, namespaces
}

// exclude adds a requirement for each label that none excludes yet.
func exclude(requirements []metav1.LabelSelectorRequirement, set labels.Set) []metav1.LabelSelectorRequirement {
	for _, key := range slices.Sorted(maps.Keys(set)) {
		wanted := metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpNotIn, Values: []string{set[key]}}
		if !slices.ContainsFunc(requirements, func(r metav1.LabelSelectorRequirement) bool {
			return r.Key == key && r.Values[0] == set[key]
		}) {
			requirements = append(requirements, wanted)
		}
	}
	return requirements
}

// extend says whether there was something to add. The selector is there afterwards in any case, as an API server would
// set it by default.
func extend(selector **metav1.LabelSelector, requirements []metav1.LabelSelectorRequirement) bool {
	if *selector == nil {
		*selector = &metav1.LabelSelector{}
	}
	(*selector).MatchExpressions = append((*selector).MatchExpressions, requirements...)
	return len(requirements) > 0
}

func describe(requirements []metav1.LabelSelectorRequirement) string {
	var texts []string
	for _, r := range requirements {
		texts = append(texts, fmt.Sprintf("%s NotIn (%s)", r.Key, strings.Join(r.Values, ", ")))
	}
	return strings.Join(texts, ", ")
}
