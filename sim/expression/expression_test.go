package expression_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/expression"
)

var world = expression.Snapshot{
	Shoots: map[string]expression.Shoot{"alpha": {
		Exists: true, Seed: "a", SpecSeed: "b", TechnicalID: "shoot--p--alpha",
		LastOperation: expression.Operation{Type: "Migrate", State: "Processing", Progress: 43,
			Description: "Creating final snapshot"},
		LastErrors:  []string{"bucket is slow"},
		Conditions:  map[string]string{"APIServerAvailable": "True"},
		Constraints: map[string]string{"EvacuationPossible": "False"},
		Reasons:     map[string]string{"EvacuationPossible": "StateIncomplete"},
		AnswerTimes: expression.Durations{75 * time.Millisecond, 1500 * time.Millisecond},
		Problems:    []string{"EveryNodeReady is Progressing (MissingNodes: 1 of 2)"},
	}},
	Seeds: map[string]expression.Seed{
		"a": {Ready: true, Shoots: 1},
		"b": {Ready: true, Unknown: expression.Unknown{"shoots": "the API server does not answer"}},
	},
	Cloud: &expression.Cloud{Machines: 3},
}

func TestEvaluate(t *testing.T) {
	t.Parallel()
	const silent = "shoots is unknown: the API server does not answer"
	for text, c := range map[string]struct {
		met     bool
		why     string
		unknown string
	}{
		`shoot('alpha').seed == 'a'`:                   {met: true, why: `shoot("alpha").seed is "a"`},
		`seed("a").shoots == 1 && cloud.machines >= 3`: {met: true, why: `seed("a").shoots is 1; cloud.machines is 3`},
		`shoot('alpha').conditions['APIServerAvailable']=='True'`: {
			met: true, why: `shoot("alpha").conditions["APIServerAvailable"] is "True"`,
		},
		`shoot('alpha').lastErrors.exists(e, e.contains('slow'))`: {met: true,
			why: `shoot("alpha").lastErrors is [bucket is slow]`},
		`shoot('alpha').answerTimes.all(t, t >= duration('75ms')) && shoot('alpha').answerTimes[1] == duration('1.5s')`: {
			met: true, why: `shoot("alpha").answerTimes is [75ms 1.5s]; shoot("alpha").answerTimes[1] is 1.5s`},
		`!shoot('beta').exists`: {met: true, why: `shoot("beta").exists is false`},
		`seed('b').ready`:       {met: true, why: `seed("b").ready is true`},
		`shoot('alpha').lastOperation.state in ['Processing']`: {
			met: true, why: `shoot("alpha").lastOperation.state is "Processing"`,
		},
		`shoot('alpha').seed == 'b' && shoot('alpha').healthy`: {
			why: `shoot("alpha").seed is "a"; shoot("alpha").healthy is false; alpha: Migrate Processing 43% (Creating final ` +
				`snapshot), error: bucket is slow, EveryNodeReady is Progressing (MissingNodes: 1 of 2), EvacuationPossible is ` +
				`False (StateIncomplete)`,
		},
		`seed('b').shoots == 0`: {why: `seed("b").shoots cannot be read (shoots is unknown: the API server does not answer)`,
			unknown: silent},
		// Unknown is not true either.
		`seed('b').shoots != 0`: {why: `seed("b").shoots cannot be read (shoots is unknown: the API server does not answer)`,
			unknown: silent},
		`shoot('alpha').lastOperation.progress > 50`: {
			why: `shoot("alpha").lastOperation.progress is 43; alpha: Migrate Processing 43% (Creating final snapshot), ` +
				`error: bucket is slow, EveryNodeReady is Progressing (MissingNodes: 1 of 2), EvacuationPossible is False ` +
				`(StateIncomplete)`,
		},
		`cloud.machines == 0`:                   {why: `cloud.machines is 3`},
		`seed('a').conditions['Ready']=='True'`: {why: `seed("a").conditions["Ready"] is not there (no such key: Ready)`},
		`seed('a').conditions['Ready']=='True' || seed('b').shoots == 0`: {
			why: `seed("a").conditions["Ready"] is not there (no such key: Ready); seed("b").shoots cannot be read (` + silent +
				`)`, unknown: silent,
		},
		`seed('b').ready && shoot('alpha').lastErrors[1] == ''`: {
			why: `seed("b").ready is true; shoot("alpha").lastErrors[1] is not there (index out of bounds: 1); alpha: ` +
				`Migrate Processing 43% (Creating final snapshot), error: bucket is slow, EveryNodeReady is Progressing ` +
				`(MissingNodes: 1 of 2), EvacuationPossible is False (StateIncomplete)`,
		},
		// What is known decides where it can.
		`seed('b').shoots == 0 && shoot('alpha').seed == 'b'`: {
			why: `seed("b").shoots cannot be read (` + silent +
				`); shoot("alpha").seed is "a"; alpha: Migrate Processing 43% (Creating final snapshot), error: bucket is slow, ` +
				`EveryNodeReady is Progressing (MissingNodes: 1 of 2), EvacuationPossible is False (StateIncomplete)`,
		},
		`seed('b').shoots == 0 || shoot('alpha').seed == 'a'`: {
			met: true, why: `seed("b").shoots cannot be read (` + silent + `); shoot("alpha").seed is "a"`,
		},
		`!(seed('b').shoots == 0 || cloud.machines == 3)`: {why: `seed("b").shoots cannot be read (` + silent +
			`); cloud.machines is 3`},
		`1 > 2`: {why: ""},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			e, err := expression.Compile(text)
			if err != nil {
				t.Fatal(err)
			}
			met, why, err := e.Evaluate(world)
			if met != c.met || why != c.why {
				t.Errorf("met %t, why %q; want %t, %q", met, why, c.met, c.why)
			}
			if unknown := fmt.Sprint(err); err == nil && c.unknown != "" || err != nil && unknown != c.unknown {
				t.Errorf("unknown %q, want %q", unknown, c.unknown)
			}
		})
	}
}

