package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/engine"
	"github.com/transplant-sim/transplant/sim/metrics"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// impatient is what a small world needs: it settles at once.
var impatient = engine.Patience{
	SetUp: time.Minute, Quiet: 200 * time.Millisecond, Changing: 10 * time.Second, Round: 150 * time.Millisecond,
}

// small is a backend of small worlds.
type small struct {
	t      *testing.T
	bug    worldtest.Bug
	outage time.Duration // of the API at a migration; 0 for the world's own
	refuse map[world.Ability]error
	fail   error
	stays  error // why no world can be ended
	logs   bool  // its worlds keep logs

	// meet, where there is one, keeps the first worlds waiting for each other.
	meet *sync.WaitGroup

	mu      sync.Mutex
	started []*worldtest.World
	names   []string
	taken   []string
}

func (s *small) Can(ability world.Ability) error { return s.refuse[ability] }

func (s *small) Claim(name string) (Claim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.taken, name) {
		return nil, &TakenError{errors.New(name + " is up already")}
	}
	s.taken = append(s.taken, name)
	return &smallClaim{s, name}, nil
}

// smallClaim of a small backend.
type smallClaim struct {
	*small
	name string
}

func (s *smallClaim) Release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = slices.DeleteFunc(s.taken, func(name string) bool { return name == s.name })
	return nil
}

func (s *smallClaim) Start(_ context.Context, request Request) (world.World, error) {
	if s.fail != nil && s.logs {
		return nil, errors.Join(s.fail, writeLog(request.Logs, "failed to start"))
	}
	if s.fail != nil {
		return nil, s.fail
	}
	request.Progress("making a small world")
	w := worldtest.New(s.t, request.Landscape.SeedNames()...)
	w.Bug, w.Kept = s.bug, 10*time.Second
	if s.outage > 0 {
		w.Outage = s.outage
	}
	s.mu.Lock()
	s.started, s.names = append(s.started, w), append(s.names, s.name)
	first := len(s.started) <= 2
	s.mu.Unlock()
	if s.meet != nil && first {
		s.meet.Done()
		s.meet.Wait()
	}
	if s.stays != nil {
		return staying{w, s.stays}, nil
	}
	if s.logs {
		return logging{w}, nil
	}
	return w, nil
}

// logging worlds keep logs.
type logging struct{ *worldtest.World }

func (logging) KeepLogs(_ context.Context, folder string) error { return writeLog(folder, "worked") }

func writeLog(folder, text string) error {
	if err := os.MkdirAll(filepath.Join(folder, "a"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "a", "gardenlet-a.log"), []byte(text), 0o600)
}

// staying worlds say that they could not be ended.
type staying struct {
	*worldtest.World
	why error
}

func (s staying) Stop(ctx context.Context) error { return errors.Join(s.World.Stop(ctx), s.why) }

const plannedMigration = `
apiVersion: transplant.dev/v1alpha1
kind: Scenario
metadata: {name: NAME}
spec:
  why: a small scenario
  landscape:
    seeds: [{name: a}, {name: b}]
    shoots: [{name: alpha, seed: a, workers: 2, objects: 20}]
  steps:
  - load:    {shoot: alpha, writesPerSecond: 20}
  - wait:    {for: 300ms, because: there shall be writes before the migration}
  - migrate: {shoot: alpha, to: b}
  - expect:  {that: "shoot('alpha').seed == 'b' && shoot('alpha').healthy", within: WITHIN}
  - expect:  {that: "seed('a').shoots == 0", within: WITHIN}
  - wait:    {for: 1200ms, because: the probe of epochs looks twice a second and shall see both sides afterwards}
  settleWithin: WITHIN
  always: [SingleWriter, NoLostWrite, Linearizable, CloudUntouched, NodesPreserved, NoOrphans, Revisions,
    MigrationEnds, ShootUntouched]
  measure: {apiDowntime: {max: 60s}, lostWrites: {max: 0}}
`

