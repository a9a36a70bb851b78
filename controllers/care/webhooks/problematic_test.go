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

// TestProblematic: the table of docs/specification/care.md#spec-5-5, policy by policy and timeout by timeout.
func TestProblematic(t *testing.T) {
	t.Parallel()
	fail, ignore := ptr.To(admissionregistrationv1.Fail), ptr.To(admissionregistrationv1.Ignore)
	pods, events := rule("", "v1", "pods", "CREATE"), rule("", "v1", "events", "CREATE")
	leases := rule("coordination.k8s.io", "v1", "leases", "UPDATE")
	const refuses, slow, elects = "it may refuse ", "it may hold up v1/pods for longer than 15 s",
		"it may hold up coordination.k8s.io/v1/leases in kube-system for longer than 3 s"
	for name, c := range map[string]struct {
		rules   []admissionregistrationv1.RuleWithOperations
		policy  *admissionregistrationv1.FailurePolicyType
		timeout int32 // 0 is unset
		spared  bool  // no objects of kube-system
		want    string
	}{
		"1 leases, slow, whatever the policy":      {rules: leases, policy: ignore, timeout: 4, want: elects},
		"1 leases without a timeout":               {rules: leases, policy: ignore, want: elects},
		"1 leases, quick enough":                   {rules: leases, policy: ignore, timeout: 3},
		"1 leases, quick enough, but refusing":     {rules: leases, policy: fail, timeout: 3, want: refuses},
		"1 leases of other namespaces":             {rules: leases, policy: ignore, timeout: 15, spared: true},
		"1 leases of other namespaces, refusing":   {rules: leases, policy: fail, timeout: 1, spared: true, want: refuses},
		"2 ignores and is quick":                   {rules: pods, policy: ignore, timeout: 15},
		"2 ignores and is slow":                    {rules: pods, policy: ignore, timeout: 16, want: slow},
		"2 ignores and has no timeout":             {rules: pods, policy: ignore, want: slow},
		"3 refuses critical resources":             {rules: pods, policy: fail, timeout: 1, want: refuses},
		"3 has no policy, which refuses":           {rules: pods, timeout: 1, want: refuses},
		"4 refuses what is not critical":           {rules: events, policy: fail, timeout: 30},
		"4 ignores what is not critical":           {rules: events, policy: ignore},
		"4 refuses pods of other namespaces alone": {rules: pods, policy: fail, timeout: 30, spared: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := webhook(c.rules)
			w.FailurePolicy, w.TimeoutSeconds = c.policy, nil
			if c.timeout > 0 {
				w.TimeoutSeconds = &c.timeout
			}
			if c.spared {
				w.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "shop"}}
			}
			if got := problem(w); !strings.HasPrefix(got, c.want) || (c.want == "") != (got == "") {
				t.Errorf("%q, want %q…", got, c.want)
			}
		})
	}
}

func mutating(name string, problematic bool) Configuration {
	resource := "events"
	if problematic {
		resource = "nodes"
	}
	w := webhook(rule("", "v1", resource, "CREATE"))
	return Mutating(&admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: w.Name, Rules: w.Rules, FailurePolicy: w.FailurePolicy, TimeoutSeconds: w.TimeoutSeconds,
		}},
	})
}

func validating(name string, problematic bool, labels map[string]string) Configuration {
	c := configuration(webhook(rule("", "v1", map[bool]string{true: "nodes", false: "events"}[problematic], "CREATE")))
	c.Name, c.Labels = name, labels
	return Validating(c)
}

func warned(c Configuration) Configuration {
	metav1.SetMetaDataAnnotation(c.meta, "gardener.cloud/warning", "changed")
	return c
}

// TestJudge: the first problem decides, validating before mutating and then by name.
func TestJudge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in           []Configuration
		reason, says string
	}{
		"nothing": {reason: "NoProblematicWebhooks", says: "All webhooks are properly configured."},
		"fine": {in: []Configuration{mutating("a", false), validating("b", false, nil)},
			reason: "NoProblematicWebhooks", says: "All"},
		"validating first": {in: []Configuration{mutating("a", true), validating("b", true, nil)},
			reason: "ProblematicWebhooks",
			says: `ValidatingWebhookConfiguration "b" is problematic: webhook "w.example.com" with failurePolicy "Fail" ` +
				`and 3s timeout might prevent worker nodes from properly joining the shoot cluster`},
		"then by name": {in: []Configuration{validating("z", true, nil), validating("y", true, nil)},
			reason: "ProblematicWebhooks", says: `ValidatingWebhookConfiguration "y"`},
		"mutating": {in: []Configuration{mutating("a", true), validating("b", false, nil)},
			reason: "ProblematicWebhooks", says: `MutatingWebhookConfiguration "a"`},
		"remediated before": {in: []Configuration{warned(validating("a", false, nil)), validating("b", true, nil)},
			reason: "RemediatedWebhooks", says: `ValidatingWebhookConfiguration "a" was problematic and has been remediated`},
		"remediated in vain": {in: []Configuration{warned(validating("a", true, nil))}, reason: "ProblematicWebhooks",
			says: `ValidatingWebhookConfiguration "a" is problematic`},
		"of the landscape": {in: []Configuration{validating("a", true,
			map[string]string{"resources.gardener.cloud/managed-by": "gardener"})}, reason: "NoProblematicWebhooks"},
		"of somebody's": {in: []Configuration{validating("a", true,
			map[string]string{"resources.gardener.cloud/managed-by": "me"})}, reason: "ProblematicWebhooks"},
		"the resource manager": {in: []Configuration{validating("a", true,
			map[string]string{"app": "gardener-resource-manager"})}, reason: "NoProblematicWebhooks"},
		"excluded from remediation only": {
			in: []Configuration{validating("a", true,
				map[string]string{"remediation.webhook.shoot.gardener.cloud/exclude": "true"})}, reason: "ProblematicWebhooks",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verdict := Judge(c.in)
			if verdict.Reason != c.reason || !strings.HasPrefix(verdict.Message, c.says) {
				t.Errorf("%s: %s", verdict.Reason, verdict.Message)
			}
			status, codes := "False", "[ERR_PROBLEMATIC_WEBHOOK]"
			if c.reason == "NoProblematicWebhooks" {
				status, codes = "True", "[]"
			}
			if diff := cmp.Diff([]string{status, codes},
				[]string{string(verdict.Status), fmt.Sprint(verdict.Codes)}); diff != "" {
				t.Error(diff)
			}
		})
	}
}