// What nobody has asked for is neither empty nor anything else.
func TestEvaluate_CloudThatWasNotAskedFor_IsUnknown(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`cloud.machines == 0`, `cloud.machines != 0`, `[cloud].all(c, c.machines == 0)`} {
		e, err := expression.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		met, _, err := e.Evaluate(expression.Snapshot{})
		if met || !strings.Contains(fmt.Sprint(err), "machines is unknown: not asked for") {
			t.Errorf("%s: met %t, %v", text, met, err)
		}
	}
}

func TestCompileNamesItsSubjects(t *testing.T) {
	t.Parallel()
	e, err := expression.Compile(
		`seed('b').shoots == 0 && (shoot('beta').healthy || shoot('alpha').healthy) && seed('a').ready`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"alpha", "beta"}, {"a", "b"}}, [][]string{e.Shoots(), e.Seeds()}); diff != "" {
		t.Error(diff)
	}
}

// An expression needs the garden when nothing else can make it true.
func TestNeedsGarden(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`shoot('alpha').healthy`:                                              true,
		`seed('a').ready`:                                                     true,
		`seed('a').conditions['GardenletReady'] == 'True'`:                    true,
		`seed('a').shoots == seed('a').bound`:                                 true,
		`shoot('alpha').lastErrors.exists(e, e.contains('slow'))`:             true,
		`cloud.machines == 0 && !shoot('alpha').exists`:                       true,
		`!(cloud.machines == 0 || shoot('alpha').exists)`:                     true,
		`shoot('alpha').healthy || seed('a').ready`:                           true,
		`shoot('alpha').exists ? cloud.machines > 0 : cloud.volumes == 0`:     true,
		`seed('a').shoots == 0`:                                               false,
		`cloud.machines == 0 && seed('b').shoots > 0`:                         false,
		`cloud.machines == 0 || shoot('alpha').healthy`:                       false,
		`!(cloud.machines == 0 && shoot('alpha').healthy)`:                    false,
		`cloud.machines == 0 ? shoot('alpha').exists : seed('a').shoots == 0`: false,
	} {
		e, err := expression.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.NeedsGarden(); got != want {
			t.Errorf("%s needs the garden: %t, want %t", text, got, want)
		}
	}
}