func write(t *testing.T, folder, name string, replace ...string) string {
	t.Helper()
	text := strings.NewReplacer(append(replace, "NAME", name, "WITHIN", "60s")...).Replace(plannedMigration)
	file := filepath.Join(folder, name+".yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// runFiles runs files. It returns what was printed, and the worst verdict.
func runFiles(t *testing.T, s *small, folder string, files ...string) (string, verdict.Verdict, error) {
	t.Helper()
	return runFilesFor(t.Context(), s, folder, files...)
}

func runFilesFor(ctx context.Context, s *small, folder string, files ...string) (string, verdict.Verdict, error) {
	return runFilesAtOnce(ctx, s, 1, folder, files...)
}

func runFilesAtOnce(ctx context.Context, s *small, jobs int, folder string, files ...string) (string, verdict.Verdict,
	error) {
	return runFilesWith(ctx, s, func(r *runner) { r.jobs = jobs }, folder, files...)
}

func runFilesWith(
	ctx context.Context, s *small, set func(*runner), folder string, files ...string,
) (string, verdict.Verdict, error) {
	var out bytes.Buffer
	r := &runner{
		clock: clock.RealClock{}, backends: map[string]Backend{"small": s}, backend: "small", jobs: 1, out: &out,
		metrics: metrics.NewExporter(clock.RealClock{}), folder: folder, randomSeed: 7, stretch: 1,
		patience: impatient,
	}
	set(r)
	accepted, err := r.accept(context.Background(), files)
	if err != nil {
		return "", "", err
	}
	if err := r.claim(accepted); err != nil {
		return "", "", err
	}
	worst := r.run(ctx, accepted)
	return out.String(), worst, accepted.release()
}

func readReport(t *testing.T, folder string) verdict.Report {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, "verdict.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report verdict.Report
	if err := json.Unmarshal(content, &report); err != nil {
		t.Fatal(err)
	}
	return report
}

func TestSummaryAndHistory(t *testing.T) {
	t.Parallel()
	folder, scenes := t.TempDir(), t.TempDir()
	files := []string{
		scene(t, scenes, "well", empty, "  steps: [{wait: {for: 1ms, because: of nothing}}]"),
		scene(t, scenes, "ill", empty, "  steps: [{expect: {that: \"seed('a').shoots == 7\", within: 1ms}}]"),
	}
	r := &runner{
		clock: clock.RealClock{}, backends: map[string]Backend{"small": &small{t: t}}, backend: "small", jobs: 1,
		out:     io.Discard,
		metrics: metrics.NewExporter(clock.RealClock{}), folder: folder, stretch: 1, patience: impatient,
		summary: filepath.Join(folder, "summary.md"), history: filepath.Join(folder, "history.jsonl"),
	}
	if err := os.WriteFile(r.summary, []byte("# What was here before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	accepted, err := r.accept(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.claim(accepted); err != nil {
		t.Fatal(err)
	}
	if worst := r.run(t.Context(), accepted); worst != verdict.Failed {
		t.Fatalf("verdict %s", worst)
	}
	for file, want := range map[string][]string{
		r.summary: {"# What was here before\n", "## Failed: 2 scenarios, 1 Passed, 1 Failed\n", "| well | Passed |",
			"### ill: Failed\n"},
		r.history: {`"scenario":"well","backend":"small","verdict":"Passed"`,
			`"scenario":"ill","backend":"small","verdict":"Failed"`},
	} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rest := string(content)
		for _, part := range want {
			at := strings.Index(rest, part)
			if at < 0 {
				t.Fatalf("%s lacks %q, or has it too early:\n%s", file, part, content)
			}
			rest = rest[at+len(part):]
		}
	}
}

func TestAMigrationPasses(t *testing.T) {
	t.Parallel()
	s := &small{t: t}
	folder := t.TempDir()
	out, worst, err := runFiles(t, s, folder, write(t, t.TempDir(), "planned"))
	if err != nil || worst != verdict.Passed {
		t.Fatalf("verdict %s, %v\n%s", worst, err, out)
	}
	report := readReport(t, folder)
	if report.Scenario != "planned" || report.Backend != "small" || report.RandomSeed != 7 || len(report.Violations) != 0 {
		t.Errorf("report %+v", report)
	}
	m := report.Measures
	if m.APIDowntimeSeconds == nil || *m.APIDowntimeSeconds < 0.2 || m.LostWrites == nil || *m.LostWrites != 0 ||
		m.Phases["total"] == 0 || m.RTOSeconds != nil {
		t.Errorf("measures %+v", m)
	}
	if s.started[0].Stopped() != 1 {
		t.Error("the landscape was not ended")
	}
	again, _, err := verdict.JudgeFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report, *again); diff != "" {
		t.Errorf("judged again (-first +again):\n%s", diff)
	}
	for _, want := range []string{"✓ expect shoot('alpha').seed == 'b'", "alpha on b: Restore Succeeded", "Passed",
		"kept in " + folder, "alpha's API does not answer"} {
		if !strings.Contains(out, want) {
			t.Errorf("the view lacks %q:\n%s", want, out)
		}
	}
}

// Quiet runs have a line for each verdict, and beside it only what is wrong.
func TestRun_Quiet_PrintsVerdictsAndErrors(t *testing.T) {
	t.Parallel()
	scenes := t.TempDir()
	well := scene(t, scenes, "well", empty, "  steps: [{wait: {for: 1ms, because: of nothing}}]")
	ill := scene(t, scenes, "ill", empty, "  steps: [{expect: {that: \"seed('a').shoots == 7\", within: 1ms}}]")
	for name, c := range map[string]struct {
		jobs  int
		files []string
		want  string // a pattern
	}{
		"one that passes": {1, []string{well}, `^Passed  well  .*\n$`},
		"two at once that pass": {2, []string{well, scene(t, scenes, "fine", empty,
			"  steps: [{wait: {for: 1ms, because: of nothing}}]")}, `^(Passed  (well|fine)  .*\n){2}$`},
		"one that fails": {1, []string{well, ill},
			`^Passed  well  .*\nFailed  ill  .*\n  expect at .*\n\n2 scenarios: Failed\n  ill: Failed: expect: .*\n$`},
	} {
		quietly := func(r *runner) { r.jobs, r.quiet = c.jobs, true }
		out, _, err := runFilesWith(t.Context(), &small{t: t}, quietly, t.TempDir(), c.files...)
		if err != nil || !regexp.MustCompile(c.want).MatchString(out) {
			t.Errorf("%s: %v, printed\n%s\nwant\n%s", name, err, out, c.want)
		}
	}
}

// Unwatched, a run has the load but no probes: whatever happens, it proves nothing.
func TestRun_Unwatched_ProvesNothing(t *testing.T) {
	t.Parallel()
	for _, unwatched := range []bool{false, true} {
		s, folder := &small{t: t, bug: worldtest.LosesWrites}, t.TempDir()
		out, worst, err := runFilesWith(t.Context(), s, func(r *runner) {
			r.unwatched = unwatched
		}, folder, write(t, t.TempDir(), "planned"))
		if want := map[bool]verdict.Verdict{false: verdict.Failed, true: verdict.Inconclusive}[unwatched]; err != nil ||
			worst != want {
			t.Errorf("verdict %s, want %s, %v\n%s", worst, want, err, out)
		}
		if said := strings.Contains(out, "started with --unwatched"); said != unwatched {
			t.Errorf("unwatched %t, and the output says so: %t\n%s", unwatched, said, out)
		}
		kept, err := timeline.ReadFile(filepath.Join(folder, timeline.FileName))
		if err != nil {
			t.Fatal(err)
		}
		if !saw[timeline.Write](kept) {
			t.Error("there was no load")
		}
		for name, seen := range map[string]bool{
			"the shoot": saw[timeline.ShootSeen](kept), "the seeds": saw[timeline.SeedSeen](kept),
			"its API":      saw[timeline.Reached](kept),
			"its versions": saw[timeline.VersionsSeen](kept), "reads": saw[timeline.Read](kept),
		} {
			if seen == unwatched {
				t.Errorf("unwatched %t, and somebody has watched %s is %t", unwatched, name, seen)
			}
		}
	}
}

// A look at the nodes that hangs until the run is over does not hide what became of them.
func TestNodesAreLookedAtInTheEnd(t *testing.T) {
	t.Parallel()
	s, folder := &small{t: t, bug: worldtest.ReplacesNodes, outage: time.Second}, t.TempDir()
	out, worst, err := runFiles(t, s, folder, write(t, t.TempDir(), "planned"))
	if err != nil || worst != verdict.Failed {
		t.Fatalf("verdict %s, %v\n%s", worst, err, out)
	}
	for _, v := range readReport(t, folder).Violations {
		if v.Oracle != "NodesPreserved" {
			t.Errorf("%s found a violation: %s", v.Oracle, v.Message)
		}
	}
}

func saw[P timeline.Payload](kept *timeline.Record) bool {
	_, _, seen := timeline.First[P](kept.Events)
	return seen
}

// Each bug is noticed by the oracle that is there for it.
func TestPlantedBugsAreNoticed(t *testing.T) {
	t.Parallel()
	for bug, oracle := range map[worldtest.Bug]string{
		worldtest.LosesWrites:     "NoLostWrite",
		worldtest.NoRevisionBump:  "SingleWriter",
		worldtest.LeavesOrphan:    "NoOrphans",
		worldtest.LeavesConfig:    "NoOrphans",
		worldtest.RecreatesCloud:  "CloudUntouched",
		worldtest.ReplacesNodes:   "NodesPreserved",
		worldtest.ReplacesObjects: "ShootUntouched",
		worldtest.NeverEnds:       "MigrationEnds",
		worldtest.TwoOwners:       "SingleWriter",
		worldtest.NeverRests:      verdict.Settle,
	} {
		t.Run(oracle+" "+string(bug), func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			within, settle := "60s", "60s" // a migration that a busy machine has not ended in time shows no bug
			switch bug {
			case worldtest.NeverEnds:
				within, settle = "500ms", "500ms"
			case worldtest.NeverRests:
				settle = "500ms"
			}
			file := write(t, t.TempDir(), "planned", "settleWithin: WITHIN", "settleWithin: "+settle, "WITHIN", within)
			out, worst, err := runFiles(t, &small{t: t, bug: bug}, folder, file)
			if err != nil || worst != verdict.Failed {
				t.Fatalf("verdict %s, %v\n%s", worst, err, out)
			}
			for _, v := range readReport(t, folder).Violations {
				if v.Oracle == oracle {
					return
				}
			}
			t.Errorf("%s has noticed nothing:\n%s", oracle, out)
		})
	}
}

