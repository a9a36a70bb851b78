package window_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/oracletest"
	"github.com/transplant-sim/transplant/controllers/maintenance/window"
)

type question struct {
	ID                 string    `json:"id"`
	Begin              string    `json:"begin"`
	End                string    `json:"end"`
	Now                time.Time `json:"now"`
	RandomFraction     float64   `json:"randomFraction"`
	LastReconciliation time.Time `json:"lastReconciliation"`
}

type side struct {
	AdjustedBegin             time.Time  `json:"adjustedBegin"`
	AdjustedEnd               time.Time  `json:"adjustedEnd"`
	BeginUTC                  string     `json:"beginUTC"`
	EndUTC                    string     `json:"endUTC"`
	Contains                  bool       `json:"contains"`
	DurationSeconds           float64    `json:"durationSeconds"`
	NextRandom                *time.Time `json:"nextRandom"`
	NextRandomShiftBeginToNow *time.Time `json:"nextRandomShiftBeginToNow"`
}

type answer struct {
	Raw            *side  `json:"raw"`
	Effective      *side  `json:"effective"`
	IsNowIn        bool   `json:"isNowInEffectiveShootMaintenanceTimeWindow"`
	LastReconciled bool   `json:"lastReconciliationDuringThisTimeWindow"`
	ParseError     string `json:"parseError"`
}

func TestOracleWindows(t *testing.T) {
	t.Parallel()
	for _, c := range oracletest.Read[question, answer](t, "testdata/window.jsonl.gz") {
		shoot := &gardencorev1beta1.Shoot{Spec: gardencorev1beta1.ShootSpec{Maintenance: &gardencorev1beta1.Maintenance{
			TimeWindow: &gardencorev1beta1.MaintenanceTimeWindow{Begin: c.In.Begin, End: c.In.End},
		}}}
		effective := window.EffectiveOf(shoot)
		got := answer{
			IsNowIn:        effective.Contains(c.In.Now),
			LastReconciled: effective.ReconciledIn(c.In.LastReconciliation, c.In.Now),
			ParseError:     c.Want.ParseError,
		}
		written, err := window.Parse(c.In.Begin, c.In.End)
		if (err != nil) != (c.Want.ParseError != "") {
			t.Errorf("%s: parse error %v, want %q", c.In.ID, err, c.Want.ParseError)
		}
		if err == nil {
			got.Raw, got.Effective = look(written, c.In.Now), look(effective, c.In.Now)
			moment, shifted := effective.Moment(c.In.Now, c.In.RandomFraction),
				effective.MomentFromNow(c.In.Now, c.In.RandomFraction)
			got.Effective.NextRandom, got.Effective.NextRandomShiftBeginToNow = &moment, &shifted
		}
		if diff := cmp.Diff(c.Want, got); diff != "" {
			t.Errorf("%s: %s–%s at %s (-want +got):\n%s", c.In.ID, c.In.Begin, c.In.End, c.In.Now, diff)
		}
	}
}

func look(w window.Window, now time.Time) *side {
	begin, end := w.Texts()
	return &side{
		AdjustedBegin: w.BeginOn(now), AdjustedEnd: w.EndOn(now), BeginUTC: begin, EndUTC: end,
		Contains: w.Contains(now), DurationSeconds: w.Duration().Seconds(),
	}
}
