package explain

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// Objects as their authors write them.
const (
	writtenProfile = `apiVersion: core.gardener.cloud/v1beta1
kind: CloudProfile
metadata: {name: hill}
spec:
  type: hill
  regions: [{name: north}]
  machineTypes: [{name: big, cpu: "4", gpu: "0", memory: 8Gi}]
  kubernetes: {versions: [{version: 1.35.1}]}
  machineImages:
  - {name: moss, versions: [{version: 2.1.0}]}
  - {name: fern, versions: [{version: 4.0.1, expirationDate: "2026-01-01T00:00:00Z"}, {version: 4.0.2}]}
`
	writtenShoot = `apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: {name: slope, namespace: garden-p}
spec:
  cloudProfile: {kind: CloudProfile, name: hill}
  region: north
  kubernetes: {version: 1.35.1}
  maintenance: {autoUpdate: {kubernetesVersion: false, machineImageVersion: false}}
  provider:
    type: hill
    workers:
    - {name: old, minimum: 1, maximum: 1, machine: {type: big, image: {name: fern, version: 4.0.1}}}
    - {name: new, minimum: 1, maximum: 1, machine: {type: big, image: {name: moss, version: 2.1.0}}}
`
	writtenWebhook = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: signatures}
webhooks:
- name: signatures.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: hook, namespace: hooks}}
  rules: [{operations: [CREATE], apiGroups: [example.com], apiVersions: [v1], resources: [requests]}]
`
	protectedSeed = `apiVersion: core.gardener.cloud/v1beta1
kind: Seed
metadata: {name: quiet}
spec: {provider: {type: hill, region: north}, taints: [{key: quiet}]}
`
	quietProject = `apiVersion: core.gardener.cloud/v1beta1
kind: Project
metadata: {name: p}
spec: {namespace: garden-p, tolerations: {defaults: [{key: quiet}], whitelist: [{key: quiet}]}}
`
	fineConstraints = `Constraints HibernationPossible and MaintenancePreconditionsSatisfied: True (NoProblematicWebhooks)
  All webhooks are properly configured.