// scene is a scenario with these steps, without oracles that need much to be seen.
func scene(t *testing.T, folder, name, landscape, rest string) string {
	t.Helper()
	text := `
apiVersion: transplant.dev/v1alpha1
kind: Scenario
metadata: {name: ` + name + `}
spec:
  why: a small scenario
  landscape: ` + landscape + `
` + rest
	file := filepath.Join(folder, name+".yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const empty = "{seeds: [{name: a}]}"

func TestFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps   string
		verdict verdict.Verdict
		faults  []verdict.Fault
		healed  int
		message string
	}{
		"healed by a step": {
			steps:   "[{fault: {name: cut, cut: {actor: user, target: shoots}}}, {heal: cut}]",
			verdict: verdict.Passed, faults: []verdict.Fault{{Name: "cut", Hits: 1}}, healed: 1,
		},
		"healed at the end": {
			steps: "[{fault: {name: slow, latency: {actor: user, target: shoots, delay: 5ms}}}, {fault: {name: dead, kill: " +
				"{actor: gardenlet-a}}}]",
			verdict: verdict.Passed, faults: []verdict.Fault{{Name: "slow", Hits: 1}, {Name: "dead", Hits: 1}}, healed: 2,
		},
		"without a hit": {
			steps:   "[{fault: {name: ice, freeze: {cluster: a, program: etcd}}}]",
			verdict: verdict.Inconclusive, faults: []verdict.Fault{{Name: "ice"}}, healed: 1,
			message: `the fault "ice", freeze(a,etcd), hit nothing`,
		},
		"healed though a step fails": {
			steps: `[{fault: {name: cut, reset: {actor: nodes, target: cloud}}}, {wait: {until: "seed('a').shoots == 7", ` +
				`within: 1ms}}]`,
			verdict: verdict.Error, faults: []verdict.Fault{{Name: "cut", Hits: 1}}, healed: 1,
			message: `seed("a").shoots is 0`,
		},
		"healed though an expectation fails": {
			steps: `[{fault: {name: cut, bandwidth: {actor: nodes, target: cloud, bytesPerSecond: 1Ki}}}, {expect: {that: ` +
				`"seed('a').shoots == 7", within: 1ms}}]`,
			verdict: verdict.Failed, faults: []verdict.Fault{{Name: "cut", Hits: 1}}, healed: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, folder := &small{t: t}, t.TempDir()
			out, worst, err := runFiles(t, s, folder, scene(t, t.TempDir(), "fault", empty, "  steps: "+c.steps))
			if err != nil || worst != c.verdict {
				t.Fatalf("verdict %s, %v\n%s", worst, err, out)
			}
			if diff := cmp.Diff(c.faults, readReport(t, folder).Faults); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if injected, healed := s.started[0].Faults(); injected != len(c.faults) || healed != c.healed {
				t.Errorf("%d injected, %d healed", injected, healed)
			}
			if !strings.Contains(out, c.message) {
				t.Errorf("%q is not said:\n%s", c.message, out)
			}
		})
	}
}

