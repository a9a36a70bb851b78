package run

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/metrics"
	"github.com/transplant-sim/transplant/sim/run/queue"
	"github.com/transplant-sim/transplant/sim/run/terminal"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// hosting is a small backend that runs extensions, or says why not.
type hosting struct {
	*small
	refuse error
}

func (h hosting) Hosts(context.Context, landscape.Extension) (string, error) {
	return "spec.binary", h.refuse
}

// oneMachine is a small backend on which all programs share the ports of a machine.
type oneMachine struct{ hosting }

func (oneMachine) SharesPorts() {}

// A third-party extension is in every scenario, or nothing is started.
func TestExtensionsAreAccepted(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	program, file := filepath.Join(folder, "vault"), filepath.Join(folder, "vault.yaml")
	text := `apiVersion: transplant.dev/v1alpha1
kind: ExtensionDeployment
metadata: {name: vault}
spec:
  resources: [{kind: Extension, type: vault}]
  binary: vault
  args: [--metrics-bind-address=:8080]
`
	if err := errors.Join(os.WriteFile(program, nil, 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	fine := scene(t, folder, "fine", "{seeds: [{name: a}, {name: b}]}",
		"  steps: [{wait: {for: 1ms, because: of nothing}}]")
	s := &small{t: t}
	for name, c := range map[string]struct {
		backend Backend
		file    string
		want    string
	}{
		"a backend that runs it": {backend: hosting{small: s}, file: file},
		"one that runs none": {backend: s, file: file,
			want: `run a third-party extension: the backend "small" runs none`},
		"one that cannot": {backend: hosting{s, errors.New("it is not static")}, file: file,
			want: file + ":6:11: spec.binary: it is not static"},
		"one machine, with a port of all addresses": {backend: oneMachine{hosting{small: s}}, file: file,
			want: file + ":7:10: spec.args[0]: listens at port 8080 of all addresses, and so does the same extension on " +
				"another seed"},
		"a file that is not there": {backend: hosting{small: s}, file: program + ".yaml.yaml", want: "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &runner{clock: clock.RealClock{}, backends: map[string]Backend{"small": c.backend}, backend: "small", jobs: 1,
				out: io.Discard, metrics: metrics.NewExporter(clock.RealClock{}), folder: t.TempDir(), stretch: 1}
			r.extensions.Files = []string{c.file}
			accepted, err := r.accept(t.Context(), []string{fine})
			switch {
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want %q", err, c.want)
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want == "":
				if own := queue.New(accepted.scenarios).Join().Needs.Extensions; len(own) != 1 || own[0].Binary != program {
					t.Errorf("the landscape is to run %+v", own)
				}
			}
		})
	}
}

func TestValidate_FieldsWithoutEffect_AreNamedOnce(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "vault.yaml")
	if err := errors.Join(os.WriteFile(filepath.Join(folder, "vault"), nil, 0o755),
		os.WriteFile(filepath.Join(folder, "registration.yaml"), []byte(`apiVersion: core.gardener.cloud/v1beta1
kind: ControllerRegistration
metadata: {name: vault}
spec: {resources: [{kind: Bastion, type: vault}, {kind: Extension, type: vault}]}
`), 0o600), os.WriteFile(file, []byte(`apiVersion: transplant.dev/v1alpha1
kind: ExtensionDeployment
metadata: {name: vault}
spec: {registration: registration.yaml, binary: vault}
`), 0o600)); err != nil {
		t.Fatal(err)
	}
	one := scene(t, folder, "one", empty, "  steps: [{wait: {for: 1ms, because: of nothing}}]")
	two := scene(t, folder, "two", empty, "  steps: [{wait: {for: 1ms, because: of nothing}}]")
	out, err := asked(t, NewValidateCommand(map[string]Backend{"embedded": hosting{small: &small{t: t}}}, nil),
		"--extension", file, one, two)
	if want := "warning: " + file + ": Bastion vault: no landscape has"; err != nil || strings.Count(out, want) != 1 {
		t.Errorf("%v\n%s\nwant once %q", err, out, want)
	}
}

// What is shown with the verdict is all that it takes to run the scenario again.
func TestTheVerdictShowsTheFilesOfExtensions(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	terminal.Verdict(&out, &verdict.Report{Verdict: verdict.Passed, Scenario: "well", Backend: "small", RandomSeed: 7,
		ExtensionFiles: []string{"mine/vault.yaml"}}, "out")
	if want := "--seed 7 --extension mine/vault.yaml"; !strings.Contains(out.String(), want) {
		t.Errorf("%q is not in\n%s", want, out.String())
	}
}

// preparing is a small backend that builds something first.
type preparing struct {
	*small
	fail error
	done time.Time
}

func (p *preparing) Prepare(_ context.Context, progress func(string)) error {
	progress("it is built")
	p.done = time.Now()
	return p.fail
}

// What a backend builds first is over before a run's clock begins. If it fails nothing is written.
func TestRun_BackendThatPrepares_IsReadyBeforeTheClock(t *testing.T) { // harness.log is that of one command at a time
	file := scene(t, t.TempDir(), "tale", empty, "  steps: [{wait: {for: 1ms, because: of nothing}}]")
	backend, folder := &preparing{small: &small{t: t}}, filepath.Join(t.TempDir(), "tale")
	run := func() (string, error) {
		return printed(t.Context(), NewRunCommand(map[string]Backend{"embedded": backend}, nil), file, "--out", folder)
	}
	backend.fail = errors.New("no space is left")
	_, err := run()
	coder, is := errors.AsType[notRun](err)
	if !is || coder.ExitCode() != 2 || !strings.Contains(err.Error(), `prepare the backend "embedded": no space is left`) {
		t.Errorf("it fails with %v", err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
	backend.fail = nil
	if out, err := run(); err != nil || !strings.HasPrefix(out, "it is built\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	record, err := timeline.ReadFile(filepath.Join(folder, timeline.FileName))
	if err != nil || record.Started.Before(backend.done) {
		t.Errorf("the run began at %s, it was ready at %s: %v", record.Started, backend.done, err)
	}
}
