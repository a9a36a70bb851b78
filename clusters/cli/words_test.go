package cli_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/clusters/cli"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// say runs a command in this process, and gives what it prints, or its error with PROGRAM for this program's name.
func say(t *testing.T, args ...string) string {
	t.Helper()
	return sayWith(t, cli.Configure{}, args...)
}

func sayWith(t *testing.T, configure cli.Configure, args ...string) string {
	t.Helper()
	root := &cobra.Command{Use: "transplant", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(cli.NewCommands(configure)...)
	var out bytes.Buffer
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&out)
	if err := root.ExecuteContext(t.Context()); err != nil {
		return "error: " + strings.ReplaceAll(err.Error(), os.Args[0], "PROGRAM")
	}
	return out.String()
}

// written is a landscape that is locked by this process and has the files of one that is up, but nothing that runs.
func written(t *testing.T, name string) (rundir.Dir, *rundir.Lock) {
	t.Helper()
	home := t.TempDir()
	t.Setenv(rundir.HomeVariable, home)
	dir, err := rundir.Of(home, name)
	if err != nil {
		t.Fatal(err)
	}
	lock, _, err := dir.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Unlock() }) // may be unlocked already
	return dir, lock
}

func writeState(t *testing.T, dir rundir.Dir) rundir.State {
	t.Helper()
	running := []rundir.ProcessState{{Name: "etcd", ID: process.Self()}}
	state := rundir.State{
		Name: dir.Name, Slot: 3, Supervisor: process.Self(), Ready: time.Date(2026, 11, 21, 12, 0, 0, 0, time.Local),
		Clusters: []rundir.ClusterState{{Name: "garden", Role: "garden", URL: "https://127.0.3.1:6443", Processes: running},
			{Name: "a", Role: "seed", URL: "https://127.0.3.2:6443", Processes: running}},
		Links: []rundir.LinkState{{Actor: "gardenlet-a", Target: "garden", URL: "https://127.0.3.9:7000"}},
	}
	if err := dir.WriteState(state); err != nil {
		t.Fatal(err)
	}
	return state
}