func TestAnInterruptHealsAndEndsEverything(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s, folder, scenes := &small{t: t}, t.TempDir(), t.TempDir()
	later := filepath.Join(folder, "later", verdict.FileName)
	if err := os.MkdirAll(filepath.Dir(later), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(later, []byte("of an earlier run"), 0o600); err != nil {
		t.Fatal(err)
	}
	next := scene(t, scenes, "later", empty, "  steps: [{wait: {for: 1ms, because: it never starts}}]")
	file := scene(t, scenes, "long", empty,
		"  steps: [{fault: {name: cut, cut: {actor: user, target: shoots}}}, {wait: {for: 1h, because: it is interrupted}}]")
	done := make(chan verdict.Verdict)
	go func() {
		_, worst, _ := runFilesFor(ctx, s, folder, file, next)
		done <- worst
	}()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if content, _ := os.ReadFile(filepath.Join(folder, "long", "timeline.jsonl")); strings.Contains(string(content),
			`"FaultInjected"`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the fault was not injected")
		}
	}
	cancel()
	if worst := <-done; worst != verdict.Error {
		t.Errorf("verdict %s", worst)
	}
	if injected, healed := s.started[0].Faults(); injected != 1 || healed != 1 {
		t.Errorf("%d injected, %d healed", injected, healed)
	}
	if len(s.started) != 1 || s.started[0].Stopped() != 1 {
		t.Errorf("%d landscapes were made, and the first was ended %d times", len(s.started), s.started[0].Stopped())
	}
	if content, err := os.ReadFile(later); err != nil || string(content) != "of an earlier run" {
		t.Errorf("what an earlier run left of a scenario that never started: %v, %s", err, content)
	}
	if reasons := readReport(t, filepath.Join(folder, "long")).Reasons; len(reasons) == 0 ||
		!strings.Contains(strings.Join(reasons, " "), "interrupted") {
		t.Errorf("reasons %v", reasons)
	}
}

// The same command line runs the same again: the timeout multiplier stretches the run, not the kept scenario.
func TestRun_KeptScenario_IsNotStretchedTwice(t *testing.T) {
	t.Parallel()
	s := &small{t: t}
	stretched := func(folder, file string) (string, verdict.Report, string) {
		var out bytes.Buffer
		r := &runner{clock: clock.RealClock{}, backends: map[string]Backend{"small": s}, backend: "small", jobs: 1, out: &out,
			metrics: metrics.NewExporter(clock.RealClock{}), folder: folder, stretch: 2.5, patience: impatient}
		accepted, err := r.accept(t.Context(), []string{file})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.claim(accepted); err != nil {
			t.Fatal(err)
		}
		if worst := r.run(t.Context(), accepted); worst != verdict.Passed {
			t.Fatalf("verdict %s\n%s", worst, out.String())
		}
		record, err := timeline.ReadFile(filepath.Join(folder, timeline.FileName))
		if err != nil {
			t.Fatal(err)
		}
		_, started, _ := timeline.First[timeline.RunStarted](record.Events)
		return string(started.Definition), readReport(t, folder), out.String()
	}
	first, second := t.TempDir(), t.TempDir()
	ran, report, out := stretched(first, scene(t, t.TempDir(), "slow", empty,
		`  steps: [{expect: {that: "seed('a').shoots == 0", within: 4s}}]
  settleWithin: 20s`))
	for _, want := range []string{`"within":"10s"`, `"settleWithin":"50s"`} {
		if !strings.Contains(ran, want) {
			t.Errorf("%s is not in the scenario that ran: %s", want, ran)
		}
	}
	if report.TimeoutMultiplier != 2.5 || !strings.Contains(out, "--seed 0 --timeout-multiplier 2.5") {
		t.Errorf("multiplier %g in the verdict; shown is\n%s", report.TimeoutMultiplier, out)
	}
	again, _, _ := stretched(second, filepath.Join(first, "scenario.yaml"))
	if diff := cmp.Diff(ran, again); diff != "" {
		t.Errorf("run again (-first +again):\n%s", diff)
	}
}

