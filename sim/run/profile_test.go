package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// profiled is the folder of a run that has sent so many requests.
func profiled(t *testing.T, requests int64) string {
	t.Helper()
	folder := t.TempDir()
	file, err := os.Create(filepath.Join(folder, timeline.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	now := testingclock.NewFakePassiveClock(time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC))
	journal := timeline.NewJournal(now, file)
	now.SetTime(now.Now().Add(10 * time.Second))
	journal.Record(timeline.Event{Payload: timeline.CostSeen{
		Processes: []timeline.ProcessSeen{{PID: 1, Program: "run", CPU: timeline.Length(1500 * time.Millisecond),
			WakeUps: 9}, {PID: 2, Parent: 1, Program: "etcd", CPU: timeline.Length(6 * time.Second)}},
		Links: []timeline.LinkSeen{{From: "gardenlet-a", To: "garden", Requests: requests, BytesToClient: 77,
			Kinds: []timeline.RequestsSeen{{Verb: "get", Resource: "seeds.core.gardener.cloud", Requests: requests}}}},
	}})
	return folder
}

func TestProfile_AgainstAnotherRun_FailsIfRequestsHaveDoubled(t *testing.T) {
	t.Parallel()
	few := profiled(t, 30)
	out, err := printed(t.Context(), NewProfileCommand(), few)
	for _, want := range []string{"run", "1.50 CPU s", "9 wake-ups", "30 requests", "77 bytes",
		"all phases: harness 1.50 CPU s, 25 % of the 6.00 CPU s that it watches (run 1.50)",
		"get seeds.core.gardener.cloud"} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("the profile does not say %q: %v\n%s", want, err, out)
		}
	}
	asJSON, err := printed(t.Context(), NewProfileCommand(), few, "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	against := filepath.Join(t.TempDir(), "profile.json")
	if err := os.WriteFile(against, []byte(asJSON), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := printed(t.Context(), NewProfileCommand(), profiled(t, 59), "--against", against); err != nil {
		t.Errorf("less than twice as many requests: %v\n%s", err, out)
	}
	command, found, ended := NewProfileCommand(), &strings.Builder{}, ended{}
	command.SetErr(found)
	_, err = printed(t.Context(), command, profiled(t, 60), "--against", against)
	if !errors.As(err, &ended) || ended.ExitCode() != 1 || !strings.Contains(found.String(),
		"gardenlet-a sent 60 × get seeds.core.gardener.cloud to garden; expected about 30") {
		t.Errorf("twice as many requests: %v\n%s", err, found)
	}
}

func TestProfile_HarnessAtMost_FailsAboveIt(t *testing.T) {
	t.Parallel()
	folder := profiled(t, 1)
	if out, err := printed(t.Context(), NewProfileCommand(), folder, "--harness-at-most", "25"); err != nil {
		t.Errorf("at the bound: %v\n%s", err, out)
	}
	command, found, ended := NewProfileCommand(), &strings.Builder{}, ended{}
	command.SetErr(found)
	_, err := printed(t.Context(), command, folder, "--harness-at-most", "24.9")
	if !errors.As(err, &ended) || ended.ExitCode() != 1 ||
		!strings.Contains(found.String(), "all phases: harness 1.50 CPU s, 25 %") {
		t.Errorf("above the bound: %v\n%s", err, found)
	}
}

func TestProfile_BadInput_SaysWhatToDo(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	if err := os.WriteFile(filepath.Join(empty, timeline.FileName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte("phases"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no run":           {[]string{t.TempDir()}, timeline.FileName},
		"a broken profile": {[]string{profiled(t, 1), "--against", broken}, "is not what transplant profile -o json prints"},
		"no share":         {[]string{profiled(t, 1), "--harness-at-most", "NaN"}, "must be at least 0"},
		"less than none":   {[]string{profiled(t, 1), "--harness-at-most", "-1"}, "must be at least 0"},
		"no profile":       {[]string{profiled(t, 1), "--against", broken + "x"}, "read the other profile"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if out, err := printed(t.Context(), NewProfileCommand(), c.args...); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q\n%s", err, c.want, out)
			}
		})
	}
}
