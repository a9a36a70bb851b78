package explain

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// files writes files into a folder, and gives arguments in which the names stand for the paths.
func files(t *testing.T, contents map[string]string, args ...string) []string {
	t.Helper()
	folder := t.TempDir()
	for i, arg := range args {
		if content, found := contents[arg]; found {
			args[i] = filepath.Join(folder, arg)
			if err := os.WriteFile(args[i], []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return args
}

// run runs `explain` with arguments and gives what it prints, or its error without the folder of the files.
func run(t *testing.T, stdin string, args []string) string {
	t.Helper()
	var out bytes.Buffer
	command := NewCommand()
	command.SilenceErrors = true
	command.SetArgs(args)
	command.SetIn(strings.NewReader(stdin))
	command.SetOut(&out)
	if err := command.Execute(); err != nil {
		return "error: " + withoutFolder(err.Error(), args)
	}
	return out.String()
}

func withoutFolder(text string, args []string) string {
	for _, arg := range args {
		if filepath.IsAbs(arg) {
			text = strings.ReplaceAll(text, filepath.Dir(arg)+string(filepath.Separator), "")
		}
	}
	return text
}

const (
	webhookFile = `# two kinds
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: policy}
webhooks:
- name: pods.example.com
  failurePolicy: Fail
  timeoutSeconds: 10
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [secrets]}]
- name: events.example.com
  timeoutSeconds: 10
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [events]}]
---
# nothing but a comment
---
apiVersion: v1
kind: List
items:
- apiVersion: admissionregistration.k8s.io/v1
  kind: MutatingWebhookConfiguration
  metadata: {name: injector}
`
	shootFile = `apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata:
  name: s
  annotations: {shoot.gardener.cloud/cleanup-kubernetes-resources-finalize-grace-period-seconds: "60"}
spec: {tolerations: [{key: gpu}]}
status:
  conditions: [{type: EveryNodeReady, status: "False"}]
  lastOperation: {type: Reconcile, state: Error}
  retryCycleStartTime: "2026-11-21T10:00:00Z"
  lastErrors: [{description: no capacity, codes: [ERR_INFRA_RESOURCES_DEPLETED]}]
`
	seedFile = "apiVersion: core.gardener.cloud/v1beta1\nkind: Seed\nmetadata: {name: a}\nspec: {taints: [{key: " +
		"gpu}, {key: team, value: x}]}\n"
	projectFile = "apiVersion: core.gardener.cloud/v1beta1\nkind: Project\nmetadata: {name: p}\nspec: {tolerations: " +
		"{defaults: [{key: team}], whitelist: [{key: team}]}}\n"
	configFile = "apiVersion: shoottolerationrestriction.admission.gardener.cloud/v1alpha1\nkind: " +
		"Configuration\nwhitelist: [{key: gpu}]\n"
	objectsFile = `{"apiVersion":"v1","kind":"List","items":[
	{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}},
	{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"gone","name":"p","creationTimestamp":"2026-11-20T12:00:00Z"}},
	{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"namespace":"shop","name":"data",
		"creationTimestamp":"2026-11-20T12:00:00Z","deletionTimestamp":"2026-11-21T11:58:00Z",
		"finalizers":["kubernetes.io/pvc-protection"]}},
	{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"shop","name":"web",
		"creationTimestamp":"2026-11-20T12:00:00Z","deletionTimestamp":"2026-11-21T11:59:30Z",
		"finalizers":["service.kubernetes.io/load-balancer-cleanup"]}},
	{"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshot","metadata":{"namespace":"shop","name":"backup",
		"creationTimestamp":"2026-11-20T12:00:00Z"}}]}`
)

var allFiles = map[string]string{
	"webhooks.yaml": webhookFile, "shoot.yaml": shootFile, "seed.yaml": seedFile, "project.yaml": projectFile,
	"config.yaml": configFile, "objects.json": objectsFile,
	"broken.yaml": "a: [", "list.yaml": "[1]", "nothing.yaml": "# nothing\n", "nokind.yaml": "metadata: {name: x}\n",
	"noname.yaml": "apiVersion: v1\nkind: Pod\n",
	"annotated.yaml": "kind: Shoot\nmetadata: {annotations: " +
		"{shoot.gardener.cloud/cleanup-webhooks-finalize-grace-period-seconds: 5m}}\n",
	"newcode.yaml": "kind: Shoot\nstatus: {lastErrors: [{description: odd, codes: [ERR_NEW]}]}\n",
	"fine.yaml":    "kind: Shoot\nmetadata: {name: s}\n",
}

// TestForPeople: what the topics about care say, in text.
func TestForPeople(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, stdin string
		args        []string
		want        string
	}{
		{
			name: "webhooks", args: []string{"webhooks", "--file", "webhooks.yaml"},
			want: `ValidatingWebhookConfiguration policy
  webhook pods.example.com is problematic: it may refuse v1/secrets while its server is away
  webhook events.example.com is fine
  remediation: namespaceSelector of webhook "pods.example.com" would be extended with ` +
				`gardener.cloud/purpose NotIn (kube-system), kubernetes.io/metadata.name NotIn (kube-system), ` +
				`shoot.gardener.cloud/no-cleanup NotIn (true)
MutatingWebhookConfiguration injector
Constraints HibernationPossible and MaintenancePreconditionsSatisfied: False (ProblematicWebhooks)
  ValidatingWebhookConfiguration "policy" is problematic: ` +
				`webhook "pods.example.com" with failurePolicy "Fail" and 10s timeout ` +
				`might prevent worker nodes from properly joining the shoot cluster: ` +
				`it may refuse v1/secrets while its server is away.
`,
		},
		{
			name: "webhooks from standard input", stdin: "# none\n", args: []string{"webhooks", "--file", "-"},
			want: `Constraints HibernationPossible and MaintenancePreconditionsSatisfied: True (NoProblematicWebhooks)
  All webhooks are properly configured.
`,
		},
		{
			name: "status", args: []string{"status", "--shoot", "shoot.yaml"},
			want: `Label shoot.gardener.cloud/status=unhealthy
  because the last operation is Error
`,
		},
		{
			name: "errors: codes", args: []string{"errors", "--code", "ERR_INFRA_QUOTA_EXCEEDED"},
			want: `ERR_INFRA_QUOTA_EXCEEDED: a quota of the cloud account is used up; the operation is not retried
  remedy: raise the quota, or use less
`,
		},
		{
			name: "errors: a shoot's code that nobody knows",
			args: []string{"errors", "--shoot", "newcode.yaml", "--now", "2026-11-21T12:00:00Z"},
			want: `ERR_NEW is unknown: the operation is retried
The operation is Error, because no code forbids it to be retried
`,
		},
		{
			name: "errors: messages",
			args: []string{"errors", "--message", "connection refused, twice", "--message", "out of stock"},
			want: `"connection refused, twice" deserves no code: the operation is retried
ERR_INFRA_RESOURCES_DEPLETED: the cloud has no capacity left; the operation is retried
  remedy: choose another machine type or zone if it lasts
`,
		},
		{
			name: "errors: a shoot",
			args: []string{"errors", "--shoot", "shoot.yaml", "--now", "2026-11-21T12:00:00Z"},
			want: `ERR_INFRA_RESOURCES_DEPLETED: the cloud has no capacity left; the operation is retried
  remedy: choose another machine type or zone if it lasts
The operation is Error, because no code forbids it to be retried
  it is retried until 2026-11-21 22:00:00 UTC
`,
		},
		{
			name: "errors: a shoot, too late",
			args: []string{"errors", "--shoot", "shoot.yaml", "--now", "2026-11-21T12:00:00Z", "--retry-duration", "1h"},
			want: `ERR_INFRA_RESOURCES_DEPLETED: the cloud has no capacity left; the operation is retried
  remedy: choose another machine type or zone if it lasts
The operation is Failed, because it has been retried since 2026-11-21T10:00:00Z, for longer than 1h0m0s
`,
		},
		{
			name: "tolerations: seed",
			args: []string{"tolerations", "--shoot", "shoot.yaml", "--seed", "seed.yaml"},
			want: `The shoot may not be on the seed.
  no toleration for taint team=x
`,
		},
		{
			name: "tolerations: create",
			args: []string{"tolerations", "--shoot", "shoot.yaml", "--project", "project.yaml"},
			want: `CREATE is refused.
  spec.tolerations[0]: Invalid value: "gpu": is not in the whitelist of the project or the landscape, which allows: team
  added by default: team
`,
		},
		{
			name: "tolerations: update",
			args: []string{"tolerations", "--shoot", "shoot.yaml", "--old-shoot", "fine.yaml",
				"--admission-config", "config.yaml"},
			want: `UPDATE is allowed with these tolerations.
`,
		},
		{
			name: "cleanup",
			args: []string{"cleanup", "--shoot", "shoot.yaml", "--objects", "objects.json", "--now",
				"2026-11-21T12:00:00Z", "--start", "2026-11-21T11:00:00Z"},
			want: `Step 1, webhooks: done (grace 5m0s, finalizers are removed after 5m0s)
Step 2, extended APIs: done (grace 5m0s, finalizers are removed after 1h0m0s)
Step 3, kubernetes resources: at work (grace 1m0s, finalizers are removed after 1m0s)
  delete   Pod gone/p: it is to go, within 1m0s; not waited for: its namespace is gone
  wait     Service shop/web: it was deleted at 2026-11-21T11:59:30Z, ` +
				`and finalizers are left until 2026-11-21T12:00:30Z: service.kubernetes.io/load-balancer-cleanup
  finalize PersistentVolumeClaim shop/data: it was deleted at 2026-11-21T11:58:00Z, ` +
				`and finalizers are left: kubernetes.io/pvc-protection
Step 4, volume snapshots: not begun (grace 5m0s, finalizers are removed after 1h0m0s)
  queue    VolumeSnapshot shop/backup: waits until step 3, kubernetes resources, is done
keep Namespace shop: objects of this kind are not cleaned up: they go with the cluster
Step 3 of the clean-up, kubernetes resources, is not done: objects are still present: ` +
				`Service shop/web (finalizers service.kubernetes.io/load-balancer-cleanup), ` +
				`PersistentVolumeClaim shop/data (finalizers kubernetes.io/pvc-protection). ` +
				`(ERR_CLEANUP_CLUSTER_RESOURCES)
`,
		},
		{
			name: "cleanup: nothing left",
			args: []string{"cleanup", "--shoot", "fine.yaml", "--objects", "nothing.yaml"},
			want: `Step 1, webhooks: done (grace 5m0s, finalizers are removed after 5m0s)
Step 2, extended APIs: done (grace 5m0s, finalizers are removed after 1h0m0s)
Step 3, kubernetes resources: done (grace 5m0s, finalizers are removed after 5m0s)
Step 4, volume snapshots: done (grace 5m0s, finalizers are removed after 1h0m0s)
Nothing holds the deletion up.
`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, run(t, c.stdin, files(t, allFiles, c.args...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestForPeopleJSON: the same answers for their programs.
func TestForPeopleJSON(t *testing.T) {
	t.Parallel()
	for topic, c := range map[string]struct {
		args []string
		want string
	}{
		"webhooks": {[]string{"--file", "webhooks.yaml"}, `{"MutatingWebhookConfiguration/injector":null}`},
		"status":   {[]string{"--shoot", "shoot.yaml"}, `{"value":"unhealthy"}`},
		"errors":   {[]string{"--shoot", "shoot.yaml", "--now", "2026-11-21T12:00:00Z"}, `{"nonRetryable":false}`},
		"tolerations": {[]string{"--shoot", "shoot.yaml", "--seed", "seed.yaml", "--admission-config", "config.yaml"},
			`{"tolerated":false,"allowed":true}`},
		"cleanup": {[]string{"--shoot", "shoot.yaml", "--objects", "objects.json", "--now", "2026-11-21T12:00:00Z"},
			`{"step":"kubernetes resources","codes":["ERR_CLEANUP_CLUSTER_RESOURCES"]}`},
	} {
		t.Run(topic, func(t *testing.T) {
			t.Parallel()
			var got, want map[string]any
			text := run(t, "", files(t, allFiles, append([]string{topic, "-o", "json"}, c.args...)...))
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if topic == "webhooks" {
				if problematic := got["problematic"].(map[string]any); len(problematic) != 2 ||
					problematic["ValidatingWebhookConfiguration/policy/pods.example.com"] != true {
					t.Errorf("%v", problematic)
				}
				return
			}
			for field, value := range want {
				if diff := cmp.Diff(value, got[field]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", field, diff)
				}
			}
		})
	}
}

// TestWhatCannotBeAnswered: errors name the file, the field and the remedy.
func TestWhatCannotBeAnswered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"webhooks"}, "set --file, or --jsonl to answer questions from standard input"},
		{[]string{"webhooks", "--file", "shoot.yaml"},
			`read document 1 of shoot.yaml: field kind is "Shoot": give ValidatingWebhookConfigurations and ` +
				`MutatingWebhookConfigurations only`},
		{[]string{"webhooks", "--file", "broken.yaml"}, "read document 1 of broken.yaml: it is neither YAML nor JSON:"},
		{[]string{"webhooks", "--file", "list.yaml"}, "read document 1 of list.yaml: expected an object with a kind"},
		{[]string{"webhooks", "--file", "nokind.yaml"},
			"read document 1 of nokind.yaml: field kind is not set: give objects as the API server has them"},
		{[]string{"webhooks", "--file", "/nowhere.yaml"},
			"read the objects (--file): open /nowhere.yaml: no such file or directory"},
		{[]string{"webhooks", "--file", "webhooks.yaml", "-o", "xml"},
			`invalid argument "xml" for "-o, --output" flag: must be one of text, json, yaml`},
		{[]string{"status"}, "set --shoot, or --jsonl to answer questions from standard input"},
		{[]string{"status", "--shoot", "seed.yaml"},
			`read the Shoot in seed.yaml: field kind is "Seed": give the file of a Shoot with --shoot`},
		{[]string{"errors"}, "set --code, --message or --shoot, or --jsonl to answer questions from standard input"},
		{[]string{"errors", "--code", "ERR_INFRA_QOUTA_EXCEEDED"},
			`read --code: "ERR_INFRA_QOUTA_EXCEEDED" is no error code: did you mean ERR_INFRA_QUOTA_EXCEEDED? known are ` +
				`ERR_INFRA_UNAUTHENTICATED, `},
		{[]string{"errors", "--code", "ERR_BLA"},
			`read --code: "ERR_BLA" is no error code: known are ERR_INFRA_UNAUTHENTICATED, `},
		{[]string{"errors", "--shoot", "fine.yaml"},
			"read the Shoot in fine.yaml: field status.lastErrors is empty: there is nothing to explain"},
		{[]string{"errors", "--shoot", "shoot.yaml", "--now", "soon"},
			`read --now: "soon" is no time of the form 2026-11-21T12:00:00Z`},
		{[]string{"errors", "--shoot", "shoot.yaml", "--retry-duration", "0"},
			"read --retry-duration: give a duration above zero, for example 12h"},
		{[]string{"tolerations", "--shoot", "shoot.yaml"},
			"set --seed, --project or --admission-config, or --jsonl to answer questions from standard input"},
		{[]string{"tolerations", "--shoot", "shoot.yaml", "--seed", "project.yaml"},
			`read the Seed in project.yaml: field kind is "Project": give the file of a Seed with --seed`},
		{[]string{"cleanup", "--objects", "objects.json"}, "set --shoot"},
		{[]string{"cleanup", "--shoot", "shoot.yaml"}, "set --objects"},
		{[]string{"cleanup", "--shoot", "shoot.yaml", "--objects", "noname.yaml"},
			"read document 1 of noname.yaml: field metadata.name of a Pod is not set: give objects as the API server has them"},
		{[]string{"cleanup", "--shoot", "shoot.yaml", "--objects", "objects.json", "--start", "noon"},
			`read --start: "noon" is no time of the form 2026-11-21T12:00:00Z`},
		{[]string{"cleanup", "--shoot", "annotated.yaml", "--objects", "objects.json"},
			`read the Shoot in annotated.yaml: read annotation ` +
				`shoot.gardener.cloud/cleanup-webhooks-finalize-grace-period-seconds: "5m" is no number of seconds: write one ` +
				`such as "300", or "0" for at once`},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			if got := run(t, "", files(t, allFiles, c.args...)); !strings.HasPrefix(got, "error: "+c.want) {
				t.Errorf("%q, want the error %q", got, c.want)
			}
		})
	}
}

// TestCareQuestionsThatCannotBeJudged are answered by errors, line by line.
func TestCareQuestionsThatCannotBeJudged(t *testing.T) {
	t.Parallel()
	for topic, c := range map[string]struct{ in, want string }{
		"webhooks": {`{"id":1,"validating":[{"webhooks":[]}]}`,
			`{"id":1,"error":"field metadata.name of configuration 1 is not set: give each a name"}`},
		"status": {`{"id":1}`, `{"id":1,"error":"field shootStatus is not set"}`},
		"tolerations": {`{"id":1,"kind":"x","shootTolerations":null}`,
			`{"id":1,"error":"field kind is \"x\": give seedTaints or admission"}`},
		"errors": {`{"id":1,"codes":"x"}`,
			`{"id":1,"error":"decode the question: json: cannot unmarshal string into Go struct field errorsQuestion.codes ` +
				`of type []v1beta1.ErrorCode"}`},
	} {
		if diff := cmp.Diff(c.want+"\n", run(t, c.in, []string{topic, "--jsonl"})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", topic, diff)
		}
	}
	if got := run(t, `{"id":1,"kind":"admission","shootTolerations":[],"operation":"DELETE"}`,
		[]string{"tolerations", "--jsonl"}); got != `{"id":1,"error":"field operation is \"DELETE\": give CREATE or UPDATE"}`+
		"\n" {
		t.Error(got)
	}
}
