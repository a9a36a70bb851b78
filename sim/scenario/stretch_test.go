package scenario_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/scenario"
)

func TestStretch(t *testing.T) {
	t.Parallel()
	const of = `{"apiVersion":"transplant.dev/v1alpha1","kind":"Scenario","metadata":{"name":"slow"},"spec":{
		"why":"w","steps":[{"expect":{"that":"true","within":"10s"}},{"wait":{"until":"true"}},
			{"wait":{"for":"5s","because":"so it is"}},{"create":{"shoot":"alpha"}}],
		"measure":{"rto":{"max":"45s"},"rpo":{"max":"2s"},"lostWrites":{"max":3}}}}`
	var s scenario.Scenario
	if err := json.Unmarshal([]byte(of), &s); err != nil {
		t.Fatal(err)
	}
	s.Default()
	s.Stretch(1.5)
	steps := s.Spec.Steps
	got := []string{
		steps[0].Expect.Within.Duration.String(), steps[1].Wait.Within.Duration.String(), steps[2].Wait.For.Duration.String(),
		steps[3].Create.Within.Duration.String(), s.Spec.SettleWithin.Duration.String(),
		s.Spec.Measure.RTO.Max.Duration.String(),
	}
	if diff := cmp.Diff([]string{"15s", "1m30s", "5s", "3m0s", "1m30s", "1m7.5s"}, got); diff != "" {
		t.Error(diff)
	}
	if s.Spec.Measure.LostWrites.Max != 3 || s.Spec.Measure.RPO.Max.Duration != 2*time.Second ||
		s.Spec.Measure.APIDowntime != nil {
		t.Errorf("goals that are about data changed: %+v", s.Spec.Measure)
	}
}