`
)

// inJSON is YAML in one line of JSON.
func inJSON(t *testing.T, text string) string {
	t.Helper()
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestWritten_Defaults_AreFilledIn: each topic answers for objects as their authors write them, from files and in
// questions; a question about objects as they are is answered so.
func TestWritten_Defaults_AreFilledIn(t *testing.T) {
	t.Parallel()
	contents := map[string]string{
		"shoot.yaml": writtenShoot, "profile.yaml": writtenProfile, "webhook.yaml": writtenWebhook,
		"cri.yaml": strings.ReplaceAll(writtenShoot, "maximum: 1,", "maximum: 1, cri: {name: containerd},"),
		"others.yaml": strings.ReplaceAll(writtenShoot, "maximum: 1,",
			"maximum: 1, maxSurge: 1, maxUnavailable: 0, updateStrategy: AutoRollingUpdate,"),
		"seed.yaml": protectedSeed, "project.yaml": quietProject,
		"garden.yaml": "apiVersion: core.gardener.cloud/v1beta1\nkind: Project\nmetadata: {name: garden}\nspec: " +
			"{namespace: garden}\n",
		"protected.yaml": strings.ReplaceAll(protectedSeed, "key: quiet", "key: seed.gardener.cloud/protected"),
	}
	const stay = "Worker pool new keeps its nodes, and none of them is drained\nWorker pool old keeps its nodes, and " +
		"none of them is drained\n"
	shoot, profile := inJSON(t, writtenShoot), inJSON(t, writtenProfile)
	for _, c := range []struct {
		name, stdin string
		args        []string
		want        []string
	}{
		{"maintenance", "", []string{"maintenance", "--shoot", "shoot.yaml", "--cloudprofile", "profile.yaml"}, []string{
			"Worker pool old\n  Kubernetes follows the control plane\n  machine image fern 4.0.1 → 4.0.2, by force\n",
			"Worker pool new\n  Kubernetes follows the control plane\n  machine image moss 2.1.0 stays\n",
		}},
		{"maintenance, asked", `{"id":1,"shoot":` + shoot + `,"cloudProfile":` + profile + `}`,
			[]string{"maintenance", "--jsonl"}, []string{
				`"old":{"machineImage":{"from":"4.0.1","to":"4.0.2","class":"forced"`,
			}},
		{"maintenance, asked as it is", `{"id":1,"apiserverDefaulted":false,"shoot":` + shoot + `,"cloudProfile":` + profile +
			`}`, []string{"maintenance", "--jsonl"}, []string{
			`"old":{"machineImage":{"from":"4.0.1","to":"4.0.1","class":"failed"`,
		}},
		{"rollout, container runtime", "", []string{"rollout", "--old", "shoot.yaml", "--new", "cri.yaml"}, []string{stay}},
		{"rollout, back", "", []string{"rollout", "--old", "cri.yaml", "--new", "shoot.yaml"}, []string{stay}},
		{"rollout, other defaults", "", []string{"rollout", "--old", "shoot.yaml", "--new", "others.yaml"}, []string{stay}},
		{"rollout, asked", `{"id":1,"oldShoot":` + shoot + `,"newShoot":` + inJSON(t, contents["cri.yaml"]) + `}`,
			[]string{"rollout", "--jsonl"}, []string{
				`"pools":{"new":false,"old":false}`,
			}},
		{"rollout, asked as it is", `{"id":1,"apiserverDefaulted":false,"oldShoot":` + shoot + `,"newShoot":` + inJSON(t,
			contents["cri.yaml"]) + `}`, []string{"rollout", "--jsonl"}, []string{
			`"pools":{"new":true,"old":true}`,
		}},
		{"webhooks", "", []string{"webhooks", "--file", "webhook.yaml"}, []string{
			"ValidatingWebhookConfiguration signatures\n  webhook signatures.example.com is fine\n" + fineConstraints,
		}},
		{"webhooks, asked", `{"id":1,"validating":[` + inJSON(t, writtenWebhook) + `]}`, []string{"webhooks", "--jsonl"},
			[]string{`"remediated":false`, `"timeoutSeconds":10`}},
		{"webhooks, asked as it is", `{"id":1,"apiserverDefaulted":false,"validating":[` + inJSON(t, writtenWebhook) + `]}`,
			[]string{"webhooks", "--jsonl"}, []string{`"remediated":true`}},
		{"tolerations", "", []string{"tolerations", "--shoot", "shoot.yaml", "--seed", "seed.yaml", "--project",
			"project.yaml"}, []string{
			`The shoot may be on the seed: it tolerates all of the seed's taints.
  added by default: quiet
CREATE is allowed with these tolerations.
  added by default: quiet
`,
		}},
		{"tolerations of an old shoot", "", []string{"tolerations", "--shoot", "shoot.yaml", "--old-shoot", "shoot.yaml",
			"--seed", "seed.yaml", "--project", "project.yaml"}, []string{
			"The shoot may not be on the seed.\n  no toleration for taint quiet\nUPDATE is allowed with these tolerations.\n",
		}},
		{"tolerations without the project", "", []string{"tolerations", "--shoot", "shoot.yaml", "--seed", "seed.yaml"},
			[]string{"The shoot may not be on the seed.\n"}},
		{"tolerations of the landscape's own project", "",
			[]string{"tolerations", "--shoot", "shoot.yaml", "--seed", "protected.yaml", "--project", "garden.yaml"}, []string{
				"The shoot may be on the seed", "added by default: seed.gardener.cloud/protected",
			}},
		{"tolerations, asked", `{"id":1,"kind":"seedTaints","seedTaints":[{"key":"quiet"}],"shootTolerations":[],"project":` +
			inJSON(t, quietProject) + `}`, []string{"tolerations", "--jsonl"}, []string{
			`{"id":1,"tolerated":true,"addedByDefault":[{"key":"quiet"}]}`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := run(t, c.stdin, files(t, contents, c.args...))
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
		})
	}
}

// TestAPIVersion_OtherThanServed_IsRefused: an object of another version means something else. The error names file,
// field and remedy.
func TestAPIVersion_OtherThanServed_IsRefused(t *testing.T) {
	t.Parallel()
	other := func(text string) string {
		return strings.NewReplacer("core.gardener.cloud/v1beta1", "core.gardener.cloud/v1alpha1", "k8s.io/v1\n",
			"k8s.io/v1beta1\n").Replace(text)
	}
	contents := map[string]string{
		"shoot.yaml": other(writtenShoot), "a,b.yaml": writtenShoot, "profile.yaml": other(writtenProfile),
		"goodprofile.yaml": writtenProfile,
		"seed.yaml":        other(protectedSeed), "project.yaml": other(quietProject), "webhook.yaml": other(writtenWebhook),
		"list.yaml": "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(other(writtenWebhook)),
			"\n", "\n  ") + "\n",
		"typed.yaml": "apiVersion: admissionregistration.k8s.io/v1beta1\nkind: MutatingWebhookConfigurationList\nitems: " +
			"[{metadata: {name: m}}]\n",
	}
	const (
		core  = `field apiVersion is "core.gardener.cloud/v1alpha1": give the %s as core.gardener.cloud/v1beta1`
		hooks = `field apiVersion is "admissionregistration.k8s.io/v1beta1": no API server of today serves it, and it had ` +
			`other defaults (failurePolicy Ignore, timeoutSeconds 30): ` +
			`give the object as admissionregistration.k8s.io/v1, as kubectl get shows it`
	)
	of := func(kind string) string { return strings.Replace(core, "%s", kind, 1) }
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"maintenance", "--shoot", "shoot.yaml", "--cloudprofile", "goodprofile.yaml"},
			"read the Shoot in shoot.yaml: " + of("Shoot")},
		{[]string{"maintenance", "--shoot", "a,b.yaml", "--cloudprofile", "profile.yaml"},
			"read the CloudProfile in profile.yaml: " + of("CloudProfile")},
		{[]string{"rollout", "--old", "a,b.yaml", "--new", "shoot.yaml"}, "read the Shoot in shoot.yaml: " + of("Shoot")},
		{[]string{"window", "--shoot", "shoot.yaml"}, "read the Shoot in shoot.yaml: " + of("Shoot")},
		{[]string{"status", "--shoot", "shoot.yaml"}, "read the Shoot in shoot.yaml: " + of("Shoot")},
		{[]string{"errors", "--shoot", "shoot.yaml"}, "read the Shoot in shoot.yaml: " + of("Shoot")},
		{[]string{"cleanup", "--shoot", "shoot.yaml", "--objects", "a,b.yaml"},
			"read the Shoot in shoot.yaml: " + of("Shoot")},
		{[]string{"tolerations", "--shoot", "a,b.yaml", "--seed", "seed.yaml"}, "read the Seed in seed.yaml: " + of("Seed")},
		{[]string{"tolerations", "--shoot", "a,b.yaml", "--project", "project.yaml"},
			"read the Project in project.yaml: " + of("Project")},
		{[]string{"webhooks", "--file", "webhook.yaml"}, "read document 1 of webhook.yaml: " + hooks},
		{[]string{"webhooks", "--file", "list.yaml"}, "read document 1 of list.yaml: item 1: " + hooks},
		{[]string{"webhooks", "--file", "typed.yaml"}, "read document 1 of typed.yaml: item 1: " + hooks},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			if got := run(t, "", files(t, contents, c.args...)); got != "error: "+c.want {
				t.Errorf("%s, want the error\n%s", got, c.want)
			}
		})
	}
	asked := map[string]string{
		"webhooks": `{"id":1,"validating":[` + inJSON(t, other(writtenWebhook)) + `]}`,
		"rollout": `{"id":1,"oldShoot":` + inJSON(t, writtenShoot) + `,"newShoot":` + inJSON(t,
			other(writtenShoot)) + `}`,
		"maintenance": `{"id":1,"shoot":` + inJSON(t, writtenShoot) + `,"cloudProfile":` + inJSON(t,
			other(writtenProfile)) + `}`,
	}
	fields := map[string]string{"webhooks": "validating[0].apiVersion", "rollout": "newShoot.apiVersion",
		"maintenance": "cloudProfile.apiVersion"}
	for topic, question := range asked {
		var answer struct{ Error string }
		if err := json.Unmarshal([]byte(run(t, question, []string{topic, "--jsonl"})),
			&answer); err != nil || !strings.HasPrefix(answer.Error, "field "+fields[topic]+" is ") {
			t.Errorf("%s, asked: %v %q", topic, err, answer.Error)
		}
	}
}

// TestLists_WhereverAFileIsRead: as kubectl get -o yaml gives them, and as the API does.
func TestLists_WhereverAFileIsRead(t *testing.T) {
	t.Parallel()
	item := func(text string) string {
		return "- " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
	}
	bare := func(text string) string {
		_, after, _ := strings.Cut(text, "\n")
		_, after, _ = strings.Cut(after, "\n")
		return after
	}
	another := strings.NewReplacer("name: slope", "name: peak", "4.0.1", "4.0.2").Replace(writtenShoot)
	list := "apiVersion: v1\nkind: List\nitems:\n"
	contents := map[string]string{
		"shoot.yaml": writtenShoot, "profile.yaml": writtenProfile, "seed.yaml": protectedSeed, "project.yaml": quietProject,
		"all.yaml":      list + item(quietProject) + item(writtenProfile) + item(writtenShoot) + item(protectedSeed),
		"typed.yaml":    "apiVersion: core.gardener.cloud/v1beta1\nkind: ShootList\nitems:\n" + item(bare(writtenShoot)),
		"documents":     writtenProfile + "---\n" + writtenShoot,
		"nested.yaml":   list + item(list+item(writtenShoot)),
		"two.yaml":      list + item(writtenShoot) + item(another),
		"profiles.yaml": list + item(strings.Replace(writtenProfile, "name: hill", "name: dale", 1)) + item(writtenProfile),
		"others.yaml": list + item(strings.Replace(writtenProfile, "name: hill", "name: dale", 1)) +
			item(strings.Replace(writtenProfile, "name: hill", "name: glen", 1)),
		"projects.yaml": list + item(strings.NewReplacer("name: p", "name: q", "garden-p",
			"garden-q").Replace(quietProject)) + item(quietProject),
		"misspelt.yaml": list + item(writtenProfile) + item(strings.Replace(writtenShoot, "region:", "regoin:", 1)),
		"a,b.yaml": "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfigurationList\nitems:\n" +
			item(bare(writtenWebhook)),
		"none.yaml": "# nothing\n",
	}
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"one of each kind", []string{"maintenance", "--shoot", "all.yaml", "--cloudprofile", "all.yaml"},
			"machine image fern 4.0.1 → 4.0.2, by force"},
		{"of one kind", []string{"maintenance", "--shoot", "typed.yaml", "--cloudprofile", "profile.yaml"},
			"machine image fern 4.0.1 → 4.0.2, by force"},
		{"several documents", []string{"maintenance", "--shoot", "documents", "--cloudprofile", "documents"},
			"machine image fern 4.0.1 → 4.0.2, by force"},
		{"a list in a list", []string{"rollout", "--old", "nested.yaml", "--new", "shoot.yaml"},
			"Worker pool old keeps its nodes"},
		{"the profile that the shoot names", []string{"maintenance", "--shoot", "shoot.yaml", "--cloudprofile",
			"profiles.yaml"}, "Shoot garden-p/slope, CloudProfile hill"},
		{"the same shoot", []string{"rollout", "--old", "shoot.yaml", "--new", "two.yaml"},
			"Worker pool old keeps its nodes"},
		{"the project of the shoot", []string{"tolerations", "--shoot", "all.yaml", "--seed", "all.yaml", "--project",
			"projects.yaml"}, "The shoot may be on the seed"},
		{"webhooks", []string{"webhooks", "--file", "a,b.yaml"}, "webhook signatures.example.com is fine"},
		{"several shoots", []string{"status", "--shoot", "two.yaml"},
			"error: read the Shoot in two.yaml: it has 2 objects of kind Shoot (garden-p/slope, garden-p/peak): give a file " +
				"with one of them"},
		{"the shoot as it was", []string{"tolerations", "--shoot", "shoot.yaml", "--old-shoot", "two.yaml", "--project",
			"project.yaml"}, "UPDATE is allowed"},
		{"none of several", []string{"maintenance", "--shoot", "shoot.yaml", "--cloudprofile", "others.yaml"},
			"error: read the CloudProfile in others.yaml: it has 2 objects of kind CloudProfile (dale, glen): none of them " +
				"is the one of the Shoot; give a file with one of them"},
		{"other kinds", []string{"status", "--shoot", "profiles.yaml"},
			`error: read the Shoot in profiles.yaml: field kind is "CloudProfile": give the file of a Shoot with --shoot`},
		{"nothing", []string{"status", "--shoot", "none.yaml"},
			`error: read the Shoot in none.yaml: field kind is "": give the file of a Shoot with --shoot`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := run(t, "", files(t, contents, c.args...)); !strings.Contains(got, c.want) {
				t.Errorf("no %q in\n%s", c.want, got)
			}
		})
	}
	_, warned, err := speak(t, "", files(t, contents, "maintenance", "--shoot", "misspelt.yaml", "--cloudprofile",
		"profile.yaml"))
	if want := `warning: misspelt.yaml:20: field spec.regoin is not known here and was ignored; did you mean "region"?` +
		"\n"; err != nil || warned != want {
		t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(want, warned))
	}
}

// TestAdmissionConfig_FilesOfGardener: lists for all projects, from the file that Gardener's API server is given.
func TestAdmissionConfig_FilesOfGardener(t *testing.T) {
	t.Parallel()
	contents := map[string]string{
		"shoot.yaml": writtenShoot, "seed.yaml": protectedSeed,
		"config.yaml": `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ShootTolerationRestriction
  configuration:
    apiVersion: shoottolerationrestriction.admission.gardener.cloud/v1alpha1
    kind: Configuration
    defaults: [{key: quiet}]
    whitelist: [{key: quiet}]
    whiteList: []
`,
		"empty.yaml": "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: []\n",
	}
	out, warned, err := speak(t, "", files(t, contents, "tolerations", "--shoot", "shoot.yaml", "--seed", "seed.yaml",
		"--admission-config", "config.yaml"))
	want := `The shoot may be on the seed: it tolerates all of the seed's taints.
  added by default: quiet
CREATE is allowed with these tolerations.
  added by default: quiet
`
	if err != nil || out != want {
		t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(want, out))
	}
	if want := `warning: config.yaml: field whiteList is not known here and was ignored; did you mean "whitelist"?` +
		"\n"; warned != want {
		t.Errorf("warnings: %s", warned)
	}
	got := run(t, "", files(t, contents, "tolerations", "--shoot", "shoot.yaml", "--admission-config", "empty.yaml"))
	if want := "error: read the admission configuration in empty.yaml: plugins: Required value: name the plugin " +
		"ShootTolerationRestriction: nothing else is read here"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestWebhooks_Exempt_AreNotProblematic: neither in text nor in JSON; what they would be is still said of others.
func TestWebhooks_Exempt_AreNotProblematic(t *testing.T) {
	t.Parallel()
	labelled := func(label string) string {
		critical := strings.NewReplacer("[example.com]", `[""]`, "[requests]", "[secrets]").Replace(writtenWebhook)
		return strings.Replace(critical, "{name: signatures}", "{name: signatures, labels: {"+label+"}}", 1)
	}
	for name, c := range map[string]struct {
		label       string
		problematic bool
		text        string
	}{
		"none": {"", true, "  webhook signatures.example.com is problematic: it may refuse v1/secrets while its server is " +
			"away\n  remediation: namespaceSelector of webhook"},
		"the resource manager's own": {"app: gardener-resource-manager", false,
			"  webhook signatures.example.com is exempt: its configuration has the label app=gardener-resource-manager\n"},
		"managed by Gardener": {"resources.gardener.cloud/managed-by: gardener", false,
			"  webhook signatures.example.com is exempt: its configuration has the label " +
				"resources.gardener.cloud/managed-by=gardener\n" +
				"  remediation: none: the configuration has the label resources.gardener.cloud/managed-by=gardener\n"},
		"excluded from remediation": {`remediation.webhook.shoot.gardener.cloud/exclude: "true"`, true,
			"  webhook signatures.example.com is problematic: it may refuse v1/secrets while its server is away\n" +
				"  remediation: none: the configuration has the label remediation.webhook.shoot.gardener.cloud/exclude=true\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			contents := map[string]string{"webhook.yaml": labelled(c.label)}
			got := run(t, "", files(t, contents, "webhooks", "--file", "webhook.yaml"))
			if !strings.Contains(got, c.text) || strings.Contains(got, "roblematic:") != c.problematic {
				t.Errorf("no %q in\n%s", c.text, got)
			}
			var answer webhooksAnswer
			if err := json.Unmarshal([]byte(run(t, "", files(t, contents, "webhooks", "--file", "webhook.yaml", "-o", "json"))),
				&answer); err != nil {
				t.Fatal(err)
			}
			const key = "ValidatingWebhookConfiguration/signatures/signatures.example.com"
			if answer.Problematic[key] != c.problematic || (answer.Problems[key] != "") != c.problematic ||
				(answer.Constraint.Status == "False") != c.problematic {
				t.Errorf("%+v", answer)
			}
		})
	}
}
