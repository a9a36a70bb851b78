package maintenance_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance"
	"github.com/transplant-sim/transplant/controllers/maintenance/oracletest"
	"github.com/transplant-sim/transplant/controllers/maintenance/version"
)

type question struct {
	ID           string                         `json:"id"`
	Now          time.Time                      `json:"now"`
	CloudProfile gardencorev1beta1.CloudProfile `json:"cloudProfile"`
	Shoot        gardencorev1beta1.Shoot        `json:"shoot"`
}

type update struct {
	From  string        `json:"from"`
	To    string        `json:"to"`
	Class version.Class `json:"class"`
	Cause version.Cause `json:"cause,omitempty"`
}

type pool struct {
	Kubernetes   *update `json:"kubernetes,omitempty"`
	MachineImage *update `json:"machineImage,omitempty"`
}

type answer struct {
	Maintained      bool            `json:"maintained"`
	ControlPlane    update          `json:"controlPlane"`
	Workers         map[string]pool `json:"workers"`
	LastMaintenance struct {
		State gardencorev1beta1.LastOperationState `json:"state,omitempty"`
	} `json:"lastMaintenance"`
}

// judge puts the plan of a case in the form of its answer. A shoot that is not maintained keeps its versions.
func judge(q question) (answer, gardencorev1beta1.ShootSpec) {
	plan := maintenance.Decide(&q.Shoot, &q.CloudProfile, q.Now, maintenance.Config{})
	due := maintenance.Due(&q.Shoot, q.Now)
	short := func(u *version.Update) *update {
		switch {
		case u == nil:
			return nil
		case !due:
			return &update{From: u.From, To: u.From, Class: version.None}
		default:
			return &update{From: u.From, To: u.To, Class: u.Class, Cause: u.Cause}
		}
	}
	got := answer{Maintained: due, ControlPlane: *short(&plan.ControlPlane), Workers: map[string]pool{}}
	for _, p := range plan.Pools {
		got.Workers[p.Name] = pool{Kubernetes: short(p.Kubernetes), MachineImage: short(p.MachineImage)}
	}
	after := plan.Shoot
	if !due {
		after = &q.Shoot
	}
	if after.Status.LastMaintenance != nil {
		got.LastMaintenance.State = after.Status.LastMaintenance.State
	}
	return got, after.Spec
}

// deviations are our answers to the cases that contradict what we are to do, by case (docs/deviations.md).
func deviations(t *testing.T) map[string]answer {
	t.Helper()
	content, err := os.ReadFile("testdata/deviations.json")
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]answer{}
	if err := json.Unmarshal(content, &answers); err != nil {
		t.Fatal(err)
	}
	return answers
}

func TestOracleMaintenance(t *testing.T) {
	t.Parallel()
	ours := deviations(t)
	for _, c := range oracletest.Read[question, answer](t, "testdata/maintenance.jsonl.gz") {
		var spec gardencorev1beta1.ShootSpec
		if err := json.Unmarshal(c.Spec, &spec); err != nil {
			t.Fatal(err)
		}
		if c.Want.Workers == nil {
			c.Want.Workers = map[string]pool{}
		}
		got, after := judge(c.In)
		if deviation, deviates := ours[c.In.ID]; deviates {
			if cmp.Equal(c.Want, deviation) {
				t.Errorf("%s: the case does not deviate", c.In.ID)
			}
			c.Want = deviation
			setVersions(&spec, deviation)
			delete(ours, c.In.ID)
		}
		if diff := cmp.Diff(c.Want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.In.ID, diff)
		}
		if diff := cmp.Diff(spec, after); diff != "" {
			t.Errorf("%s: specification (-want +got):\n%s", c.In.ID, diff)
		}
	}
	for id := range ours {
		t.Errorf("%s deviates, and is no case", id)
	}
}

// setVersions makes a specification what an answer says.
func setVersions(spec *gardencorev1beta1.ShootSpec, a answer) {
	spec.Kubernetes.Version = a.ControlPlane.To
	for i := range spec.Provider.Workers {
		worker := &spec.Provider.Workers[i]
		if update := a.Workers[worker.Name].Kubernetes; update != nil {
			worker.Kubernetes.Version = &update.To
		}
		if update := a.Workers[worker.Name].MachineImage; update != nil {
			worker.Machine.Image.Version = &update.To
		}
	}
}

// TestOracleDeviationsAreDocumented holds the page and the answers to each other.
func TestOracleDeviationsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/deviations.md")
	if err != nil {
		t.Fatal(err)
	}
	for id := range deviations(t) {
		if !strings.Contains(string(page), "`"+id+"`") {
			t.Errorf("docs/deviations.md does not list the case %s", id)
		}
	}
}
