package contract

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A crash that leaves other machines, or another state of a new object, breaks the clause. What undisturbed objects do
// not have alike does not.
func TestDiffers_Crash_ComparesMachinesAndStatus(t *testing.T) {
	t.Parallel()
	const one, two = "m1 id1 node1", "m2 id2 node2"
	created := func(n int, state, results string) *Step {
		s := &Step{Name: Create, Machines: []string{one}}
		s.After.State = []byte(strings.ReplaceAll(state, "N", fmt.Sprint(n)))
		s.After.Results = []byte(strings.ReplaceAll(results, "N", fmt.Sprint(n)))
		return s
	}
	status := func(state, results string) func() Crash {
		return func() Crash {
			const namespace = "shoot--p--crash"
			return Crash{Step: Create, Final: FinalOf(namespace, nil, []*Step{created(9, state, results)})}
		}
	}
	restored := func(now, seen []string) func() Crash {
		return func() Crash {
			s := &Step{Name: Restore, Machines: now, MachinesSeen: seen}
			was := created(1, "", "{}")
			s.After = was.After
			return Crash{Step: Restore, Final: FinalOf("shoot--p--crash", was, []*Step{was, s})}
		}
	}
	const state = `{"id":"net-N","shoot":"a-crash","cidr":"10.0.0.0/8","at":"2026-01-02T03:04:0NZ",` +
		`"nets":{"n-N":{"x":true}}}`
	const results = `{"providerStatus":{"zones":["a","b"],"since":176790000N}}`
	for name, c := range map[string]struct {
		crash func() Crash
		want  string
	}{
		"alike":    {status(state, results), ""},
		"no state": {status("", results), "status.state: .at is missing"},
		"another value": {status(strings.Replace(state, "10.", "11.", 1), results),
			`.cidr is "11.0.0.0/8" instead of "10.`},
		"one more":         {status(strings.Replace(state, `{"id"`, `{"more":1,"id"`, 1), results), ".more is there"},
		"one more, chance": {status(strings.Replace(state, `"n-N"`, `"n-x":{"y":1},"n-N"`, 1), results), ""},
		"other results": {status(state, strings.Replace(results, `,"b"`, "", 1)),
			"the results: .providerStatus.zones[1] is missing"},
		"its machines":     {restored([]string{one}, []string{one}), ""},
		"another machine":  {restored([]string{two}, []string{two}), "machines: "},
		"one more machine": {restored([]string{one, two}, []string{one, two}), "machines: "},
		"for some time":    {restored([]string{one}, []string{one, two}), "seen others 1"},
	} {
		e := &Evidence{Kind: "Worker", Walks: map[string]*Walk{}, CrashSteps: []string{Create}}
		for n, walk := range []string{Clean, Short, Back, Touched, Lost} {
			of := strings.ReplaceAll(state, "crash", walk)
			e.Walks[walk] = &Walk{Name: walk, Namespace: "shoot--p--" + walk, Steps: []*Step{created(n+1, of, results)}}
		}
		clean := e.Walks[Clean]
		again := *clean.Steps[0]
		again.Name, again.MachinesSeen = Restore, []string{one}
		clean.Steps = append(clean.Steps, &again)
		crash := c.crash()
		crash.Alone = true
		got := e.Differs(crash)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		want, _ := e.CleanFinal(crash.Step)
		if f := e.survives(crash, want); (f.Outcome == NonConformant) != (c.want != "") {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// What is drawn from a few values is alike in a few objects by chance.
func TestValues_FewObjects_OnlyPathsAreCompared(t *testing.T) {
	t.Parallel()
	few := slices.Repeat([]Values{{".key": "a", ".id": "1"}}, enough-1)
	for name, c := range map[string]struct {
		got  Values
		of   []Values
		want string
	}{
		"another value of few":  {Values{".key": "b", ".id": "1"}, few, ""},
		"another value of many": {Values{".key": "b", ".id": "1"}, append(few, few[0]), `.key is "b" instead of "a"`},
		"one less":              {Values{".key": "a"}, few, ".id is missing"},
		"one more":              {Values{".key": "a", ".id": "1", ".x": "1"}, few, ".x is there"},
	} {
		if got := c.got.differs(c.of); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A crash is compared with what was there after as much time.
func TestCleanFinal_Settled_IsCompared(t *testing.T) {
	t.Parallel()
	s := &Step{Name: Create, Items: []Item{{Resource: "secrets", Name: "early"}}}
	s.Settled = &Step{Name: Create, Items: []Item{{Resource: "secrets", Name: "late"}}}
	s.Settled.After.LastState = "Error"
	e := &Evidence{Walks: map[string]*Walk{Clean: {Name: Clean, Namespace: "n", Steps: []*Step{s}}}}
	if got, _ := e.CleanFinal(Create); got.Items != "secrets/late" || got.LastState != "Error" {
		t.Errorf("%+v", got)
	}
}

// A single object does not show which of its values are chance.
func TestDiffers_OneUndisturbedObject_ComparesNoValues(t *testing.T) {
	t.Parallel()
	s := &Step{Name: Create, After: Snapshot{State: []byte(`{"key":"a"}`)}}
	e := &Evidence{Walks: map[string]*Walk{Clean: {Name: Clean, Namespace: "n", Steps: []*Step{s}}}}
	other := &Step{Name: Create, After: Snapshot{State: []byte(`{"key":"b"}`)}}
	if got := e.Differs(Crash{Step: Create, Final: FinalOf("m", nil, []*Step{other})}); got != "" {
		t.Error(got)
	}
}