func TestLose_LandscapeOfARun_SaysWhoBreaksIt(t *testing.T) {
	dir, _ := written(t, "run")
	writeState(t, dir)
	want := `error: lose cluster "a": landscape "run" is that of a run: have a fault of its scenario do it, or start a ` +
		"landscape with up"
	if got := say(t, "lose", "a", "--landscape", "run"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTablesOfStatus(t *testing.T) {
	dir, _ := written(t, "default")
	state := writeState(t, dir)
	_, tables, _ := strings.Cut(say(t, "status"), "\n\n")
	want := `CLUSTER  ROLE    URL                     PROCESSES
garden   garden  https://127.0.3.1:6443  1 of 1 run
a        seed    https://127.0.3.2:6443  1 of 1 run

ACTOR        TARGET  LINK
gardenlet-a  garden  https://127.0.3.9:7000
`
	if diff := cmp.Diff(want, tables); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	state.Links = nil
	if err := dir.WriteState(state); err != nil {
		t.Fatal(err)
	}
	if text := say(t, "status"); strings.Contains(text, "ACTOR") || !strings.HasSuffix(text, "1 of 1 run\n") {
		t.Errorf("without links: %q", text)
	}
	state.Clusters[1].Kubeconfig = "/home/a.kubeconfig"
	if err := dir.WriteState(state); err != nil {
		t.Fatal(err)
	}
	if got := say(t, "status", "-o", "wide"); !strings.Contains(got, "PROCESSES   KUBECONFIG\n") ||
		!strings.Contains(got, "1 of 1 run  /home/a.kubeconfig\n") {
		t.Errorf("wide:\n%s", got)
	}
	if got, want := say(t, "status", "-o", "xml"),
		`error: invalid argument "xml" for "-o, --output" flag: must be one of text, json, yaml, wide`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A cluster that is lost has no processes on purpose, so status is no error.
func TestStatus_ClustersAreLostOrFrozen_SaysSo(t *testing.T) {
	dir, _ := written(t, "default")
	state := writeState(t, dir)
	state.Clusters[0].Outage, state.Clusters[1].Outage = rundir.Frozen, rundir.Lost
	gone := []rundir.ProcessState{{Name: "a/etcd", ID: process.ID{PID: 1 << 30}}}
	state.Links, state.Clusters[1].Processes = nil, gone
	if err := dir.WriteState(state); err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(say(t, "status"), "\n\n")
	want := `CLUSTER  ROLE    URL                     PROCESSES
garden   garden  https://127.0.3.1:6443  1 of 1 run, frozen
a        seed    https://127.0.3.2:6443  0 of 1 run, lost
`
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := say(t, "status", "-o", "yaml"); !strings.Contains(got, "outage: frozen\n") ||
		!strings.Contains(got, "outage: lost\n") {
		t.Errorf("as YAML:\n%s", got)
	}
	state.Clusters[0].Processes = gone
	if err := dir.WriteState(state); err != nil {
		t.Fatal(err)
	}
	const dead = "error: the landscape is not whole: a/etcd ended"
	if got := say(t, "status"); got != dead {
		t.Errorf("a process of a frozen cluster is dead: got %q, want %q", got, dead)
	}
}

// A name that no cluster has is noticed before anything is asked of the supervisor, which is not there.
func TestLose_OneNameIsWrong_ListsTheClusters(t *testing.T) {
	dir, _ := written(t, "default")
	writeState(t, dir)
	for name, want := range map[string]string{
		"":        `error: lose cluster "": there are garden, a`,
		"..":      `error: lose cluster "..": there are garden, a`,
		"/":       `error: lose cluster "/": there are garden, a`,
		"gardeen": `error: lose cluster "gardeen": there are garden, a; did you mean "garden"?`,
	} {
		if got := say(t, "lose", "a", name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// Status lists the shoots if there are any, and if the garden can be asked.
func TestStatus_GardenHasShoots_ListsThem(t *testing.T) {
	dir, _ := written(t, "default")
	state := writeState(t, dir)
	state.Links, state.Clusters[0].Kubeconfig = nil, "garden.kubeconfig"
	if err := dir.WriteState(state); err != nil {
		t.Fatal(err)
	}
	const clusters = "a        seed    https://127.0.3.2:6443  1 of 1 run\n"
	for name, c := range map[string]struct {
		shoots []cli.Shoot
		err    error
		want   string
	}{
		"none": {},
		"two": {shoots: []cli.Shoot{{Name: "garden-p/alpha", Seed: "a", LastOperation: "Create Succeeded"},
			{Name: "garden-p/beta", Seed: "b", LastOperation: "-"}},
			want: "\nSHOOT           SEED  EPOCH  LAST OPERATION\ngarden-p/alpha  a     -      Create Succeeded\n" +
				"garden-p/beta   b     -      -\n"},
		"one with errors": {shoots: []cli.Shoot{{Name: "garden-p/alpha", Seed: "a", Epoch: 2, LastOperation: "Create Error",
			LastErrors: []string{"no quota"}}},
			want: "\nSHOOT           SEED  EPOCH  LAST OPERATION\ngarden-p/alpha  a     2      Create Error\n" +
				"\ngarden-p/alpha: no quota\n"},
		"the garden is away": {err: errors.New("connection refused"),
			want: "\nThe shoots are not known: connection refused\n"},
	} {
		t.Run(name, func(t *testing.T) {
			text := sayWith(t, cli.Configure{Shoots: func(_ context.Context, kubeconfig string) ([]cli.Shoot, error) {
				if kubeconfig != "garden.kubeconfig" {
					t.Errorf("asked with %q", kubeconfig)
				}
				return c.shoots, c.err
			}}, "status")
			if _, got, _ := strings.Cut(text, clusters); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// A landscape that is watched is printed once, and then a line for each change.
func TestStatus_Watch_PrintsChanges(t *testing.T) {
	dir, lock := written(t, "default")
	state := writeState(t, dir)
	state.Clusters[0].Kubeconfig = "garden.kubeconfig"
	if err := dir.WriteState(state); err != nil {
		t.Fatal(err)
	}
	looks := [][]cli.Shoot{
		{{Name: "p/alpha", Seed: "a", Epoch: 1, LastOperation: "Create Succeeded"}},
		{{Name: "p/alpha", Seed: "a", Epoch: 1, LastOperation: "Create Succeeded"}}, // no change
		{{Name: "p/alpha", Seed: "a, bound to b", Epoch: 1, LastOperation: "Migrate Error", LastErrors: []string{"why"}}},
		nil, // the garden does not answer
		{{Name: "p/beta", Seed: "b", LastOperation: "-"}},
	}
	var look int
	shoots := func(context.Context, string) ([]cli.Shoot, error) {
		now := looks[min(look, len(looks)-1)]
		look++
		if outage := map[int]rundir.Outage{2: rundir.Frozen}[look]; outage != state.Clusters[1].Outage {
			state.Clusters[1].Outage = outage // the next look sees it
			if err := dir.WriteState(state); err != nil {
				return nil, err
			}
		}
		if now == nil {
			return nil, errors.New("connection refused")
		}
		if look > len(looks) { // all are seen; the landscape ends
			return now, errors.Join(dir.MarkEnded(), lock.Unlock())
		}
		return now, nil
	}
	root := &cobra.Command{Use: "transplant", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(cli.NewCommands(cli.Configure{Shoots: shoots})...)
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs([]string{"status", "-w"})
	if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "it has ended") {
		t.Errorf("the landscape has ended, and the error is %v", err)
	}
	_, changes, _ := strings.Cut(out.String(), "gardenlet-a  garden  https://127.0.3.9:7000\n\n")
	want := `  cluster a  1 of 1 run, frozen
  shoot p/alpha  a, bound to b  epoch 1  Migrate Error; why
  cluster a  1 of 1 run
  shoots  are not known: connection refused
  shoots  are known
  shoot p/beta  b  epoch -  -
  shoot p/alpha  is gone
`
	if got := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d`).ReplaceAllString(changes, ""); got != want {
		t.Errorf("got %q in\n%s\nwant\n%s", got, &out, want)
	}
	for arguments, want := range map[string]string{
		"-w -o json":       "error: --watch prints lines of text: leave --output out",
		"-w --timeout -1s": "error: --timeout -1s: must be positive",
		"--timeout 1s":     "error: --timeout 1s: is how long to watch: add --watch, or leave it out",
	} {
		if got := say(t, append([]string{"status"}, strings.Fields(arguments)...)...); got != want {
			t.Errorf("%s: %q, want %q", arguments, got, want)
		}
	}
}

// The time is over, and the landscape is still there.
func TestStatus_WatchWithTimeout_Ends(t *testing.T) {
	dir, _ := written(t, "default")
	writeState(t, dir)
	if got := say(t, "status", "-w", "--timeout", "1ms"); !strings.HasPrefix(got, `Landscape "default"`) {
		t.Errorf("got %q", got)
	}
}

// TestOnKind: a landscape of containers has no slot, and pods that only its nodes can reach.
func TestOnKind(t *testing.T) {
	dir, _ := written(t, "default")
	state := writeState(t, dir)
	state.Backend, state.Slot = "kind", -1
	if err := dir.WriteState(state); err != nil {
		t.Fatal(err)
	}
	if text := say(t, "status"); !strings.HasPrefix(text, `Landscape "default", on kind, supervisor `) {
		t.Errorf("status says %q", text)
	}
	const want = `error: list the scrape targets of the landscape "default": it is on kind, where only a pod's ` +
		`node knows its address`
	if got := say(t, "scrape-targets", "--address=127.0.0.1:0"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestStatusKnowsTheLivesOfLandscapes: from before it is up until after it has ended, or died.
func TestStatusKnowsTheLivesOfLandscapes(t *testing.T) {
	dir, lock := written(t, "mine")
	status := func(want string) {
		t.Helper()
		if got := say(t, "status", "--landscape=mine"); got != "error: look at the landscape \"mine\": "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	status("it is starting, or being stopped again: wait for it")
	writeState(t, dir)
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	const notUp = `the landscape is not up: start it with "PROGRAM up --landscape mine"`
	status(notUp + ` (its supervisor died; the next "up" or "down" clears ` + dir.Path + ")")
	if err := dir.MarkEnded(); err != nil {
		t.Fatal(err)
	}
	status(notUp + " (it has ended; its logs are in " + dir.Path + ")")
	if lock, _, err := dir.Acquire(); err != nil || dir.Ended() || lock.Unlock() != nil {
		t.Errorf("a fresh folder is marked as ended: %v", err)
	}
	status(notUp)
	if err := os.RemoveAll(dir.Path); err != nil {
		t.Fatal(err)
	}
	if err := dir.MarkEnded(); err != nil {
		t.Errorf("mark what is gone: %v", err)
	}
}

// TestHints: when something is elsewhere, the message says where.
func TestHints(t *testing.T) {
	dir, _ := written(t, "mine")
	writeState(t, dir)
	for _, log := range []string{"clusters/a/logs/etcd.log", "clusters/garden/logs/etcd.log"} {
		if err := os.MkdirAll(filepath.Dir(dir.Join(log)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir.Join(log), []byte("lines\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"logs", "a/gardenlet"}, `error: find the log of "a/gardenlet": there are a/etcd, garden/etcd`},
		{[]string{"logs", "gardn/etcd"},
			`error: find the log of "gardn/etcd": there are a/etcd, garden/etcd; did you mean "garden/etcd"?`},
		{[]string{"logs", "a/etcd"}, "lines\n"},
	} {
		if got := say(t, append(c.args, "--landscape=mine")...); got != c.want {
			t.Errorf("%v:\n%s, want\n%s", c.args, got, c.want)
		}
	}
}

// TestList_EachState: each landscape has its state, also one that has ended.
func TestList_EachState(t *testing.T) {
	dir, lock := written(t, "mine")
	home := filepath.Dir(dir.Path)
	const starting = "NAME  STATE     BACKEND  SEEDS  UP SINCE\nmine  starting  -        -      -\n"
	if got := say(t, "list"); got != starting {
		t.Errorf("while it starts:\n%s, want\n%s", got, starting)
	}
	writeState(t, dir)
	const ready = "NAME  STATE  BACKEND   SEEDS  UP SINCE\nmine  ready  embedded  a      2026-11-21 12:00:00\n"
	if got := say(t, "list"); got != ready {
		t.Errorf("ready:\n%s, want\n%s", got, ready)
	}
	if got := say(t, "list", "-o", "wide"); !strings.Contains(got, filepath.Join(home, "mine")) {
		t.Errorf("wide:\n%s", got)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if got := say(t, "list", "-o", "yaml"); !strings.Contains(got, "state: dead\n") {
		t.Errorf("its supervisor died:\n%s", got)
	}
	if err := dir.MarkEnded(); err != nil {
		t.Fatal(err)
	}
	if got := say(t, "list", "-o", "json"); !strings.Contains(got, `"state": "ended"`) {
		t.Errorf("ended:\n%s", got)
	}
	if got := say(t, "__complete", "status", "--landscape", ""); !strings.HasPrefix(got, "mine\tended\n") {
		t.Errorf("completed:\n%s", got)
	}
}

// TestKubeconfigsOfShoots: a shoot is reached by its name alone, as it has no kubeconfig but its user's.
func TestKubeconfigsOfShoots(t *testing.T) {
	dir, _ := written(t, "default")
	state := writeState(t, dir)
	for i, c := range state.Clusters {
		state.Clusters[i].Kubeconfig = dir.Join(c.Name)
	}
	if err := dir.WriteState(state); err != nil {
		t.Fatal(err)
	}
	const none = `error: find a cluster or shoot "alpha": the clusters are garden, a; no shoot has a kubeconfig yet`
	if got := say(t, "kubeconfig", "alpha"); got != none {
		t.Errorf("before there is a shoot: %s, want\n%s", got, none)
	}
	for _, target := range []string{"alpha", "a"} { // a shoot, too
		if err := dir.WriteKubeconfig("user", target, []byte("of the user")); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"alpha"}, "of the user"},
		{[]string{"alpha", "--actor=user"}, "of the user"},
		{[]string{"alpha", "--path"}, dir.Kubeconfig("user", "alpha") + "\n"},
		{[]string{"a", "--path"}, dir.Join("a") + "\n"},
		{[]string{"a", "--path", "--actor=observer"}, dir.Join("a") + "\n"},
		{[]string{"a", "--path", "--actor=user"}, dir.Kubeconfig("user", "a") + "\n"},
		{[]string{"beta"}, `error: find a cluster or shoot "beta": the clusters are garden, a; shoots with a kubeconfig ` +
			`are a, alpha`},
		{[]string{"alhpa"}, `error: find a cluster or shoot "alhpa": the clusters are garden, a; shoots with a kubeconfig ` +
			`are a, alpha; did you mean "alpha"?`},
		{[]string{"alpha", "--actor=usr"},
			`error: find the kubeconfig of actor "usr" for "alpha": there are user.a, user.alpha; did you mean "user"?`},
		{[]string{"alpha", "--actor=observer"},
			`error: find the cluster "alpha": there are garden, a; the kubeconfig of a shoot is its user's: leave --actor ` +
				`out; shoots with a kubeconfig are a, alpha`},
		{[]string{"alpha", "--actor=ghost"},
			`error: find the kubeconfig of actor "ghost" for "alpha": there are user.a, user.alpha`},
	} {
		if got := say(t, append([]string{"kubeconfig"}, c.args...)...); got != c.want {
			t.Errorf("%v:\n%s, want\n%s", c.args, got, c.want)
		}
	}
}

// TestUpWritesNothingForAMistake: nor does it start anything.
func TestUpWritesNothingForAMistake(t *testing.T) {
	home := t.TempDir()
	t.Setenv(rundir.HomeVariable, home)
	for _, c := range []struct{ flag, want string }{
		{"--seeds=a,a", `error: name the seed "a": the name is used twice`},
		{"--seeds=garden", `error: name the seed "garden": the name is used twice`},
		{"--seeds=Foo_1", `error: name the seed "Foo_1": a lowercase RFC 1123 label must consist of`},
		{"--seeds=a,b,c,d,e,f,g,h,i,j", "error: plan the landscape: 10 seeds, at most "},
		{"--landscape=Foo_1", `error: name the landscape "Foo_1": a lowercase RFC 1123 label must consist of`},
		{"--backend=kid", `error: find the backend "kid": there are embedded, kind; did you mean "kind"?`},
		{"--slot=28", "error: claim slot 28: there are slots 0 to 27"},
	} {
		if got := say(t, "up", c.flag); !strings.HasPrefix(got, c.want) {
			t.Errorf("up %s: %q, want %q", c.flag, got, c.want)
		}
	}
	if entries, err := os.ReadDir(home); err != nil || len(entries) > 0 {
		t.Errorf("there are %v, %v", entries, err)
	}
}

// A mistake in the ring that is asked for is said before anything is made.
func TestUp_RingThatCannotBe_SaysWhy(t *testing.T) {
	home := t.TempDir()
	t.Setenv(rundir.HomeVariable, home)
	configure := cli.Configure{Ring: func(members int) ([]string, error) {
		if members < 3 {
			return nil, errors.New("too small")
		}
		return strings.Split("first,a,b,c,d,e,f,g", ",")[:members+1], nil
	}}
	for args, want := range map[string]string{
		"--ring=2":               "error: --ring 2: too small",
		"--ring=3 --seeds=a,b":   "error: --ring 3: it names its seeds itself: leave --seeds out",
		"--ring=3 --nodes=false": "error: --ring 3: the control planes of its seeds are pods: leave --nodes=false out",
		"--ring=3 --backend=kind": "error: --ring 3: seeds that are shoots are on backend embedded only: leave " +
			"--backend kind out",
		"--ring=7":                 "error: plan the landscape: 8 seeds, at most 6 fit",
		"--ring=3 --from=anything": "error: --ring: the checkpoint of --from anything has its own: leave the flag out",
	} {
		if got := sayWith(t, configure, append([]string{"up"}, strings.Fields(args)...)...); got != want {
			t.Errorf("up %s: %q, want %q", args, got, want)
		}
	}
	if got := say(t, "up", "--ring=3"); got != "error: unknown flag: --ring" {
		t.Errorf("where there are no rings: %q", got)
	}
	if entries, err := os.ReadDir(home); err != nil || len(entries) > 0 {
		t.Errorf("there are %v, %v", entries, err)
	}
}
