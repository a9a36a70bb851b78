package explain

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// explain runs the command and returns what it says.
func explain(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	command := NewCommand()
	command.SilenceErrors = true
	command.SetArgs(args)
	command.SetOut(&out)
	err := command.ExecuteContext(t.Context())
	return out.String(), err
}

func TestMaintenanceForPeople(t *testing.T) {
	t.Parallel()
	got, err := explain(t, "maintenance", "--shoot", "testdata/shoot.yaml", "--cloudprofile", "testdata/cloudprofile.yaml",
		"--now", "2026-11-21T12:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	want := `Shoot garden-p/garden, CloudProfile cloud, at 2026-11-21 12:00:00 UTC

The next maintenance begins between 2026-11-21 21:00:00 UTC and 2026-11-21 21:45:00 UTC (in 9h), at a random moment.
This is what it does if nothing changes until its begin.

Control plane
  Kubernetes 1.34.3 → 1.35.1, by force
    Kubernetes version expired - force update required.
    Not 1.35.2: it is a preview; maintenance never updates to one.
    Not 1.36.0: it would skip a minor version; maintenance goes one minor version at a time.
Worker pool a
  Kubernetes follows the control plane
  machine image linux 1.0.0 stays
    Automatic updates are off (spec.maintenance.autoUpdate.machineImageVersion), and the version has not expired.
    Not 1.0.1: it does not exist for the architecture amd64.
    Not 1.1.0: it waits until automatic updates are on or the present version expires.
Worker pool b
  Kubernetes 1.33.9 stays
    Automatic updates are on, and the version is already the newest patch of its minor version that they go to.
    1.33.9 expires at 2026-12-24 20:00:00 UTC (in 32 days); from then on it is updated by force.
    Not 1.34.3: it has expired itself.
    Not 1.35.1: it would skip a minor version.
    Not 1.35.2: it is a preview; maintenance never updates to one.
    Not 1.36.0: it would skip a minor version.
  machine image linux 0.9.0 → 1.1.0, by force
    Version does not exist in CloudProfile.
Also changed
  .spec.kubernetes.kubeAPIServer.watchCacheSizes.default was removed. Reason: ` +
		`the kube-apiserver does not respect it any more.

Worker pool a rolls: every node is drained and replaced
  because spec.kubernetes.version changes from "1.34" to "1.35"
Worker pool b rolls: every node is drained and replaced
  because spec.provider.workers[b].machine.image.version changes from "0.9.0" to "1.1.0"

Then the annotation gardener.cloud/operation asks for: reconcile.
status.lastMaintenance will be Succeeded.
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestMaintenanceIsJudgedAtItsOwnTime asks before the version expires, for a window after that.
func TestMaintenanceIsJudgedAtItsOwnTime(t *testing.T) {
	t.Parallel()
	got, err := explain(t, "maintenance", "--shoot", "testdata/shoot.yaml", "--cloudprofile", "testdata/cloudprofile.yaml",
		"--now", "2026-11-21T12:00:00Z", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"maintained": false`, `"when": "2026-11-21T21:00:00Z"`, `"to": "1.35.1"`,
		`"kind": "rolls"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	got, err = explain(t, "maintenance", "--shoot", "testdata/shoot.yaml", "--cloudprofile", "testdata/cloudprofile.yaml",
		"--now", "2026-11-20T21:30:00Z")
	if err != nil || !strings.Contains(got, "It is maintained now: maintenance may begin at 21:00–21:45 UTC") ||
		!strings.Contains(got, "Kubernetes 1.34.3 stays") {
		t.Errorf("%v: %s", err, got)
	}
}

// changedShoot is the file of testdata/shoot.yaml with another minor version, and a pool in the place of another one.
func changedShoot(t *testing.T) string {
	t.Helper()
	before, err := os.ReadFile("testdata/shoot.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "after.yaml")
	changed := strings.NewReplacer("name: b", "name: c", "version: 1.34.3", "version: 1.35.1").Replace(string(before))
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRolloutForPeople(t *testing.T) {
	t.Parallel()
	got, err := explain(t, "rollout", "--old", "testdata/shoot.yaml", "--new", changedShoot(t))
	want := `Worker pool a rolls: every node is drained and replaced
  because spec.kubernetes.version changes from "1.34" to "1.35"
Worker pool b goes, with its nodes
Worker pool c is new
`
	if err != nil || got != want {
		t.Errorf("%v: %s", err, cmp.Diff(want, got))
	}
}

// bareShoot has no time window.
func bareShoot(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bare.yaml")
	if err := os.WriteFile(path,
		[]byte("kind: Shoot\nmetadata: {name: bare}\nstatus: {lastOperation: {lastUpdateTime: \"2026-11-21T10:00:00Z\"}}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestForPrograms: the same answers with -o json, all of them.
func TestForPrograms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		args       []string
	}{
		{"rollout", `{
			"pools": {"a": true, "b": "removed", "c": "added"},
			"verdicts": [
				{"pool": "a", "kind": "rolls", "triggers": [{"field": "spec.kubernetes.version", "from": "1.34", "to": "1.35"}]},
				{"pool": "b", "kind": "removed"},
				{"pool": "c", "kind": "added"}
			]
		}`, []string{"rollout", "--old", "testdata/shoot.yaml", "--new", changedShoot(t)}},
		{"rollout, nothing changed", `{
			"pools": {"a": false, "b": false},
			"verdicts": [{"pool": "a", "kind": "stays"}, {"pool": "b", "kind": "stays"}]
		}`, []string{"rollout", "--old", "testdata/shoot.yaml", "--new", "testdata/shoot.yaml"}},
		{"window of a shoot, in its last 15 minutes", `{
			"raw": {
				"contains": true, "durationSeconds": 3600, "beginUTC": "210000+0000", "endUTC": "220000+0000",
				"adjustedBegin": "2026-11-21T21:00:00Z", "adjustedEnd": "2026-11-21T22:00:00Z"
			},
			"effective": {
				"contains": false, "durationSeconds": 2700, "beginUTC": "210000+0000", "endUTC": "214500+0000",
				"adjustedBegin": "2026-11-21T21:00:00Z", "adjustedEnd": "2026-11-21T21:45:00Z",
				"nextRandom": "2026-11-22T21:00:00Z", "nextRandomShiftBeginToNow": "2026-11-22T21:00:00Z"
			},
			"isNowInEffectiveShootMaintenanceTimeWindow": false,
			"lastReconciliationDuringThisTimeWindow": false
		}`, []string{"window", "--shoot", "testdata/shoot.yaml", "--now", "2026-11-21T21:50:00Z"}},
		{"window, inside, over midnight", `{
			"raw": {
				"contains": true, "durationSeconds": 3600, "beginUTC": "233000+0000", "endUTC": "003000+0000",
				"adjustedBegin": "2026-11-21T23:30:00Z", "adjustedEnd": "2026-11-22T00:30:00Z"
			},
			"effective": {
				"contains": true, "durationSeconds": 2700, "beginUTC": "233000+0000", "endUTC": "001500+0000",
				"adjustedBegin": "2026-11-21T23:30:00Z", "adjustedEnd": "2026-11-22T00:15:00Z",
				"nextRandom": "2026-11-22T23:30:00Z", "nextRandomShiftBeginToNow": "2026-11-21T23:45:00Z"
			},
			"isNowInEffectiveShootMaintenanceTimeWindow": true
		}`, []string{"window", "--begin", "003000+0100", "--end", "013000+0100", "--now", "2026-11-21T23:45:00Z"}},
		{"no window", `{"isNowInEffectiveShootMaintenanceTimeWindow": true}`, []string{"window", "--shoot", bareShoot(t),
			"--now", "2026-11-21T23:45:00Z"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text, err := explain(t, append(c.args, "-o", "json")...)
			var got, want any
			if err := errors.Join(err, json.Unmarshal([]byte(text), &got), json.Unmarshal([]byte(c.want), &want)); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWindowForPeople(t *testing.T) {
	t.Parallel()
	bare := bareShoot(t)
	for _, c := range []struct {
		name, want string
		args       []string
	}{
		{"outside", `Window     233000+0000 to 003000+0000
           that is 23:30–00:30 UTC
Effective  23:30–00:15 UTC: maintenance begins no later than 15m before the end
Now        2026-11-21 12:00:00 UTC: outside
Next       2026-11-21 23:30:00 UTC to 2026-11-22 00:15:00 UTC (in 11h30m), at a random moment
`, []string{"--begin", "233000+0000", "--end", "003000+0000", "--now", "2026-11-21T12:00:00Z"}},
		{"of a shoot, inside", `Window     220000+0100 to 230000+0100
           that is 21:00–22:00 UTC
Effective  21:00–21:45 UTC: maintenance begins no later than 15m before the end
Now        2026-11-21 21:00:00 UTC: inside, maintenance may begin
Next       2026-11-21 21:00:00 UTC to 2026-11-21 21:45:00 UTC (in 0s), at a random moment
`, []string{"--shoot", "testdata/shoot.yaml", "--now", "2026-11-21T21:00:00Z"}},
		{"none", `Window     none: field spec.maintenance.timeWindow is not set
Now        2026-11-21 12:00:00 UTC: maintenance may begin, as at any time
`, []string{"--shoot", bare, "--now", "2026-11-21T12:00:00Z"}},
		{"too short", `Window     120000+0000 to 121500+0000
           that is 12:00–12:15 UTC
           Admission refuses it: it is 15m long, not between 30m and 6h.
Effective  12:00–12:00 UTC: maintenance begins no later than 15m before the end
Now        2026-11-21 12:00:01 UTC: outside
Next       2026-11-22 12:00:00 UTC to 2026-11-23 12:00:00 UTC (in 23h59m59s), at a random moment
`, []string{"--begin", "120000+0000", "--end", "121500+0000", "--now", "2026-11-21T12:00:01Z"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := explain(t, append([]string{"window"}, c.args...)...)
			if err != nil || got != c.want {
				t.Errorf("%v: %s", err, cmp.Diff(c.want, got))
			}
		})
	}
}

// TestMistakesAreExplained expects file, field and remedy.
func TestMistakesAreExplained(t *testing.T) {
	t.Parallel()
	const shoot, profile = "testdata/shoot.yaml", "testdata/cloudprofile.yaml"
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	other := write("other.yaml", "kind: CloudProfile\nmetadata: {name: other}\n")
	bare := write("bare.yaml", "kind: Shoot\nmetadata: {name: bare}\n")
	wrong := write("wrong.yaml", "kind: Shoot\nspec: {kubernetes: {version: [1]}}\n")
	text := write("text.yaml", "a: b: c\n")
	list := write("list.yaml", "- a\n")
	for _, c := range []struct {
		want string
		args []string
	}{
		{"set --shoot, or --jsonl to answer questions from standard input", []string{"maintenance", "--cloudprofile",
			profile}},
		{"set --cloudprofile, or --jsonl to answer questions from standard input", []string{"maintenance", "--shoot", shoot}},
		{"read the Shoot in " + profile + `: field kind is "CloudProfile": give the file of a Shoot with --shoot`,
			[]string{"maintenance", "--shoot", profile, "--cloudprofile", profile}},
		{"the Shoot in " + shoot + ` uses the CloudProfile "cloud" (field spec.cloudProfile.name), ` + other +
			` has "other": give the file of the one that it uses`, []string{"maintenance", "--shoot", shoot, "--cloudprofile",
			other}},
		{"read the Shoot in " + bare + ": field spec.kubernetes.version is not set: give the Shoot as the API server has it",
			[]string{"maintenance", "--shoot", bare, "--cloudprofile", profile}},
		{"read the Shoot in " + wrong +
			": json: cannot unmarshal array into Go struct field Kubernetes.spec.kubernetes.version of type string",
			[]string{"maintenance", "--shoot", wrong, "--cloudprofile", profile}},
		{"read the Shoot in " + text + ": it is neither YAML nor JSON: yaml: mapping values are not allowed in this context",
			[]string{"rollout", "--old", text, "--new", shoot}},
		{"read the Shoot in " + list + ": expected an object with a kind", []string{"rollout", "--old", shoot, "--new",
			list}},
		{"read the Shoot (--old): open nowhere.yaml: no such file or directory", []string{"rollout", "--old", "nowhere.yaml",
			"--new", shoot}},
		{`read --now: "noon" is no time of the form 2026-11-21T12:00:00Z`, []string{"window", "--shoot", shoot, "--now",
			"noon"}},
		{`invalid argument "xml" for "-o, --output" flag: must be one of text, json, yaml`, []string{"window", "--shoot",
			shoot, "-o", "xml"}},
		{"set either --shoot or --begin and --end", []string{"window", "--shoot", shoot, "--begin", "220000+0100"}},
		{"set --end, or --jsonl to answer questions from standard input", []string{"window", "--begin", "220000+0100"}},
		{`read the begin of the time window: "22:00" is no time of the form HHMMSS+ZZZZ, for example 220000+0100`,
			[]string{"window", "--begin", "22:00", "--end", "230000+0100"}},
	} {
		if out, err := explain(t, c.args...); err == nil || err.Error() != c.want || out != "" {
			t.Errorf("%v: error\n%v, want\n%s", c.args, err, c.want)
		}
	}
}

// TestQuestionsThatCannotBeJudged are answered by what is missing.
func TestQuestionsThatCannotBeJudged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ topic, question, want string }{
		{"maintenance", `{"id":1,"now":"2026-11-21T12:00:00Z"}`, `{"id":1,"error":"field shoot is not set"}`},
		{"maintenance", `{"id":1,"shoot":{},"CloudProfile":{}}`,
			`{"id":1,"error":"field cloudProfile is not set: \"CloudProfile\" is not known here; did you mean ` +
				`\"cloudProfile\"?"}`},
		{"maintenance", `{"id":1,"shoot":{},"cloudProfile":null}`,
			`{"id":1,"error":"field cloudProfile is not set: give the CloudProfile of the Shoot"}`},
		{"rollout", `{"id":1}`, `{"id":1,"error":"field oldShoot is not set"}`},
		{"rollout", `{"id":1,"oldShoot":{},"newShoot":null}`, `{"id":1,"error":"fields oldShoot and newShoot: give both"}`},
		{"rollout", `{"id":1,"oldShoot":{"spec":{"kubernetes":{"version":"x"},"provider":{"workers":[{"name":"a"}]}}},` +
			`"newShoot":{"spec":{"provider":{"workers":[{"name":"a"}]}}}}`,
			`{"id":1,"error":"read the Kubernetes version \"x\" (spec.kubernetes.version): invalid semantic version"}`},
		{"window", `{"id":1,"begin":"220000+0100"}`, `{"id":1,"error":"field end is not set"}`},
		{"webhooks", `{"id":1,"configurations":[]}`, `{"id":1,"error":"field validating or mutating is not set"}`},
		{"errors", `{"id":1,"lastErrors":[]}`, `{"id":1,"error":"field codes or messages is not set"}`},
		{"tolerations", `{"id":1}`, `{"id":1,"error":"field kind is not set"}`},
		{"tolerations", `{"id":1,"kind":"seedTaints","ShootTolerations":[]}`,
			`{"id":1,"error":"field shootTolerations is not set: \"ShootTolerations\" is not known here; did you mean ` +
				`\"shootTolerations\"?"}`},
		{"window", `{"id":1,"begin":"","end":"","now":"2026-11-21T12:00:00Z","randomFraction":1}`,
			`{"id":1,"error":"field randomFraction is 1: give a number from 0 up to, but not 1"}`},
	} {
		var out bytes.Buffer
		command := NewCommand()
		command.SetArgs([]string{c.topic, "--jsonl"})
		command.SetIn(strings.NewReader(c.question))
		command.SetOut(&out)
		command.SetErr(io.Discard)
		if err := command.ExecuteContext(t.Context()); err != nil || strings.TrimSpace(out.String()) != c.want {
			t.Errorf("%s %s: %v, %s", c.topic, c.question, err, out.String())
		}
	}
}

// Many programs leave out empty lists: a question without any is about nothing, and has the answer of empty ones.
func TestListsThatAreLeftOutAreEmpty(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ topic, without, with string }{
		{"webhooks", `{"id":1,"note":"mine"}`, `{"id":1,"validating":[],"mutating":[]}`},
		{"errors", `{"id":1}`, `{"id":1,"codes":[],"messages":[]}`},
		{"tolerations", `{"id":1,"kind":"seedTaints","seedTaints":[{"key":"gpu"}]}`,
			`{"id":1,"kind":"seedTaints","seedTaints":[{"key":"gpu"}],"shootTolerations":[]}`},
	} {
		got, want := run(t, c.without, []string{c.topic, "--jsonl"}), run(t, c.with, []string{c.topic, "--jsonl"})
		if diff := cmp.Diff(want, got); diff != "" || strings.Contains(want, `"error"`) {
			t.Errorf("%s (-want +got):\n%s%s", c.topic, want, diff)
		}
	}
}
