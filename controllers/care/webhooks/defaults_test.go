package webhooks_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/controllers/care/webhooks"
	"github.com/transplant-sim/transplant/controllers/maintenance/oracletest"
)

// written are configurations as their authors write them, from the least that an API server takes to what leaves
// nothing to be filled in.
var written = map[string]string{
	"least": `
- {name: a.example.com, admissionReviewVersions: [v1], sideEffects: None,
   clientConfig: {url: "https://example.com/a"}}`,
	"a service and rules": `
- name: a.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: s, namespace: n}}
  rules:
  - {operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}
  - {operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [nodes], scope: Cluster}
- name: b.example.com
  admissionReviewVersions: [v1]
  sideEffects: NoneOnDryRun
  clientConfig: {service: {name: s, namespace: n, port: 8443, path: /b}}
  matchConditions: [{name: m, expression: "true"}]`,
	"all": `
- name: a.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  matchPolicy: Exact
  timeoutSeconds: 30
  namespaceSelector: {matchLabels: {a: b}}
  objectSelector: {matchLabels: {c: d}}
  clientConfig: {url: "https://example.com/a"}`,
}

// TestSetDefaults_Written_AsAPIServerDoes compares with a stock API server.
func TestSetDefaults_Written_AsAPIServerDoes(t *testing.T) {
	t.Parallel()
	config := apiservertest.Start(t, apiservertest.Options{})
	server, err := client.New(config, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range written {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			validating, mutating := &admissionregistrationv1.ValidatingWebhookConfiguration{},
				&admissionregistrationv1.MutatingWebhookConfiguration{}
			if err := errors.Join(yaml.Unmarshal([]byte(text), &validating.Webhooks),
				yaml.Unmarshal([]byte(text), &mutating.Webhooks)); err != nil {
				t.Fatal(err)
			}
			validating.GenerateName, mutating.GenerateName = "w-", "w-"
			ours, oursToo := validating.DeepCopy(), mutating.DeepCopy()
			webhooks.SetValidatingDefaults(ours)
			webhooks.SetMutatingDefaults(oursToo)
			if err := errors.Join(server.Create(t.Context(), validating, client.DryRunAll),
				server.Create(t.Context(), mutating, client.DryRunAll)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(validating.Webhooks, ours.Webhooks) + cmp.Diff(mutating.Webhooks, oursToo.Webhooks); diff != "" {
				t.Errorf("(-API server +ours):\n%s", diff)
			}
		})
	}
}

// TestOracleDefaults: the configurations of known cases that an API server has defaulted stay as they are.
func TestOracleDefaults(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, c := range oracletest.Read[json.RawMessage, any](t, "testdata/webhooks.jsonl.gz") {
		var question struct {
			ID         string                                                   `json:"id"`
			Defaulted  bool                                                     `json:"apiserverDefaulted"`
			Validating []admissionregistrationv1.ValidatingWebhookConfiguration `json:"validating"`
			Mutating   []admissionregistrationv1.MutatingWebhookConfiguration   `json:"mutating"`
		}
		if err := json.Unmarshal(c.In, &question); err != nil {
			t.Fatal(err)
		}
		if !question.Defaulted {
			continue
		}
		seen++
		diff := ""
		for i := range question.Validating {
			before := question.Validating[i].DeepCopy()
			webhooks.SetValidatingDefaults(&question.Validating[i])
			diff += cmp.Diff(before, &question.Validating[i])
		}
		for i := range question.Mutating {
			before := question.Mutating[i].DeepCopy()
			webhooks.SetMutatingDefaults(&question.Mutating[i])
			diff += cmp.Diff(before, &question.Mutating[i])
		}
		if diff != "" {
			t.Errorf("%s (-before +after):\n%s", question.ID, diff)
		}
	}
	if seen < 100 {
		t.Errorf("only %d cases", seen)
	}
}
