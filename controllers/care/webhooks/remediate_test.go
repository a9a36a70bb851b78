package webhooks

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// TestRemediate: the table of docs/specification/care.md#spec-5-7, with rows 1 and 2 as
// docs/specification/versions.md#spec-4-11 has them.
func TestRemediate(t *testing.T) {
	t.Parallel()
	leases := rule("coordination.k8s.io", "v1", "leases", "UPDATE")
	for name, c := range map[string]struct {
		rules   []admissionregistrationv1.RuleWithOperations
		policy  admissionregistrationv1.FailurePolicyType
		timeout int32 // 0 is unset
		labels  map[string]string
		changes []string
		after   int32
	}{
		"1 leases": {
			rules: leases, policy: "Ignore", timeout: 10, after: 3,
			changes: []string{`timeoutSeconds of webhook "w.example.com" was set to 3`},
		},
		"1 and 2 slow leases, in one pass": {
			rules: leases, policy: "Ignore", timeout: 30, after: 3,
			changes: []string{`timeoutSeconds of webhook "w.example.com" was set to 3`},
		},
		"1 and 2 leases without a timeout, in one pass": {
			rules: leases, policy: "Ignore", after: 3,
			changes: []string{`timeoutSeconds of webhook "w.example.com" was set to 3`},
		},
		"2 slow, whatever the rules": {
			rules: rule("", "v1", "events", "CREATE"), policy: "Ignore", timeout: 16, after: 15,
			changes: []string{`timeoutSeconds of webhook "w.example.com" was set to 15`},
		},
		"2 no timeout": {
			rules: rule("", "v1", "events", "CREATE"), policy: "Fail", after: 15,
			changes: []string{`timeoutSeconds of webhook "w.example.com" was set to 15`},
		},
		"3 ignores": {rules: rule("", "v1", "nodes", "CREATE"), policy: "Ignore", timeout: 15, after: 15},
		"4 nodes": {
			rules: rule("", "v1", "nodes", "CREATE"), policy: "Fail", timeout: 5, after: 5,
			changes: []string{`failurePolicy of webhook "w.example.com" was set to Ignore`},
		},
		"4 and 1 leases that refuse": {
			rules: leases, policy: "Fail", timeout: 5, after: 3,
			changes: []string{`timeoutSeconds of webhook "w.example.com" was set to 3`,
				`failurePolicy of webhook "w.example.com" was set to Ignore`},
		},
		"5 secrets": {
			rules: rule("", "v1", "secrets", "CREATE"), policy: "Fail", timeout: 5, after: 5,
			changes: []string{`namespaceSelector of webhook "w.example.com" was extended with gardener.cloud/purpose NotIn ` +
				`(kube-system), kubernetes.io/metadata.name NotIn (kube-system), shoot.gardener.cloud/no-cleanup NotIn (true)`},
		},
		"5 labels of several rows once each": {
			rules: append(rule("", "v1", "secrets", "CREATE"), rule("", "v1", "configmaps", "*")...), policy: "Fail", timeout: 5,
			after: 5,
			changes: []string{`namespaceSelector of webhook "w.example.com" was extended with gardener.cloud/purpose NotIn ` +
				`(kube-system), kubernetes.io/metadata.name NotIn (kube-system), shoot.gardener.cloud/no-cleanup NotIn (true)`},
		},
		"not critical": {rules: rule("", "v1", "events", "CREATE"), policy: "Fail", timeout: 15, after: 15},
		"excluded": {rules: leases, policy: "Fail", timeout: 30, after: 30,
			labels: map[string]string{"remediation.webhook.shoot.gardener.cloud/exclude": "true"}},
		"of the landscape": {rules: leases, policy: "Fail", timeout: 30, after: 30,
			labels: map[string]string{"resources.gardener.cloud/managed-by": "gardener"}},
		"excluded in another spelling": {rules: leases, policy: "Ignore", timeout: 30, after: 3,
			labels:  map[string]string{"remediation.webhook.shoot.gardener.cloud/exclude": "yes"},
			changes: []string{`timeoutSeconds of webhook "w.example.com" was set to 3`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := webhook(c.rules)
			w.FailurePolicy, w.TimeoutSeconds = &c.policy, nil
			if c.timeout > 0 {
				w.TimeoutSeconds = &c.timeout
			}
			object := configuration(w)
			object.Labels = c.labels
			if diff := cmp.Diff(c.changes, Remediate(Validating(object))); diff != "" {
				t.Error(diff)
			}
			if got := *object.Webhooks[0].TimeoutSeconds; got != c.after {
				t.Errorf("timeout %d, want %d", got, c.after)
			}
			if warned := object.Annotations["gardener.cloud/warning"] != ""; warned != (len(c.changes) > 0) {
				t.Errorf("annotations %v after changes %v", object.Annotations, c.changes)
			}
			if again := Remediate(Validating(object)); len(again) > 0 {
				t.Errorf("a second pass changed %v", again)
			}
		})
	}
}

// TestRemediationKeepsWhatIsThere: selectors and annotations of the owner stay, in both kinds.
func TestRemediationKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	own := metav1.LabelSelectorRequirement{Key: "team", Operator: "In", Values: []string{"shop"}}
	object := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "c", Annotations: map[string]string{"mine": "kept"}},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "w", Rules: rule("", "v1", "pods", "CREATE"), TimeoutSeconds: ptr.To[int32](1),
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"origin": "gardener"}},
			NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "gardener.cloud/purpose", Operator: "Exists"}}},
		}, {
			Name: "v", Rules: rule("", "v1", "pods", "CREATE"), TimeoutSeconds: ptr.To[int32](1),
			NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{own}},
		}},
	}
	if changes := Remediate(Mutating(object)); len(changes) != 2 {
		t.Errorf("changes %v", changes)
	}
	w := object.Webhooks[0]
	if w.NamespaceSelector.MatchExpressions[0].Operator != "Exists" || len(w.NamespaceSelector.MatchExpressions) != 4 ||
		len(w.ObjectSelector.MatchExpressions) != 2 || w.ObjectSelector.MatchLabels["origin"] != "gardener" ||
		object.Annotations["mine"] != "kept" {
		t.Errorf("%+v, %+v, %v", w.NamespaceSelector, w.ObjectSelector, object.Annotations)
	}
	if diff := cmp.Diff(own, object.Webhooks[1].NamespaceSelector.MatchExpressions[0]); diff != "" ||
		len(object.Webhooks[1].NamespaceSelector.MatchExpressions) != 1 {
		t.Errorf("a webhook of another namespace was changed: %v", object.Webhooks[1].NamespaceSelector)
	}
}