func TestNothingIsStartedForWhatCannotBe(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	fine := scene(t, folder, "fine", empty, "  steps: [{fault: {name: cut, cut: {actor: user, target: shoots}}}]")
	same := filepath.Join(folder, "same.yaml")
	content, err := os.ReadFile(fine)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(same, content, 0o600); err != nil {
		t.Fatal(err)
	}
	swept := scene(t, folder, "swept", empty, sweepRest)
	point := scene(t, folder, "swept-dies-2", empty, "  steps: [{wait: {for: 1ms, because: of nothing}}]")
	crashOfX := scene(t, folder, "swept-dies", empty, strings.ReplaceAll(sweepRest, "dies", "x"))
	crashOfDiesX := scene(t, t.TempDir(), "swept", empty, strings.ReplaceAll(sweepRest, "dies", "dies-x"))
	for name, c := range map[string]struct {
		files   []string
		backend string
		sample  int
		refuse  error
		stretch float64
		other   bool // there is another backend, which can do everything
		want    string
	}{
		"a file with mistakes": {files: []string{fine, scene(t, folder, "wrong", empty, "  steps: [{jump: {}}]")},
			want: "wrong.yaml:8:12: spec.steps[0].jump: unknown field"},
		"a file that is not there": {files: []string{filepath.Join(folder, "none.yaml")}, want: "no such file"},
		"an unknown backend": {files: []string{fine}, backend: "kind",
			want: `find the backend "kind": there are small`},
		"a fault it cannot do": {files: []string{fine}, refuse: errors.New("there are no links here"),
			want: `fine.yaml:8:36: spec.steps[0].fault.cut: cut(user,shoots): there are no links here; must be a fault that ` +
				`backend "small" can do`},
		"a fault that another can": {files: []string{fine}, refuse: errors.New("there are no links here"), other: true,
			want: `there are no links here; give --backend other`},
		"a folder": {files: []string{folder}, want: `it is a folder; give the files in it, such as ` +
			folder + `/*.yaml`},
		"a time turned back": {files: []string{fine}, stretch: -1,
			want: "--timeout-multiplier -1: must be from 0.01 to 100"},
		"a time that is no number": {files: []string{fine}, stretch: math.NaN(),
			want: "--timeout-multiplier NaN: must be from 0.01 to 100"},
		"a time without an end": {files: []string{fine}, stretch: math.Inf(1),
			want: "--timeout-multiplier +Inf: must be from 0.01 to 100"},
		"a time that overflows": {files: []string{fine}, stretch: 1e308,
			want: "--timeout-multiplier 1e+308: must be from 0.01 to 100"},
		"two of the same name": {files: []string{fine, same}, want: `"fine" is also the name of the scenario in`},
		"a point before a scenario": {files: []string{swept, point},
			want: `swept-dies-2.yaml:4:18: metadata.name: ` + swept + ` has a run "swept-dies-2", too`},
		"a scenario before a point": {files: []string{point, swept},
			want: `swept.yaml:4:18: metadata.name: ` + point + ` has a run "swept-dies-2", too`},
		"a point out of a sample": {files: []string{point, swept}, sample: 1, want: ` has a run "swept-dies-2", too`},
		"points of two sweeps": {files: []string{crashOfX, crashOfDiesX},
			want: crashOfX + ` has a run "swept-dies-x-1", too`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &small{t: t, refuse: map[world.Ability]error{world.BreakLinks: c.refuse}}
			r := &runner{clock: clock.RealClock{}, backends: map[string]Backend{"small": s}, backend: "small", jobs: 1,
				out: io.Discard, metrics: metrics.NewExporter(clock.RealClock{}), folder: t.TempDir(), stretch: 1, sample: c.sample}
			if c.stretch != 0 {
				r.stretch = c.stretch
			}
			if c.backend != "" {
				r.backend = c.backend
			}
			if c.other {
				r.backends["other"] = &small{t: t}
			}
			_, err := r.accept(t.Context(), c.files)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if len(s.started) > 0 {
				t.Error("something was started")
			}
		})
	}
}

// A refused run leaves no trace: no folder, and the log of an earlier run as it was.
func TestARefusedRunWritesNothing(t *testing.T) {
	t.Parallel()
	wrong := scene(t, t.TempDir(), "wrong", empty, "  steps: [{jump: {}}]")
	fine := scene(t, t.TempDir(), "fine", empty, "  steps: [{wait: {for: 1ms, because: of nothing}}]")
	for name, arguments := range map[string][]string{
		"mistakes":           {wrong},
		"one of two":         {fine, wrong},
		"an unknown backend": {fine, "--backend", "kind"},
		"a negative sample":  {fine, "--sample", "-1"},
		"a taken landscape":  {fine, "--landscape", "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			used := t.TempDir()
			earlier := filepath.Join(used, "harness.log")
			if err := os.WriteFile(earlier, []byte("what was said"), 0o600); err != nil {
				t.Fatal(err)
			}
			fresh := filepath.Join(t.TempDir(), "fresh")
			for _, folder := range []string{used, fresh} {
				command := newRunCommand(map[string]Backend{"small": &small{t: t, taken: []string{"mine"}}}, nil, impatient)
				command.SetArgs(append([]string{"--backend", "small", "--out", folder}, arguments...))
				command.SetOut(io.Discard)
				command.SilenceErrors, command.SilenceUsage = true, true
				var refused notRun
				if err := command.ExecuteContext(t.Context()); !errors.As(err, &refused) {
					t.Errorf("the error is %v", err)
				}
			}
			if _, err := os.Stat(fresh); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the folder is there: %v", err)
			}
			if content, err := os.ReadFile(earlier); err != nil || string(content) != "what was said" {
				t.Errorf("the earlier log holds %q, %v", content, err)
			}
		})
	}
}