func TestSeedsWanted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`shoot('alpha').seed == 'b' && seed('a').shoots == 0`:                              {"b"},
		`'c' != shoot('alpha').specSeed || shoot('beta').seed in ['e', "d"]`:               {"c", "d", "e"},
		`[1, 2].exists(n, n > 1 && shoot('alpha').seed != 'f')`:                            {"f"},
		`shoot('alpha').seed == '' || shoot('alpha').seed == shoot('beta').specSeed`:       nil,
		`shoot('alpha').kubernetes == '1.36.2' && shoot('alpha').lastOperation.type in []`: nil,
	} {
		e, err := expression.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, e.SeedsWanted()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// What a field never has is found; what the API has, all of it, is not.
func TestImpossible(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../api/core/v1beta1/operation.go")
	if err != nil {
		t.Fatal(err)
	}
	for field, form := range map[string]string{"type": "LastOperationType", "state": "LastOperationState"} {
		var known []string
		for _, found := range regexp.MustCompile(form+` = "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
			known = append(known, found[1])
		}
		e, err := expression.Compile(
			fmt.Sprintf(`'Fine' != shoot('a').lastOperation.%[1]s || shoot('a').lastOperation.%[1]s in ['', '%[2]s']`, field,
				strings.Join(known, "', '")))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]expression.Impossible{{Value: "Fine", Known: known}}, e.Impossible()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
	e, err := expression.Compile(
		`shoot('a').status == 'healthy' || seed('a').conditions['GardenletReady'] == 'True' || ` +
			`shoot('a').maintenance.description == 'x'`)
	if err != nil || e.Impossible() != nil {
		t.Errorf("of open sets: %v, %v", e.Impossible(), err)
	}
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                  "the expression is empty",
		`shoot('alpha').sed == 'b'`:         "column 15: undefined field 'sed'; cloud has networks",
		`shot('alpha').seed == 'b'`:         "column 5: undeclared reference to 'shot'",
		`shoot('alpha').seed == 3`:          "column 21: found no matching overload for '_==_' applied to '(string, int)'",
		`shoot('alpha').seed`:               "gives string; must give true or false",
		`shoot('alpha'`:                     "column 14: Syntax error",
		`shoot(shoot('a').seed).seed == ''`: "shoot(…) takes a name in quotes",
		strings.Repeat("!", 5000) + "true":  "longer than 4096 bytes",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			_, err := expression.Compile(text)
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q", err, want)
			}
		})
	}
}

// Many times are not all shown.
func TestEvaluate_ManyTimes_AreShownInPart(t *testing.T) {
	t.Parallel()
	for many, want := range map[int]string{
		40: `shoot("alpha").answerTimes is [` + strings.Repeat("75ms ", 39) + "75ms]",
		43: `shoot("alpha").answerTimes is [` + strings.Repeat("75ms ", 39) + "75ms] and 3 more",
	} {
		e, err := expression.Compile("shoot('alpha').answerTimes.size() == 3")
		if err != nil {
			t.Fatal(err)
		}
		_, why, err := e.Evaluate(expression.Snapshot{Shoots: map[string]expression.Shoot{"alpha": {
			AnswerTimes: slices.Repeat(expression.Durations{75 * time.Millisecond}, many)}}})
		if err != nil || why != want {
			t.Errorf("%d: %s (%v), want %s", many, why, err, want)
		}
	}
}

func TestAsksWhatCostsMore(t *testing.T) {
	t.Parallel()
	type asks struct{ epoch, warnings, states, nodes, answers, ready, bound, cloud bool }
	for text, want := range map[string]asks{
		"shoot('alpha').healthy":                                          {},
		"shoot('alpha').lastOperation.state == 'Error'":                   {},
		"'BackupDamaged' in shoot('alpha').warnings":                      {warnings: true},
		"shoot('a').warnings[0] == 'BackupDamaged'":                       {warnings: true},
		"shoot('alpha').warnings.exists(w, w == 'Gone')":                  {warnings: true},
		"shoot('alpha').state.bytes > 3":                                  {states: true},
		"shoot('alpha').epoch == 2":                                       {epoch: true},
		"seed('a').ready":                                                 {ready: true},
		"[seed('a'), seed('b')].all(s, s.bound == 0)":                     {bound: true},
		"shoot('alpha').workers.all == 2":                                 {nodes: true},
		"shoot('a').workers == shoot('b').workers":                        {nodes: true},
		"has(shoot('a').workers.ready)":                                   {nodes: true},
		"!shoot('alpha').answers":                                         {answers: true},
		"shoot('alpha').workers.kubelets == ['1.36.3']":                   {nodes: true},
		"shoot('a').state.exists && shoot('b').warnings == ['Something']": {warnings: true, states: true},
		"[shoot('a')].all(s, s.warnings == [] && s.healthy)":              {warnings: true},
		"[shoot('a')].exists(s, s.lastOperation.state == 'Error')":        {},
		"[cloud].all(c, c.machines == 0)":                                 {cloud: true},
		"cloud.machines == 0 && [shoot('a')].all(s, s.answers)":           {answers: true, cloud: true},
	} {
		e, err := expression.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		does := func(field string) bool { return slices.Contains(e.Fields(), field) }
		got := asks{does("epoch"), does("warnings"), does("state"), does("workers"), does("answers"), does("ready"),
			does("bound"), e.AsksCloud()}
		if got != want {
			t.Errorf("%s asks for %+v, want %+v", text, got, want)
		}
	}
}
