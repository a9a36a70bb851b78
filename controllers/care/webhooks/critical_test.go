package webhooks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// tableRow is a row of docs/specification/care.md#spec-5-6, written as it is there.
type tableRow struct {
	groups, resources, scope string
	// spared are the selectors that remediation adds, of objects and of namespaces; "" if it cannot.
	object, namespace string
}

const (
	labelsKubeSystem = "gardener.cloud/purpose=kube-system kubernetes.io/metadata.name=kube-system " +
		"shoot.gardener.cloud/no-cleanup=true"
	labelsPod     = "origin=gardener shoot.gardener.cloud/no-cleanup=true"
	labelsDefault = "kubernetes.io/metadata.name=default"
)

var tableRows = []tableRow{
	{"v1", "pods pods/status", "Namespaced", labelsPod, labelsKubeSystem},
	{"v1", "configmaps secrets serviceaccounts", "Namespaced", "", labelsKubeSystem},
	{"v1", "endpoints", "Namespaced", "", labelsKubeSystem + " " + labelsDefault},
	{"v1", "services services/status", "Namespaced", "", labelsKubeSystem + " " + labelsDefault},
	{"v1", "nodes nodes/status", "Cluster", "", ""},
	{"v1", "namespaces namespaces/status", "Cluster", labelsKubeSystem, labelsKubeSystem},
	{
		"apps/v1 apps/v1beta1 apps/v1beta2 extensions/v1beta1",
		"controllerrevisions daemonsets daemonsets/status deployments deployments/scale replicasets replicasets/status " +
			"replicasets/scale",
		"Namespaced", "", labelsKubeSystem,
	},
	{"extensions/v1beta1 networking.k8s.io/v1 networking.k8s.io/v1beta1", "networkpolicies", "Namespaced", "",
		labelsKubeSystem},
	{"coordination.k8s.io/v1 coordination.k8s.io/v1beta1", "leases", "Namespaced", "", ""},
	{"rbac.authorization.k8s.io/v1 rbac.authorization.k8s.io/v1alpha1 rbac.authorization.k8s.io/v1beta1",
		"clusterroles clusterrolebindings", "Cluster", "", ""},
	{"rbac.authorization.k8s.io/v1 rbac.authorization.k8s.io/v1alpha1 rbac.authorization.k8s.io/v1beta1",
		"roles rolebindings", "Namespaced", "", labelsKubeSystem},
	{"apiextensions.k8s.io/v1 apiextensions.k8s.io/v1beta1", "customresourcedefinitions customresourcedefinitions/status",
		"Cluster", "", ""},
	{"apiregistration.k8s.io/v1 apiregistration.k8s.io/v1beta1", "apiservices apiservices/status", "Cluster", "", ""},
	{"certificates.k8s.io/v1",
		"certificatesigningrequests certificatesigningrequests/status certificatesigningrequests/approval", "Cluster", "",
		""},
	{"scheduling.k8s.io/v1 scheduling.k8s.io/v1beta1", "priorityclasses", "Cluster", "", ""},
}

// cells are the combinations of group and resource of a row.
func (r tableRow) cells(each func(group, version, resource string)) {
	for on := range strings.FieldsSeq(r.groups) {
		group, version, found := strings.Cut(on, "/")
		if !found {
			group, version = "", on
		}
		for resource := range strings.FieldsSeq(r.resources) {
			each(group, version, resource)
		}
	}
}

func rule(group, version, resource string,
	operations ...admissionregistrationv1.OperationType) []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: operations,
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{group}, APIVersions: []string{version}, Resources: []string{resource},
			Scope: ptr.To(admissionregistrationv1.AllScopes),
		},
	}}
}

// webhook is one that refuses while its server is away and answers quickly otherwise.
func webhook(rules []admissionregistrationv1.RuleWithOperations) admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{
		Name: "w.example.com", Rules: rules, FailurePolicy: ptr.To(admissionregistrationv1.Fail),
		TimeoutSeconds: ptr.To[int32](3),
		ObjectSelector: &metav1.LabelSelector{}, NamespaceSelector: &metav1.LabelSelector{},
	}
}

func configuration(
	webhooks ...admissionregistrationv1.ValidatingWebhook,
) *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "c"},
		Webhooks: webhooks}
}

func problem(w admissionregistrationv1.ValidatingWebhook) string {
	return Validating(configuration(w)).Webhooks[0].Problem()
}

