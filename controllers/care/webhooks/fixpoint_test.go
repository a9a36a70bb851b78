package webhooks

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// TestOracleRemediationIsAFixPoint takes the configurations of the known cases, and more of each with every timeout and
// policy: after one pass no webhook is problematic, and another pass changes nothing
// (docs/specification/care.md#care-4).
func TestOracleRemediationIsAFixPoint(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/webhooks.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	tried, changed := 0, 0
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var known struct {
			In struct {
				ID         string
				Validating []admissionregistrationv1.ValidatingWebhookConfiguration
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &known); err != nil {
			t.Fatal(err)
		}
		for _, c := range known.In.Validating {
			for _, policy := range []admissionregistrationv1.FailurePolicyType{"", "Fail", "Ignore"} {
				for _, timeout := range []int32{0, 1, 3, 4, 15, 16, 30} {
					tried++
					if pass(t, known.In.ID, c.DeepCopy(), policy, timeout) {
						changed++
					}
				}
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if tried < 1000 || changed < tried/4 {
		t.Errorf("%d configurations were tried and %d changed", tried, changed)
	}
}

// pass sets all webhooks of a configuration to a policy and a timeout, "" and 0 for none, and says whether remediation
// changed it.
func pass(t *testing.T, id string, c *admissionregistrationv1.ValidatingWebhookConfiguration,
	policy admissionregistrationv1.FailurePolicyType, timeout int32) bool {
	t.Helper()
	c.Labels = nil
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		w.FailurePolicy, w.TimeoutSeconds = nil, nil
		if policy != "" {
			w.FailurePolicy = &policy
		}
		if timeout != 0 {
			w.TimeoutSeconds = &timeout
		}
	}
	before := c.DeepCopy()
	changes := Remediate(Validating(c))
	for i, w := range Validating(c).Webhooks {
		if problem := w.Problem(); problem != "" {
			t.Errorf("%s, %s %d s: %s of %v is still problematic: %s", id, policy, timeout, w.Name, c.Webhooks[i], problem)
		}
		if was := Validating(before).Webhooks[i].Problem(); was != "" && len(changes) == 0 {
			t.Errorf("%s, %s %d s: %s was problematic, and nothing was changed", id, policy, timeout, w.Name)
		}
	}
	if again := Remediate(Validating(c)); len(again) > 0 {
		t.Errorf("%s, %s %d s: a second pass changed %v", id, policy, timeout, again)
	}
	return len(changes) > 0
}
