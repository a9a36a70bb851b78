package run

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/story"
	"github.com/transplant-sim/transplant/sim/verdict"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// small is a backend of small worlds.
type small struct {
	t       *testing.T
	bug     worldtest.Bug
	refuse  map[world.Ability]error
	fail    error
	started []*worldtest.World
}

func (s *small) Can(ability world.Ability) error { return s.refuse[ability] }

func (s *small) Start(_ context.Context, request Request) (world.World, error) {
	if s.fail != nil {
		return nil, s.fail
	}
	request.Progress("making a small world")
	w := worldtest.New(s.t, request.Landscape.SeedNames()...)
	w.Bug = s.bug
	s.started = append(s.started, w)
	return w, nil
}

const story1 = `
apiVersion: transplant.dev/v1alpha1
kind: Scenario
metadata: {name: NAME}
spec:
  why: a small story
  landscape:
    seeds: [{name: a}, {name: b}]
    shoots: [{name: alpha, seed: a, workers: 2, objects: 20}]
  steps:
  - load:    {shoot: alpha, writesPerSecond: 50}
  - wait:    {for: 300ms, because: there shall be writes before the migration}
  - migrate: {shoot: alpha, to: b}
  - expect:  {that: "shoot('alpha').seed == 'b' && shoot('alpha').healthy", within: WITHIN}
  - expect:  {that: "seed('a').shoots == 0", within: 5s}
  settleWithin: WITHIN
  always: [SingleWriter, NoLostWrite, Linearizable, CloudUntouched, NodesPreserved, NoOrphans, Revisions, MigrationEnds]
  measure: {apiDowntime: {max: 5s}, lostWrites: {max: 0}}
`

func write(t *testing.T, folder, name string, replace ...string) string {
	t.Helper()
	text := strings.NewReplacer(append(replace, "NAME", name, "WITHIN", "10s")...).Replace(story1)
	file := filepath.Join(folder, name+".yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// tell runs files and returns what was printed, the worst verdict and the verdicts by folder.
func tell(t *testing.T, s *small, folder string, files ...string) (string, verdict.Verdict, error) {
	t.Helper()
	var out bytes.Buffer
	r := &runner{
		clock: clock.RealClock{}, backends: map[string]Backend{"small": s}, backend: "small", out: &out, folder: folder, randomSeed: 7,
		patience: story.Patience{Raise: 20 * time.Second, Still: 2 * time.Second},
	}
	worst, err := r.run(t.Context(), files)
	return out.String(), worst, err
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

func TestAMigrationIsHeld(t *testing.T) {
	t.Parallel()
	s := &small{t: t}
	folder := t.TempDir()
	out, worst, err := tell(t, s, folder, write(t, t.TempDir(), "planned"))
	if err != nil || worst != verdict.Held {
		t.Fatalf("verdict %s, %v\n%s", worst, err, out)
	}
	report := readReport(t, folder)
	if report.Scenario != "planned" || report.Backend != "small" || report.RandomSeed != 7 || len(report.Violations) != 0 {
		t.Errorf("report %+v", report)
	}
	m := report.Measures
	if m.APIDowntimeSeconds == nil || *m.APIDowntimeSeconds < 0.2 || m.LostWrites == nil || *m.LostWrites != 0 || m.Phases["total"] == 0 || m.RTOSeconds != nil {
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
	for _, want := range []string{"✓ expect shoot('alpha').seed == 'b'", "alpha on b: Restore Succeeded", "Held", "kept in " + folder, "alpha's API does not answer"} {
		if !strings.Contains(out, want) {
			t.Errorf("the view lacks %q:\n%s", want, out)
		}
	}
}

// Each bug is noticed by the oracle that is there for it.
func TestPlantedBugsAreNoticed(t *testing.T) {
	t.Parallel()
	for bug, oracle := range map[worldtest.Bug]string{
		worldtest.LosesWrites:    "NoLostWrite",
		worldtest.NoRevisionBump: "SingleWriter",
		worldtest.LeavesOrphan:   "NoOrphans",
		worldtest.RecreatesCloud: "CloudUntouched",
		worldtest.ReplacesNodes:  "NodesPreserved",
		worldtest.NeverEnds:      "MigrationEnds",
		worldtest.TwoOwners:      "SingleWriter",
	} {
		t.Run(oracle+" "+string(bug), func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			within := "10s"
			if bug == worldtest.NeverEnds {
				within = "500ms"
			}
			out, worst, err := tell(t, &small{t: t, bug: bug}, folder, write(t, t.TempDir(), "planned", "WITHIN", within))
			if err != nil || worst != verdict.Violated {
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