// TestCriticalResources goes through the rows of docs/specification/care.md#spec-5-6, operation by operation and scope
// by scope.
func TestCriticalResources(t *testing.T) {
	t.Parallel()
	cells := 0
	for _, row := range tableRows {
		t.Run(row.groups+" "+row.resources, func(t *testing.T) {
			t.Parallel()
			row.cells(func(group, version, resource string) {
				name := strings.TrimPrefix(group+"/"+version+"/"+resource, "/")
				for operation, critical := range map[admissionregistrationv1.OperationType]bool{"CREATE": true, "UPDATE": true,
					"*": true, "DELETE": false, "CONNECT": false} {
					if got := problem(webhook(rule(group, version, resource, operation))); (got != "") != critical {
						t.Errorf("%s %s: %q", operation, name, got)
					}
				}
				for scope, critical := range map[admissionregistrationv1.ScopeType]bool{"*": true,
					"Cluster": row.scope == "Cluster", "Namespaced": row.scope == "Namespaced"} {
					w := webhook(rule(group, version, resource, "CREATE"))
					w.Rules[0].Scope = &scope
					if got := problem(w); (got != "") != critical {
						t.Errorf("scope %s of %s: %q", scope, name, got)
					}
				}
				if got := problem(webhook(rule(group+"x", version, resource, "*"))); got != "" {
					t.Errorf("%s of another group: %s", name, got)
				}
				if got := problem(webhook(rule(group, version+"x", resource, "*"))); got != "" {
					t.Errorf("%s of another version: %s", name, got)
				}
			})
		})
		row.cells(func(string, string, string) { cells++ })
	}
	// endpoints and services count twice: in kube-system and in default
	if got := len(critical); got != cells+3 {
		t.Errorf("%d resources are critical, the table has %d", got, cells+3)
	}
}

// TestCriticalResourcesAreSpared shows what remediation of a webhook on each row comes to.
func TestCriticalResourcesAreSpared(t *testing.T) {
	t.Parallel()
	for _, row := range tableRows {
		t.Run(row.groups+" "+row.resources, func(t *testing.T) {
			t.Parallel()
			row.cells(func(group, version, resource string) {
				c := configuration(webhook(rule(group, version, resource, "CREATE")))
				if changes := Remediate(Validating(c)); len(changes) == 0 {
					t.Fatalf("%s %s: nothing was changed", group, resource)
				}
				w := c.Webhooks[0]
				everywhere := row.object == "" && row.namespace == ""
				if ignored := *w.FailurePolicy == admissionregistrationv1.Ignore; ignored != everywhere {
					t.Errorf("%s %s: failurePolicy %s", group, resource, *w.FailurePolicy)
				}
				if diff := cmp.Diff(row.object, excluded(w.ObjectSelector)); diff != "" {
					t.Errorf("%s %s: objects (-want +got):\n%s", group, resource, diff)
				}
				if diff := cmp.Diff(row.namespace, excluded(w.NamespaceSelector)); diff != "" {
					t.Errorf("%s %s: namespaces (-want +got):\n%s", group, resource, diff)
				}
				if left := problem(w); left != "" {
					t.Errorf("%s %s is still problematic: %s", group, resource, left)
				}
			})
		})
	}
}

// TestLeaseSpecialList is the last row of docs/specification/care.md#spec-5-6: what a slow webhook may not hold up
// although it ignores failures, which is Leases of kube-system without labels.
func TestLeaseSpecialList(t *testing.T) {
	t.Parallel()
	in := func(labels ...string) *metav1.LabelSelector {
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{}}
		for _, label := range labels {
			key, value, _ := strings.Cut(label, "=")
			selector.MatchLabels[key] = value
		}
		return selector
	}
	listed := 0
	for _, on := range []string{"coordination.k8s.io/v1", "coordination.k8s.io/v1beta1"} {
		group, version, _ := strings.Cut(on, "/")
		for name, c := range map[string]struct {
			version           string
			scope             admissionregistrationv1.ScopeType
			object, namespace *metav1.LabelSelector
			want              bool
		}{
			"leases":                      {want: true},
			"leases, Namespaced":          {scope: "Namespaced", want: true},
			"leases, Cluster":             {scope: "Cluster"},
			"leases of another version":   {version: "v2"},
			"leases of kube-system":       {namespace: in(strings.Fields(labelsKubeSystem)...), want: true},
			"leases of another namespace": {namespace: in("kubernetes.io/metadata.name=default")},
			"leases without a label": {object: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "app", Operator: "DoesNotExist"}}}, want: true},
			"leases that have a label": {object: in("app=shop")},
			"leases but those of a purpose": {
				namespace: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "gardener.cloud/purpose",
					Operator: "NotIn", Values: []string{"kube-system"}}}}},
		} {
			t.Run(on+" "+name, func(t *testing.T) {
				t.Parallel()
				w := webhook(rule(group, version, "leases", "UPDATE"))
				if c.version != "" {
					w.Rules[0].APIVersions = []string{c.version}
				}
				w.FailurePolicy, w.TimeoutSeconds = ptr.To(admissionregistrationv1.Ignore), ptr.To[int32](4)
				w.ObjectSelector, w.NamespaceSelector = c.object, c.namespace
				if c.scope != "" {
					w.Rules[0].Scope = &c.scope
				}
				if got := problem(w); strings.HasSuffix(got, "leader election") != c.want || (got == "") == c.want {
					t.Errorf("problem %q, want one: %t", got, c.want)
				}
			})
		}
		listed++
	}
	if got := len(leaderElection); got != listed {
		t.Errorf("%d resources are on the list, the row has %d", got, listed)
	}
}

