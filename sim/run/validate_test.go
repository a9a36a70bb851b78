package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/world"
)

// asked is what a command prints of these arguments, and its error.
func asked(t *testing.T, command *cobra.Command, arguments ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	command.SetArgs(arguments)
	command.SetOut(&out)
	command.SetErr(&out)
	command.SilenceErrors, command.SilenceUsage = true, true
	err := command.ExecuteContext(t.Context())
	return out.String(), err
}

// readers are the commands that look at files as run does, and start nothing.
func readers(backends map[string]Backend) []*cobra.Command {
	return []*cobra.Command{NewValidateCommand(backends, nil), NewPlanCommand(backends, nil)}
}

// The commands refuse with exit code 2 and one line.
func TestCommandsRefuse(t *testing.T) {
	t.Parallel()
	cut := scene(t, t.TempDir(), "cut", empty, "  steps: [{fault: {name: x, cut: {actor: user, target: shoots}}}]")
	wrong := scene(t, t.TempDir(), "wrong", empty, "  steps: [{jump: {}}]")
	noLinks := map[world.Ability]error{world.BreakLinks: errors.New("there are no links here")}
	for name, c := range map[string]struct {
		arguments []string
		want      string
	}{
		"a mistake":          {[]string{wrong}, wrong + ":8:12: spec.steps[0].jump: unknown field"},
		"no file":            {nil, "give names such as planned-migration, scenario files, or -l tier=smoke"},
		"of no backend":      {[]string{cut, "--backend", "moon"}, `find the backend "moon": there are embedded, other`},
		"of another backend": {[]string{cut, "--backend", "other"}, `x,cut`},
		"of the usual one": {[]string{cut},
			cut + ":8:34: spec.steps[0].fault.cut: cut(user,shoots): there are no links here; give --backend other"},
		"with a sample below": {[]string{cut, "--backend", "other", "--sample", "-1"}, "-1"},
	} {
		for _, command := range readers(map[string]Backend{"embedded": &small{t: t, refuse: noLinks},
			"other": &small{t: t}}) {
			out, err := asked(t, command, c.arguments...)
			if name == "of another backend" {
				if err != nil || out == "" {
					t.Errorf("%s, %s: %v", command.Name(), name, err)
				}
				continue
			}
			if command.Name() == "validate" && strings.Contains(name, "sample") {
				continue // it has no such flag
			}
			coder := interface{ ExitCode() int }(nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || !errors.As(err,
				&coder) || coder.ExitCode() != 2 || out != "" {
				t.Errorf("%s, %s: %v, said %q; want exit code 2 and\n%s", command.Name(), name, err, out, c.want)
			}
		}
	}
}

// What run is asked to do without a file is said like that, too.
func TestRunWithoutAFile(t *testing.T) {
	t.Parallel()
	const want = "run which scenarios? give names such as planned-migration"
	_, err := asked(t, newRunCommand(map[string]Backend{"embedded": &small{t: t}}, nil, impatient))
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}

// Each file is looked at by itself: what is fine is said beside what is not, and two of a name are no mistake.
func TestValidateSaysWhatIsFine(t *testing.T) {
	t.Parallel()
	one, two := scene(t, t.TempDir(), "fine", empty, sweepRest), scene(t, t.TempDir(), "fine", empty, sweepRest)
	wrong := scene(t, t.TempDir(), "wrong", empty, "  steps: [{jump: {}}]")
	out, err := asked(t, NewValidateCommand(map[string]Backend{"embedded": &small{t: t}}, nil), one, wrong, two)
	want := fmt.Sprintf("%s: scenario fine is fine\n%s: scenario fine is fine\n", one, two)
	if out != want || err == nil || !strings.HasPrefix(err.Error(), wrong+":8:12: ") {
		t.Errorf("said %q, want %q; %v", out, want, err)
	}
}

// Programs get each file with the places of its mistakes, and the same exit code.
func TestValidate_JSON_HasPlacesOfMistakes(t *testing.T) {
	t.Parallel()
	fine := scene(t, t.TempDir(), "fine", empty, sweepRest)
	wrong := scene(t, t.TempDir(), "wrong", empty, "  steps: [{jump: {}}]\n  alwais: []")
	command := NewValidateCommand(map[string]Backend{"embedded": &small{t: t}}, nil)
	var out bytes.Buffer
	command.SetArgs([]string{fine, wrong, "missing.yaml", "-o", "json"})
	command.SetOut(&out)
	command.SilenceErrors, command.SilenceUsage = true, true
	err, ended := command.ExecuteContext(t.Context()), notRun{}
	if !errors.As(err, &ended) || !strings.Contains(err.Error(), "spec.steps[0].jump: unknown field") {
		t.Errorf("the error is %v", err)
	}
	var got []validated
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || len(got) != 3 {
		t.Fatalf("%v: %s", err, &out)
	}
	if !got[0].Fine || got[0].File != fine || got[0].Scenario != "fine" || len(got[0].Mistakes)+len(got[0].Errors) > 0 {
		t.Errorf("what is fine is %+v", got[0])
	}
	if got[1].Fine || len(got[1].Mistakes) != 2 || got[1].Mistakes[0].Line != 8 || got[1].Mistakes[0].Column != 12 ||
		got[1].Mistakes[0].Field != "spec.steps[0].jump" || !strings.Contains(got[1].Mistakes[1].Message, "always") {
		t.Errorf("what is wrong is %+v", got[1])
	}
	if got[2].Fine || len(got[2].Mistakes)+len(got[2].Errors) != 1 {
		t.Errorf("a file that is missing is %+v", got[2])
	}
}

// One pass finds the mistakes of all files, also where one is not found, and says what is wrong with a flag once.
func TestValidate_ManyMistakes_AreAllReportedOnce(t *testing.T) {
	t.Parallel()
	one := scene(t, t.TempDir(), "one", empty,
		"  steps: [{jump: {}}, {heal: x}, {migrate: {shoot: s, to: z}}]\n  alwais: []")
	two := scene(t, t.TempDir(), "two", "{seeds: [{name: A}]}", "  steps: [{wait: {for: 1ms, because: of nothing}}]")
	fine := scene(t, t.TempDir(), "fine", empty, "  steps: [{wait: {for: 1ms, because: of nothing}}]")
	backends := map[string]Backend{"embedded": &small{t: t}}
	out, err := asked(t, NewValidateCommand(backends, nil), one, "missing.yaml", two, "nowhere", fine,
		"--scenarios="+t.TempDir())
	if err == nil || !strings.Contains(out, "scenario fine is fine") {
		t.Fatalf("%v, said %q", err, out)
	}
	wants := []string{`there is no scenario "nowhere"`, one + ":8:12: spec.steps[0].jump: unknown field",
		one + ":8:52: spec.steps[2].migrate.shoot: Invalid value: \"s\"", one + ":8:59: spec.steps[2].migrate.to: Uns",
		one + `:9:3: spec.alwais: unknown field; did you mean "always"?`, "missing.yaml",
		two + ":7:30: spec.landscape.seeds[0].name: Invalid value"}
	lines := strings.Split(err.Error(), "\n")
	for i, want := range wants {
		if len(lines) != len(wants) || !strings.Contains(lines[i], want) {
			t.Fatalf("got\n%v\nwant lines with\n%s", err, strings.Join(wants, "\n"))
		}
	}
	_, err = asked(t, NewValidateCommand(backends, nil), fine, two, fine, "--backend=embeded")
	const want = `find the backend "embeded": there are embedded; did you mean "embedded"?`
	if err == nil || strings.Count(err.Error(), want) != 1 || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("a wrong backend: got\n%v\nwant once\n%s", err, want)
	}
}

