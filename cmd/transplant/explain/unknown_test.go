package explain

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// speak runs `explain` and gives what it says on standard output and on standard error, without the folder of files.
func speak(t *testing.T, stdin string, args []string) (out, warned string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command := NewCommand()
	command.SilenceErrors = true
	command.SetArgs(args)
	command.SetIn(strings.NewReader(stdin))
	command.SetOut(&stdout)
	command.SetErr(&stderr)
	err = command.Execute()
	return stdout.String(), withoutFolder(stderr.String(), args), err
}

const pools = `apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: {name: s, managedFields: [{fieldsV1: {"f:spec": {}}}]}
spec:
  kubernetes: {version: 1.34.3}
  provider:
    infrastructureConfig: {anything: goes}
    workers:
    - name: a
`

// TestExplain_UnknownFields_WarnsOnStandardError: the answer stays as it is without them, and standard output has
// nothing else.
func TestExplain_UnknownFields_WarnsOnStandardError(t *testing.T) {
	t.Parallel()
	contents := map[string]string{
		"plain.yaml": pools, "misspelt.yaml": pools + "      volumee: {size: 20Gi}\n",
		"case.yaml": pools + "      Machine: {type: large}\n      madeUpField: 1\n    - name: b\n      Machine: {}\n",
		"json.yaml": `{"kind": "Shoot",` + "\n" +
			`"spec": {"kubernetes": {"version": "1.34.3"}, "provider": {"workers": [{"name": "a"}]}}, "statuss": {}}`,
		"webhooks.yaml": "kind: List\nitems:\n- {kind: ValidatingWebhookConfiguration, metadata: {name: v}, webhooks: " +
			"[{name: w, failurePolciy: Fail}, {name: x, failurePolciy: Fail}]}\n",
		"pods.yaml": "# nothing\n---\nkind: Pod\nmetadata: {name: p, finalizer: [x]}\nspec: {containers: []}\n",
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"all are known": {[]string{"rollout", "--old", "plain.yaml", "--new", "plain.yaml"}, ""},
		"misspelt": {
			[]string{"rollout", "--old", "plain.yaml", "--new", "misspelt.yaml"},
			`warning: misspelt.yaml:10: field spec.provider.workers[0].volumee is not known here and was ignored; did you ` +
				`mean "volume"?` + "\n",
		},
		"another case, and one that nobody knows; each is printed once": {
			[]string{"rollout", "--old", "plain.yaml", "--new", "case.yaml", "-o", "json"},
			`warning: case.yaml:10: field spec.provider.workers[0].Machine is not known here and was ignored; did you mean ` +
				`"machine"?` + "\n" +
				"warning: case.yaml:11: field spec.provider.workers[0].madeUpField is not known here and was ignored\n",
		},
		"in JSON": {
			[]string{"rollout", "--old", "plain.yaml", "--new", "json.yaml"},
			`warning: json.yaml:2: field statuss is not known here and was ignored; did you mean "status"?` + "\n",
		},
		"in a list": {
			[]string{"webhooks", "--file", "webhooks.yaml"},
			`warning: document 1 of webhooks.yaml, ValidatingWebhookConfiguration: field webhooks[0].failurePolciy is not ` +
				`known here and was ignored; did you mean "failurePolicy"?` + "\n",
		},
		"of objects whose metadata alone counts": {
			[]string{"cleanup", "--shoot", "plain.yaml", "--objects", "pods.yaml"},
			`warning: document 2 of pods.yaml, Pod: field metadata.finalizer is not known here and was ignored; did you mean ` +
				`"finalizers"?` + "\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, warned, err := speak(t, "", files(t, contents, c.args...))
			if err != nil || strings.Contains(out, "warning") {
				t.Errorf("%v: %s", err, out)
			}
			if diff := cmp.Diff(c.want, warned); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestExplainJSONL_UnknownFields_WarnsPerLine, but not those that askers write for themselves.
func TestExplainJSONL_UnknownFields_WarnsPerLine(t *testing.T) {
	t.Parallel()
	out, warned, err := speak(t, `{"id":1,"code":["x"]}
{"id":2,"codes":null,"note":"mine","changes":[],"apiserverDefaulted":false}
{"id":3,"codes":["ERR_INFRA_QUOTA_EXCEEDED"],"code":[]}
{"id":4,"Codes":["ERR_INFRA_QUOTA_EXCEEDED"],"messages":[]}
`, []string{"errors", "--jsonl"})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":1,"error":"field codes or messages is not set: \"code\" is not known here; did you mean \"codes\"?"}
{"id":2,"nonRetryable":false}
{"id":3,"nonRetryable":true,`
	if !strings.HasPrefix(out, want) || !strings.HasSuffix(out, "\n{\"id\":4,\"nonRetryable\":false}\n") {
		t.Errorf("answers %s", out)
	}
	want = `warning: line 1 of standard input: field code is not known here and was ignored; did you mean "codes"?
warning: line 4 of standard input: field Codes is not known here and was ignored; did you mean "codes"?
`
	if diff := cmp.Diff(want, warned); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// TestWarningsEnd: who does not read them is not blocked by them.
func TestWarningsEnd(t *testing.T) {
	t.Parallel()
	var questions strings.Builder
	for n := range 100 {
		fmt.Fprintf(&questions, `{"codes":[],"field%d":1}`+"\n", n)
	}
	_, warned, err := speak(t, questions.String(), []string{"errors", "--jsonl"})
	if lines := strings.Count(warned, "\n"); err != nil || lines != 21 || !strings.HasSuffix(warned,
		"warning: there are more fields that are not known here and were ignored\n") {
		t.Errorf("%v, %d lines: %s", err, lines, warned)
	}
}

// TestSamplesAreAnswered: what --help shows works, without warnings.
func TestSamplesAreAnswered(t *testing.T) {
	t.Parallel()
	asked := 0
	for _, topic := range topics() {
		_, sample, found := strings.Cut(topic.Example, "echo '")
		if topic.Flags().Lookup("jsonl") == nil {
			continue
		}
		asked++
		question, _, ended := strings.Cut(sample, "' | transplant explain "+topic.Name()+" --jsonl")
		out, warned, err := speak(t, question, []string{topic.Name(), "--jsonl"})
		if !found || !ended || err != nil || warned != "" || strings.Contains(out, `"error"`) || !strings.HasPrefix(out,
			`{"id":1,`) {
			t.Errorf("%s: sample %q: %v, %s%s", topic.Name(), question, err, out, warned)
		}
	}
	if asked != 7 {
		t.Errorf("%d topics have lines, want 7", asked)
	}
}

// TestNoOperationHasAReason: of the two there are, the one that holds.
func TestNoOperationHasAReason(t *testing.T) {
	t.Parallel()
	contents := map[string]string{
		"none.yaml":    pools,
		"failed.yaml":  pools + "status: {lastOperation: {type: Reconcile, state: Failed}}\n",
		"profile.yaml": "kind: CloudProfile\nmetadata: {name: c}\n",
	}
	for file, want := range map[string]string{
		"none.yaml": "No operation is asked for: the shoot has had none yet (field status.lastOperation is not set).\n",
		"failed.yaml": "No operation is asked for: the shoot's last one has failed (field status.lastOperation.state), " +
			"and no annotation says to retry it.\n",
	} {
		out, warned, err := speak(t, "", files(t, contents, "maintenance", "--shoot", file, "--cloudprofile", "profile.yaml"))
		if err != nil || warned != "" || !strings.Contains(out, want) {
			t.Errorf("%s: %v %s%s", file, err, warned, out)
		}
	}
}