func excluded(selector *metav1.LabelSelector) string {
	var labels []string
	for _, e := range selector.MatchExpressions {
		if e.Operator != metav1.LabelSelectorOpNotIn || len(e.Values) != 1 {
			return fmt.Sprintf("unexpected requirement %v", e)
		}
		labels = append(labels, e.Key+"="+e.Values[0])
	}
	return strings.Join(labels, " ")
}

// TestSelectorsAndWildcards: which ways to write rules and selectors reach critical objects.
func TestSelectorsAndWildcards(t *testing.T) {
	t.Parallel()
	labels := func(labels map[string]string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: labels}
	}
	notIn := func(key, value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: "NotIn",
			Values: []string{value}}}}
	}
	for name, c := range map[string]struct {
		on                [3]string
		object, namespace *metav1.LabelSelector
		critical          bool
	}{
		"resource wildcard":              {on: [3]string{"", "v1", "*"}, critical: true},
		"everything wildcard":            {on: [3]string{"*", "*", "*/*"}, critical: true},
		"all subresources of a resource": {on: [3]string{"", "v1", "pods/*"}, critical: true},
		"a subresource of all resources": {on: [3]string{"", "v1", "*/status"}, critical: true},
		"a subresource that matters not": {on: [3]string{"", "v1", "*/binding"}},
		"status of deployments":          {on: [3]string{"apps", "v1", "deployments/status"}},
		"statefulsets":                   {on: [3]string{"apps", "v1", "statefulsets"}},
		"no selector at all":             {on: [3]string{"", "v1", "secrets"}, critical: true},
		"kube-system by its name": {on: [3]string{"", "v1", "secrets"},
			namespace: labels(map[string]string{"kubernetes.io/metadata.name": "kube-system"}), critical: true},
		"another namespace by name": {on: [3]string{"", "v1", "secrets"},
			namespace: labels(map[string]string{"kubernetes.io/metadata.name": "shop"})},
		"the recommended selector": {on: [3]string{"", "v1", "secrets"},
			namespace: notIn("gardener.cloud/purpose", "kube-system")},
		"default is still reached": {on: [3]string{"", "v1", "services"},
			namespace: notIn("gardener.cloud/purpose", "kube-system"), critical: true},
		"pods of the system are spared": {on: [3]string{"", "v1", "pods"}, object: notIn("origin", "gardener")},
		"an object selector on secrets": {on: [3]string{"", "v1", "secrets"},
			object: labels(map[string]string{"app": "x"}), critical: true},
		"nodes are in no namespace": {on: [3]string{"", "v1", "nodes"},
			namespace: labels(map[string]string{"x": "y"}), critical: true},
		"namespaces are chosen by their labels": {on: [3]string{"", "v1", "namespaces"},
			namespace: notIn("kubernetes.io/metadata.name", "kube-system")},
		"namespaces are objects too": {on: [3]string{"", "v1", "namespaces"},
			object: notIn("kubernetes.io/metadata.name", "kube-system")},
		"leases of any namespace": {on: [3]string{"coordination.k8s.io", "v1", "leases"},
			namespace: labels(map[string]string{"x": "y"}), critical: true},
		"a selector nobody understands, matched": {on: [3]string{"", "v1", "pods"},
			object:   &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Has"}}},
			critical: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := webhook(rule(c.on[0], c.on[1], c.on[2], "CREATE"))
			w.ObjectSelector, w.NamespaceSelector = c.object, c.namespace
			if got := problem(w); (got != "") != c.critical {
				t.Errorf("problem %q, want one: %t", got, c.critical)
			}
		})
	}
}