// Runs side by side each have landscapes of their own, whatever was asked for; names that were asked for are no
// others'.
func TestRunsSideBySide(t *testing.T) {
	t.Parallel()
	fine := func() string {
		return scene(t, t.TempDir(), "fine", empty, "  steps: [{wait: {for: 1ms, because: of nothing}}]")
	}
	s := &small{t: t, taken: []string{"run", "run-3"}}
	out, _, err := runFiles(t, s, t.TempDir(), fine())
	if err != nil || !strings.HasPrefix(out, "Other landscapes are there; this run's is run-2.\n") {
		t.Errorf("beside others: %v, %q", err, out)
	}
	if diff := cmp.Diff([]string{"run", "run-3"}, s.taken); diff != "" {
		t.Errorf("names in use afterwards (-want +got):\n%s", diff)
	}
	two := scene(t, t.TempDir(), "two", "{seeds: [{name: z}]}", "  steps: [{wait: {for: 1ms, because: of nothing}}]")
	if out, _, err := runFilesAtOnce(t.Context(), s, 2, t.TempDir(), fine(), two); err != nil || !strings.Contains(out,
		"this run's is run-2, run-4.") {
		t.Errorf("two beside others: %v, %q", err, out)
	}
	for name, c := range map[string]struct {
		landscape string
		taken     []string
		jobs      int
		want      string
	}{
		"asked for":       {"mine", []string{"mine"}, 1, "--landscape mine: mine is up already"},
		"asked for, two":  {"mine", []string{"mine-2"}, 2, "--landscape mine: mine-2 is up already"},
		"the default one": {"run", []string{"run"}, 1, "--landscape run: run is up already"},
		"by nobody":       {"mine", []string{"run"}, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &small{t: t, taken: c.taken}
			out, _, err := runFilesWith(t.Context(), s, func(r *runner) {
				r.landscape, r.jobs = c.landscape, c.jobs
			}, t.TempDir(), fine(), two)
			if c.want == "" && (err != nil || strings.Contains(out, "Other landscapes")) || c.want != "" &&
				(err == nil || err.Error() != c.want) {
				t.Errorf("got %v, want %q\n%s", err, c.want, out)
			}
			if len(s.taken) != len(c.taken) {
				t.Errorf("%v are taken afterwards", s.taken)
			}
		})
	}
}

