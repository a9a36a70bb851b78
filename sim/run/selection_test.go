package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/run/selection"
)

// labelled is a scenario that does next to nothing, in a folder below the given one, with a tier.
func labelled(t *testing.T, folder, purpose, name, tier string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(folder, purpose), 0o755); err != nil {
		t.Fatal(err)
	}
	file := scene(t, filepath.Join(folder, purpose), name, empty, "  steps: [{wait: {for: 1ms, because: of nothing}}]")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(content), "{name: "+name+"}", "{name: "+name+", labels: {tier: "+tier+"}}", 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestSelection_NamesFilesAndLabels_Combine(t *testing.T) {
	t.Parallel()
	folder, others := t.TempDir(), t.TempDir()
	loss := labelled(t, folder, "loss", "seed-loss", "smoke")
	returns := labelled(t, folder, "loss", "seed-returns", "core")
	planned := labelled(t, folder, "migration", "planned", "smoke")
	twice := labelled(t, folder, "migration", "twice", "nightly")
	again := labelled(t, folder, "loss", "twice-again", "nightly")
	mine := labelled(t, others, ".", "mine", "smoke")
	plain := scene(t, others, "plain", empty, "  steps: [{wait: {for: 1ms, because: of nothing}}]")
	malformed := filepath.Join(others, "malformed.yaml")
	content, err := os.ReadFile(again)
	if err != nil {
		t.Fatal(err)
	}
	renamed := strings.Replace(string(content), "twice-again", "twice", 1)
	if err := os.WriteFile(again, []byte(renamed), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(malformed, []byte("metadata: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(folder, "missing")
	for name, c := range map[string]struct {
		arguments []string
		selector  string
		folder    string // the usual one when empty
		want      []string
		wrong     string // part of the error
	}{
		"a name":              {arguments: []string{"seed-loss"}, want: []string{loss}},
		"names, in order":     {arguments: []string{"seed-returns", "planned"}, want: []string{returns, planned}},
		"a path":              {arguments: []string{mine}, want: []string{mine}},
		"a name and a path":   {arguments: []string{mine, "planned"}, want: []string{mine, planned}},
		"a path of no file":   {arguments: []string{missing + ".yaml"}, want: []string{missing + ".yaml"}},
		"a path, no folder":   {arguments: []string{mine}, folder: missing, want: []string{mine}},
		"a label":             {selector: "tier=smoke", want: []string{planned, loss}},
		"a set of labels":     {selector: "tier in (smoke, core)", want: []string{planned, loss, returns}},
		"a label in a folder": {selector: "tier", folder: others, want: []string{malformed, mine}},
		"no label":            {selector: "!tier", folder: others, want: []string{malformed, plain}},
		"names with a label": {
			arguments: []string{"seed-loss", "seed-returns"}, selector: "tier=core",
			want: []string{returns},
		},
		"paths with a label": {arguments: []string{plain, mine}, selector: "tier", want: []string{mine}},

		"a name misspelt": {
			arguments: []string{"sed-loss"},
			wrong: `there is no scenario "sed-loss" in ` + folder + ` (did you mean "seed-loss"?); ` +
				"give the path of its file, or another folder with --scenarios",
		},
		"several misspelt": {arguments: []string{"sed-loss", "planed"}, wrong: "did you mean \"planned\"?"},
		"a name of two files": {
			arguments: []string{"twice"},
			wrong:     `the scenario "twice" is in ` + again + " and in " + twice + "; give the path of one",
		},
		"a name, no folder": {
			arguments: []string{"seed-loss"}, folder: missing,
			wrong: `find the scenario "seed-loss" by its name: look for scenarios in the folder ` + missing +
				": no such file or directory; give the path of its file, or another folder with --scenarios",
		},
		"a label, no folder": {
			selector: "tier=smoke", folder: missing,
			wrong: missing + ": no such file or directory; give another with --scenarios",
		},
		"a label of none": {
			selector: "tier=smok",
			wrong:    `--selector "tier=smok": no scenario in ` + folder + " has such labels",
		},
		"a label of none that are given": {
			arguments: []string{"seed-loss"}, selector: "tier=core",
			wrong: `--selector "tier=core": none of the scenarios that are given has such labels`,
		},
		"no selector": {selector: "tier in smoke", wrong: `--selector "tier in smoke": `},
	} {
		where := c.folder
		if where == "" {
			where = folder
		}
		got, err := (&selection.Scenarios{Folder: where, Selector: c.selector}).Files(c.arguments)
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: got %q, %v; want an error with %s", name, got, err, c.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A file whose name looks like that of a scenario is given with a folder.
func TestSelection_FileWithoutADot_ErrorSaysHowToGiveIt(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("mine", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const want = `there is no scenario "mine": there are none in .; the file mine is given as ./mine`
	if _, err := (&selection.Scenarios{Folder: "."}).Files([]string{"mine"}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// The commands look scenarios up in the same way.
func TestSelection_Commands_TakeNamesAndLabels(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	labelled(t, folder, "loss", "first", "smoke")
	labelled(t, folder, "loss", "second", "smoke")
	labelled(t, folder, "loss", "third", "core")
	for name, c := range map[string]struct {
		arguments []string
		want      []string
	}{
		"a name":  {[]string{"third"}, []string{"third"}},
		"a label": {[]string{"-l", "tier=smoke"}, []string{"first", "second"}},
		"a shard": {[]string{"-l", "tier", "--shard=2/3"}, []string{"second"}},
	} {
		for _, command := range readers(map[string]Backend{"embedded": &small{t: t}}) {
			if command.Name() == "validate" && name == "a shard" {
				continue // it has no such flag
			}
			out, err := asked(t, command, append(c.arguments, "--scenarios", folder)...)
			if err != nil {
				t.Errorf("%s, %s: %v", command.Name(), name, err)
			}
			for _, one := range []string{"first", "second", "third"} {
				said := strings.Contains(out, "scenario "+one+" ") || strings.Contains(out, "name: "+one+"\n")
				if want := strings.Contains(strings.Join(c.want, " "), one); said != want {
					t.Errorf("%s, %s: says %s: %t, want %t\n%s", command.Name(), name, one, said, want, out)
				}
			}
		}
	}
}

func TestShard_CannotBe_IsRefusedAsAFlag(t *testing.T) {
	t.Parallel()
	const want = `invalid argument "0/3" for "--shard" flag: must be PART/PARTS`
	command := newRunCommand(map[string]Backend{"embedded": &small{t: t}}, nil, impatient)
	_, err := asked(t, command, "-l", "tier", "--shard", "0/3")
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