// Of a sweep, plan prints the points that a run has. Each is a scenario of its own.
func TestPlanPrintsThePointsOfASweep(t *testing.T) {
	t.Parallel()
	file := scene(t, t.TempDir(), "swept", empty, sweepRest)
	plain := scene(t, t.TempDir(), "right", empty, "  steps: [{wait: {for: 1ms, because: of nothing}}]")
	plan := func(arguments ...string) (string, error) {
		return asked(t, NewPlanCommand(map[string]Backend{"embedded": &small{t: t}}, nil), arguments...)
	}
	names := func(arguments ...string) string {
		t.Helper()
		text, err := plan(arguments...)
		if err != nil {
			t.Fatal(err)
		}
		var listed []string
		for document := range strings.SplitSeq(text, "---\n") {
			s, err := scenario.Parse("f", []byte(document))
			if err != nil || len(s.Spec.Sweep) > 0 {
				t.Fatalf("%v\n%s", err, document)
			}
			listed = append(listed, s.Metadata.Name)
		}
		return strings.Join(listed, " ")
	}
	if got := names(file, plain); got != "swept-dies-1 swept-dies-2 swept-dies-3 right" {
		t.Errorf("got %s", got)
	}
	s, err := scenario.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	points, err := s.Expand()
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(5) {
		want := scenario.Sample(points, 1, seed, "swept")[0].Metadata.Name
		if got := names(file, "--sample=1", fmt.Sprintf("--seed=%d", seed)); got != want {
			t.Errorf("with seed %d: %s, want %s", seed, got, want)
		}
	}
	if text, err := plan(file, "--sample=1"); err == nil || !strings.Contains(err.Error(), "--seed") || text != "" {
		t.Errorf("a sample of no seed: %v, %q", err, text)
	}
	if text, err := plan(file, "--sample=1", "--seed=5"); err != nil || !strings.HasPrefix(text, "# swept-dies-") ||
		!strings.Contains(text, ", 1 of 1 points of swept\n") {
		t.Errorf("a sample: %v\n%s", err, text)
	}
	if text, err := plan(plain); err != nil || strings.Contains(text, "#") {
		t.Errorf("without a sweep: %v\n%s", err, text)
	}
}
