package validation_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/validation"
)

// Objects that the field's own API server has written are accepted, but for those that no API server would have let
// pass.
func TestOracleObjects_AreAccepted(t *testing.T) {
	t.Parallel()
	file, err := os.Open("../../api/core/v1beta1/testdata/objects.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	zipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	looked, got := map[string]int{}, map[string][]string{}
	lines := bufio.NewScanner(zipped)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var object struct {
			Kind     string
			Metadata struct{ Name string }
		}
		shoot, profile := &gardencorev1beta1.Shoot{}, &gardencorev1beta1.CloudProfile{}
		if err := json.Unmarshal(lines.Bytes(), &object); err != nil {
			t.Fatal(err)
		}
		looked[object.Kind]++
		switch object.Kind {
		case "Shoot":
			if err := json.Unmarshal(lines.Bytes(), shoot); err != nil {
				t.Fatal(err)
			}
			for _, refused := range validation.Shoot(shoot, validation.Surroundings{}) {
				got[shoot.Name] = append(got[shoot.Name], refused.Field)
			}
		case "CloudProfile":
			if err := json.Unmarshal(lines.Bytes(), profile); err != nil {
				t.Fatal(err)
			}
			for _, refused := range validation.CloudProfile(profile) {
				got[profile.Name] = append(got[profile.Name], refused.Field)
			}
		}
	}
	want := map[string][]string{
		"x": {"spec.provider.type", "spec.region", "spec.provider.type", "spec.region"},
		// two that are nothing but a hibernation
		"abc": {"spec.provider.workers[3].name"}, // it has a pool twice
	}
	if diff := cmp.Diff(want, got); diff != "" || looked["Shoot"] < 20 || looked["CloudProfile"] < 2 {
		t.Errorf("refused fields of %v (-want +got):\n%s", looked, diff)
	}
}
