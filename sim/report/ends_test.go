package report

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// Beside a violation stands who had ended before it, and how. What ended later, or was of a control plane, does not.
func TestEndsBefore_ViolationNamesWhoHadEnded(t *testing.T) {
	t.Parallel()
	end := func(at time.Duration, subject, who string, code int) timeline.Event {
		return timeline.Event{At: at, Subject: subject, Payload: timeline.ActorEnded{Who: who, Cluster: "a",
			Container: "main", ExitCode: code}}
	}
	got := endsBefore([]timeline.Event{
		end(time.Second, "vault-a", "vault-a", 1), end(2*time.Second, "vault-a", "vault-a", 3),
		end(2*time.Second, "alpha", "control-planes-a", 1), end(3*time.Second, "gardenlet-a", "gardenlet-a", 2),
		end(9*time.Second, "gateway-a", "gateway-a", 2),
	}, 5*time.Second)
	want := []string{
		"gardenlet-a had ended once, the last time at 3.0 s: main of gardenlet-a has ended in a with exit code 2, 0 restarts",
		"vault-a had ended 2 times, the last time at 2.0 s: main of vault-a has ended in a with exit code 3, 0 restarts",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
