package catalogue_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/transplant-sim/transplant/sim/catalogue"
)

// folder holds these files, by path. A line "NAME LABEL…" becomes the metadata of a scenario; other content is written
// as it is.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, content := range files {
		if name, labelled, ok := strings.Cut(content, " with "); ok {
			content = "kind: Scenario\nmetadata: {name: " + name + ", labels: {" + labelled + "}}\n"
		}
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestFind_Name_GivesItsFile(t *testing.T) {
	t.Parallel()
	root := folder(t, map[string]string{
		"loss/seed-loss.yaml":  "seed-loss with tier: smoke",
		"deep/er/returns.yml":  "seed-returns with ",
		"a/twice.yaml":         "twice with ",
		"b/other.yaml":         "twice with ",
		"broken.yaml":          "kind: Scenario\nmetadata: {name: [",
		"extension.yaml":       "kind: ExtensionDeployment\nmetadata: {name: vault}\n",
		".hidden/secret.yaml":  "secret with ",
		"notes.txt":            "kind: Scenario\nmetadata: {name: notes}\n",
		"loss/labels-are.yaml": "kind: Scenario\nmetadata: {name: labels-are-a-list, labels: [tier]}\n",
	})
	c, err := catalogue.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"seed-loss":    "loss/seed-loss.yaml",
		"seed-returns": "deep/er/returns.yml",
		"broken":       "broken.yaml", // who parses it says what is wrong
		"labels-are":   "loss/labels-are.yaml",
		"twice":        `"twice" is in ROOT/a/twice.yaml and in ROOT/b/other.yaml; give the path of one`,
		"sed-loss":     `no scenario "sed-loss" in ROOT (did you mean "seed-loss"?)`,
		"vault":        `no scenario "vault" in ROOT, and none with a name like it`,
		"secret":       `no scenario "secret" in ROOT`,
		"notes":        `no scenario "notes" in ROOT`,
	} {
		found, err := c.Find(name)
		if strings.Contains(want, " ") {
			if want := strings.ReplaceAll(want, "ROOT", root); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %s, %v; want an error with %s", name, found.Path, err, want)
			}
			continue
		}
		if err != nil || found.Path != filepath.Join(root, want) {
			t.Errorf("%s: got %s, %v; want %s", name, found.Path, err, want)
		}
	}
}

func TestRead_Folders_AreThere(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	want := "look for scenarios in the folder " + missing + ": no such file or directory"
	if _, err := catalogue.Read(missing); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	empty, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	c, err := catalogue.Read(empty)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Find("any"); err == nil || !strings.Contains(err.Error(), "there are none in "+empty) {
		t.Errorf("in an empty folder: %v", err)
	}
	if err := os.Symlink(folder(t, map[string]string{"a.yaml": "a with "}), link); err != nil {
		t.Fatal(err)
	}
	if c, err = catalogue.Read(empty, link); err != nil {
		t.Fatal(err)
	}
	if found, err := c.Find("a"); err != nil || found.Path != filepath.Join(link, "a.yaml") {
		t.Errorf("behind a link, beside an empty folder: %s, %v", found.Path, err)
	}
}

func TestSelect_Labels_Match(t *testing.T) {
	t.Parallel()
	root := folder(t, map[string]string{
		"z.yaml": "first with tier: smoke", "y.yaml": "second with tier: nightly, example.org/slow: really",
		"x.yaml": "plain with ", "broken.yaml": "{",
	})
	c, err := catalogue.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	for written, want := range map[string][]string{ // what cannot be read may match
		"tier=smoke":              {"broken", "first"},
		"tier":                    {"broken", "first", "second"},
		"!tier":                   {"broken", "plain"},
		"tier in (smoke,nightly)": {"broken", "first", "second"},
		"example.org/slow":        {"broken", "second"},
		"tier=core":               {"broken"},
		"":                        {"broken", "first", "plain", "second"},
	} {
		selector, err := labels.Parse(written)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range c.Select(selector) {
			got = append(got, e.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", written, diff)
		}
	}
}
