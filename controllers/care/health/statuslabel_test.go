package health

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// TestOracleStatus asks the cases whose answers the field's own implementation gave.
func TestOracleStatus(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/status.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var known struct {
			In struct {
				ID          string
				ShootStatus gardencorev1beta1.ShootStatus
			}
			Want struct{ Value StatusLabel }
		}
		if err := json.Unmarshal(lines.Bytes(), &known); err != nil {
			t.Fatal(err)
		}
		asked++
		if got, why := Label(&known.In.ShootStatus); got != known.Want.Value {
			t.Errorf("%s: %s because %s, want %s", known.In.ID, got, why, known.Want.Value)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if asked != 134 {
		t.Errorf("%d cases were asked, want 134", asked)
	}
}

// TestLabel: the rows of docs/specification/care.md#spec-5-10 that the known answers do not distinguish by their
// reasons.
func TestLabel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status gardencorev1beta1.ShootStatus
		want   StatusLabel
		why    string
	}{
		"lastOperation nil": {status: gardencorev1beta1.ShootStatus{Conditions: []gardencorev1beta1.Condition{{Type: "A",
			Status: "False"}}}, want: "healthy", why: "there was no operation yet"},
		"Delete": {status: gardencorev1beta1.ShootStatus{LastOperation: operation("Delete", "Error", 0),
			LastErrors: make([]gardencorev1beta1.LastError, 1)}, want: "unhealthy",
			why: "during Delete only errors count: there are last errors"},
		"Processing": {
			status: gardencorev1beta1.ShootStatus{LastOperation: operation("Migrate", "Processing", 0),
				Conditions: []gardencorev1beta1.Condition{{Type: "A", Status: "Unknown"}, {Type: "B", Status: "Progressing"}}},
			want: "unknown", why: "condition A is Unknown",
		},
		"else, Aborted": {status: gardencorev1beta1.ShootStatus{LastOperation: operation("Migrate", "Aborted", 0)},
			want: "unhealthy", why: "the last operation is Aborted"},
		"constraints do not count": {
			status: gardencorev1beta1.ShootStatus{LastOperation: operation("Reconcile", "Succeeded", 0),
				Constraints: []gardencorev1beta1.Condition{{Type: "A", Status: "False"}}},
			want: "healthy", why: "the last operation has succeeded",
		},
	} {
		if got, why := Label(&c.status); got != c.want || why != c.why {
			t.Errorf("%s: %s because %s", name, got, why)
		}
	}
}