// The log of an earlier run makes way for the next one's, but not while that run goes on.
func TestTheLogOfARunThatGoesOnStays(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, logName)
	if err := os.WriteFile(path, []byte("of before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func() string {
		t.Helper()
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	if err := LogInto(folder, 0); err != nil {
		t.Fatal(err)
	}
	klog.Background().Info("one says this")
	if text := read(); strings.Contains(text, "of before") || !strings.Contains(text, "one says this") {
		t.Errorf("the first has %q", text)
	}
	if err := LogInto(folder, 0); err != nil {
		t.Fatal(err)
	}
	klog.Background().Info("the other says that")
	if text := read(); !strings.Contains(text, "one says this") || !strings.Contains(text, "the other says that") {
		t.Errorf("both have %q", text)
	}
	if err := LogInto(folder, 4); err != nil {
		t.Fatal(err)
	}
	klog.Background().V(4).Info("in detail")
	if err := LogInto(folder, 0); err != nil {
		t.Fatal(err)
	}
	klog.Background().V(4).Info("in too much detail")
	if text := read(); !strings.Contains(text, "in detail") || strings.Contains(text, "in too much detail") {
		t.Errorf("with verbosity 4, then 0: %q", text)
	}
}

// A run that goes on has no verdict: that is said, and its folder is left alone.
func TestARunThatGoesOnIsNotJudged(t *testing.T) {
	t.Parallel()
	folder, scenes := t.TempDir(), t.TempDir()
	if _, worst, err := runFiles(t, &small{t: t}, folder,
		scene(t, scenes, "well", empty, "  steps: [{wait: {for: 1ms, because: of nothing}}]"),
		scene(t, scenes, "ill", empty, "  steps: [{expect: {that: \"seed('a').shoots == 7\", within: 1ms}}]"),
	); err != nil || worst != verdict.Failed {
		t.Fatalf("verdict %s, %v", worst, err)
	}
	judged := func(arguments ...string) (string, string, error) {
		var out, errOut bytes.Buffer
		command := NewJudgeCommand()
		command.SetArgs(arguments)
		command.SetOut(&out)
		command.SetErr(&errOut)
		command.SilenceErrors, command.SilenceUsage = true, true
		err := command.ExecuteContext(t.Context())
		return out.String(), errOut.String(), err
	}
	well := filepath.Join(folder, "well")
	release, err := timeline.Hold(t.Context(), well) // as a run does
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(well, verdict.FileName)); err != nil {
		t.Fatal(err)
	}
	const goesOn = "well still goes on: judge it when it has ended"
	out, _, err := judged(well, "--write")
	if refused := (notRun{}); !errors.As(err, &refused) || refused.ExitCode() != 2 || !strings.Contains(err.Error(),
		goesOn) || out != "" {
		t.Errorf("%v, printed %q", err, out)
	}
	if _, err := os.Stat(filepath.Join(well, verdict.FileName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a verdict was written: %v", err)
	}
	out, errOut, err := judged(folder)
	if failed := (ended{}); !errors.As(err, &failed) || failed.ExitCode() != 1 || !strings.Contains(out,
		"Failed  ill") || strings.Contains(out, "well") || !strings.Contains(errOut, goesOn) {
		t.Errorf("of two: %v, printed %q and %q", err, out, errOut)
	}
	release()
	if out, _, err := judged(well, "--write"); err != nil || !strings.Contains(out, "Passed  well") {
		t.Errorf("when it has ended: %v, printed %q", err, out)
	}
	readReport(t, well)
}

// What the command leaves is named in its help. It is alone, since the command sets the logger of the whole process.
func TestHelpNamesWhatIsKept(t *testing.T) {
	command, folder := newRunCommand(map[string]Backend{"small": &small{t: t}}, nil, impatient), t.TempDir()
	command.SetArgs([]string{scene(t, t.TempDir(), "fine", empty, "  steps: [{wait: {for: 1ms, because: of nothing}}]"),
		"--backend", "small", "--out", folder})
	command.SetOut(io.Discard)
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadDir(folder)
	if err != nil || len(kept) != 7 {
		t.Fatalf("kept is %v, %v", kept, err)
	}
	for _, file := range kept {
		if !strings.Contains(command.Long, file.Name()) {
			t.Errorf("%s is not explained", file.Name())
		}
	}
}

func TestALandscapeThatDoesNotStart(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	_, worst, err := runFiles(t, &small{t: t, fail: errors.New("port 6443 is taken")}, folder,
		scene(t, t.TempDir(), "none", empty, "  steps: [{wait: {for: 1ms, because: of nothing}}]"))
	if err != nil || worst != verdict.Error {
		t.Fatalf("verdict %s, %v", worst, err)
	}
	if diff := cmp.Diff([]string{"make the landscape: port 6443 is taken"}, readReport(t, folder).Reasons); diff != "" {
		t.Error(diff)
	}
}

func TestSeveralFilesShareALandscape(t *testing.T) {
	t.Parallel()
	s, files, folder := &small{t: t}, t.TempDir(), t.TempDir()
	one := "{seeds: [{name: a}, {name: b}], shoots: [{name: alpha, seed: a, objects: 5}]}"
	two := "{seeds: [{name: a}, {name: b}], shoots: [{name: alpha, seed: a, objects: 9}]}"
	// one more place to go to
	more := "{seeds: [{name: a}, {name: b}, {name: c}], shoots: [{name: alpha, seed: c, objects: 5}]}"
	other := "{seeds: [{name: a}], settings: {dnsTTL: 2s}}"
	moved := "  steps: [{migrate: {shoot: alpha, to: b}}, {expect: {that: \"shoot('alpha').seed == 'b' && " +
		"shoot('alpha').healthy\"}}]\n  always: [MigrationEnds, NoOrphans]"
	out, worst, err := runFiles(t, s, folder,
		scene(t, files, "one", one, moved), scene(t, files, "two", two, moved),
		scene(t, files, "four", more, moved),
		scene(t, files, "three", other, `  steps: [{expect: {that: "seed('a').shoots == 0"}}]`))
	if err != nil || worst != verdict.Passed {
		t.Fatalf("verdict %s, %v\n%s", worst, err, out)
	}
	if len(s.started) != 3 {
		t.Fatalf("%d landscapes were made, want 3", len(s.started))
	}
	if diff := cmp.Diff([]string{"a", "b"}, s.started[0].Seeds()); diff != "" {
		t.Errorf("seeds (-want +got):\n%s", diff)
	}
	for _, name := range []string{"one", "two", "three", "four"} {
		if report := readReport(t, filepath.Join(folder, name)); report.Scenario != name || report.Verdict != verdict.Passed {
			t.Errorf("%s: %s of %s", name, report.Verdict, report.Scenario)
		}
	}
	var judged bytes.Buffer
	judge := NewJudgeCommand()
	judge.SetArgs([]string{folder, "-o", "json"})
	judge.SetOut(&judged)
	if err := judge.ExecuteContext(t.Context()); err != nil || strings.Count(judged.String(), `"verdict": "Passed"`) != 4 {
		t.Errorf("judged again: %v\n%s", err, judged.String())
	}
}

func TestSleepAndWake(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	out, worst, err := runFiles(t, &small{t: t}, folder, scene(t, t.TempDir(), "sleep",
		"{seeds: [{name: a}, {name: b}], shoots: [{name: alpha, seed: a, workers: 1, objects: 5, hibernated: true}]}", `
  steps:
  - wake: {shoot: alpha}
  - expect: {that: "shoot('alpha').healthy && !shoot('alpha').hibernated"}
  - load: {shoot: alpha, writesPerSecond: 20}
  - wait: {for: 500ms, because: there shall be writes}
  - hibernate: {shoot: alpha}
  - expect: {that: "shoot('alpha').healthy && shoot('alpha').hibernated"}
  - wait: {for: 10s, because: the outage shall be seen}
  - wake: {shoot: alpha}
  - expect: {that: "shoot('alpha').healthy && !shoot('alpha').hibernated"}
  always: [NoLostWrite, NodesPreserved, MigrationEnds, SingleWriter]
  measure: {apiDowntime: {max: 9s}, lostWrites: {max: 0}}`))
	if err != nil || worst != verdict.Passed {
		t.Fatalf("verdict %s, %v\n%s", worst, err, out)
	}
}

// The loads are slow, so that a busy machine tries most of the writes: of fewer than half the run says nothing.
func TestComeAndGo(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	out, worst, err := runFiles(t, &small{t: t}, folder, scene(t, t.TempDir(), "guest",
		"{seeds: [{name: a}], shoots: [{name: alpha, seed: a, objects: 5}, {name: guest, seed: a, objects: 5}]}", `
  steps:
  - expect: {that: "seed('a').shoots == 1 && !shoot('guest').exists"}
  - create: {shoot: guest}
  - expect: {that: "seed('a').shoots == 2 && shoot('guest').healthy"}
  - load: {shoot: guest, writesPerSecond: 4}
  - delete: {shoot: guest}
  - expect: {that: "seed('a').shoots == 1 && !shoot('guest').exists"}
  - create: {shoot: guest}
  - load: {shoot: guest, writesPerSecond: 4}
  - wait: {for: 1s, because: there shall be writes in its second life}
  always: [NoLostWrite, NoOrphans, MigrationEnds, SingleWriter, Revisions, Linearizable]`))
	if err != nil || worst != verdict.Passed {
		t.Fatalf("verdict %s, %v\n%s", worst, err, out)
	}
}

// It is alone, since the command sets the logger of the whole process.
func TestExitCodes(t *testing.T) {
	folder := t.TempDir()
	passes := scene(t, folder, "passes", empty, `  steps: [{expect: {that: "seed('a').shoots == 0"}}]`)
	fails := scene(t, folder, "fails", empty, `  steps: [{expect: {that: "seed('a').shoots == 1", within: 1ms}}]`)
	wrong := scene(t, folder, "wrong", empty, "  steps: []")
	for name, c := range map[string]struct {
		files []string
		code  int
	}{
		"passes": {[]string{passes}, 0}, "fails": {[]string{fails}, 1}, "wrong": {[]string{wrong}, 2},
		"both": {[]string{passes, fails}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			command := newRunCommand(map[string]Backend{"small": &small{t: t}}, nil, impatient)
			command.SetArgs(append(c.files, "--backend", "small", "--out", t.TempDir(), "--seed", "5"))
			command.SetOut(io.Discard)
			command.SilenceErrors, command.SilenceUsage = true, true
			err, code := command.ExecuteContext(t.Context()), 0
			var coder interface{ ExitCode() int }
			if errors.As(err, &coder) {
				code = coder.ExitCode()
			}
			if code != c.code || (err == nil) != (c.code == 0) {
				t.Errorf("exit code %d (%v), want %d", code, err, c.code)
			}
		})
	}
}

