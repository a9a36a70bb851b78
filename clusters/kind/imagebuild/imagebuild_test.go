package imagebuild

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheDigestFollowsTheSources(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "program")
	if err := copyText(program, "program"); err != nil {
		t.Fatal(err)
	}
	of := func(files map[string]string) string {
		t.Helper()
		folder := t.TempDir()
		for name, content := range files {
			if err := copyText(filepath.Join(folder, name), content); err != nil {
				t.Fatal(err)
			}
		}
		sum, err := Digest([]string{folder}, program)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	base := of(map[string]string{"a/b": "1"})
	for name, test := range map[string]struct {
		files map[string]string
		same  bool
	}{
		"nothing":       {map[string]string{"a/b": "1"}, true},
		"a test":        {map[string]string{"a/b": "1", "x_test.go": ""}, true},
		"a file's text": {map[string]string{"a/b": "2"}, false},
		"a file's name": {map[string]string{"a/c": "1"}, false},
		"another file":  {map[string]string{"a/b": "1", "c": ""}, false},
	} {
		if got := of(test.files); (got == base) != test.same {
			t.Errorf("%s changed: same digest is %t", name, got == base)
		}
	}
	if err := copyText(program, "another"); err != nil {
		t.Fatal(err)
	}
	if of(map[string]string{"a/b": "1"}) == base {
		t.Error("the program changed, the digest is the same")
	}
}

func TestOnlySourcesOfTheReleaseAreTaken(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, content := range map[string]string{
		"sources.list.d/debian.sources": "Types: deb\nSuites: bookworm bookworm-updates\n",
		"sources.list.d/other.list":     "deb https://packages.test/tool nodistro main\n",
		"sources.list.d/off.disabled":   "Suites: bookworm\n",
	} {
		if err := copyText(filepath.Join(folder, name), content); err != nil {
			t.Fatal(err)
		}
	}
	got, err := aptSources(folder)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{filepath.Join(folder, "sources.list.d/debian.sources")}, got); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
	if _, err := aptSources(t.TempDir()); err == nil || !strings.Contains(err.Error(), "there are none") {
		t.Errorf("without sources: got %v", err)
	}
}

func copyText(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o600)
}
