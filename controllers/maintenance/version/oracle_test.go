package version_test

import (
	"testing"
	"time"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/oracletest"
	"github.com/transplant-sim/transplant/controllers/maintenance/version"
)

type question struct {
	ID             string                               `json:"id"`
	Function       string                               `json:"function"`
	CurrentVersion string                               `json:"currentVersion"`
	Versions       []gardencorev1beta1.ExpirableVersion `json:"versions"`
}

type answer struct {
	Found   bool   `json:"found"`
	Version string `json:"version"`
}

// TestOracleVersionSelection asks for single steps of the selection under the names they have in the field.
func TestOracleVersionSelection(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
	for _, c := range oracletest.Read[question, answer](t, "testdata/version_select.jsonl.gz") {
		current, err := version.Parse(c.In.CurrentVersion)
		if err != nil {
			t.Fatal(err)
		}
		offers, _ := version.OffersAt(c.In.Versions, now)
		var (
			got   version.Offer
			found bool
		)
		switch c.In.Function {
		case "GetLatestVersionForPatchAutoUpdate":
			got, found = offers.Auto(current, version.Patch)
		case "GetLatestVersionForMinorAutoUpdate":
			got, found = offers.Auto(current, version.Minor)
		case "GetOverallLatestVersionForAutoUpdate":
			got, found = offers.Auto(current, version.Major)
		case "GetVersionForForcefulUpdateToConsecutiveMinor":
			got, found = offers.Force(current, version.Kubernetes)
		case "GetVersionForForcefulUpdateToNextHigherMinor":
			got, found = offers.Force(current, version.Patch)
		case "GetVersionForForcefulUpdateToNextHigherMajor":
			got, found = offers.Force(current, version.Minor)
		default:
			t.Fatalf("%s: no such function: %s", c.In.ID, c.In.Function)
		}
		if found != c.Want.Found || got.Text != c.Want.Version {
			t.Errorf("%s: %s from %s: got %q, %t, want %q, %t", c.In.ID, c.In.Function, c.In.CurrentVersion, got.Text, found,
				c.Want.Version, c.Want.Found)
		}
	}
}