// unfit is a backend on a machine that lacks what it needs.
type unfit struct{ small }

func (u *unfit) AddFlags(flags *pflag.FlagSet) {
	flags.String("what-it-needs", "", "a flag of its own")
}

func (u *unfit) Available(context.Context) error { return errors.New("it needs what is not here") }

// fit is a backend with flags, some of which have defaults from the environment.
type fit struct{ unfit }

func (f *fit) AddFlags(flags *pflag.FlagSet) {
	f.unfit.AddFlags(flags)
	flags.String("from-the-environment", "a store", "a flag whose default is the environment's")
	flags.String("left-out", "", "a flag that nobody gives")
}

func (f *fit) Available(context.Context) error { return nil }

// other is a backend with a flag that is not its neighbour's.
type other struct{ unfit }

func (o *other) AddFlags(flags *pflag.FlagSet) {
	flags.String("others", "another's", "a flag of its own")
}

// The command that repeats a run has the flags of its backend, and none of another backend.
func TestRun_BackendFlags_AreRecorded(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	backends := map[string]Backend{"fit": &fit{unfit{small{t: t}}}, "other": &other{unfit{small{t: t}}}}
	command := newRunCommand(backends, nil, impatient)
	command.SetArgs([]string{"--backend=fit", "--what-it-needs=x", "--out=" + folder, "--seed=5", "--unwatched",
		scene(t, t.TempDir(), "quiet", empty, `  steps: [{expect: {that: "seed('a').shoots == 0"}}]`)})
	command.SilenceUsage, command.SilenceErrors = true, true
	var printed bytes.Buffer
	command.SetOut(&printed)
	_ = command.ExecuteContext(t.Context()) // Inconclusive: nobody watched
	const want = "--seed 5 --unwatched '--from-the-environment=a store' --what-it-needs=x"
	report := readReport(t, folder)
	if got := report.Flags(); got != want || !strings.Contains(printed.String(), want) {
		t.Errorf("the run is repeated with %s, want %s; shown is\n%s", got, want, printed.String())
	}
}

// If the machine lacks something, the error is one line, and nothing is written.
func TestBackendThatTheMachineHasNot(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	out := filepath.Join(folder, "out")
	u := &unfit{small{t: t}}
	command := newRunCommand(map[string]Backend{"unfit": u}, nil, impatient)
	command.SilenceUsage, command.SilenceErrors = true, true
	command.SetArgs([]string{"--backend=unfit", "--what-it-needs=x", "--out=" + out, write(t, folder, "unfit")})
	var printed bytes.Buffer
	command.SetOut(&printed)
	err := command.ExecuteContext(t.Context())
	var coder interface{ ExitCode() int }
	if err == nil || err.Error() != "it needs what is not here" || !errors.As(err, &coder) || coder.ExitCode() != 2 {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) || printed.Len() > 0 || len(u.started) > 0 {
		t.Errorf("written or started all the same: %v, %q, %d", err, printed.String(), len(u.started))
	}
}
