package logs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/logs"
)

func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKeep(t *testing.T) {
	t.Parallel()
	const cut = "[the first 7 bytes of this log are left out; its last 4194304 are here]\n"
	filler := strings.Repeat("x", logs.MostKept-5)
	for _, c := range []struct {
		name       string
		old, young string // "-" for none
		want       string
	}{
		{"a short one is whole", "-", "one\ntwo\n", "one\ntwo\n"},
		{"two parts are one", "one\n", "two\n", "one\ntwo\n"},
		{"an empty one is there", "-", "", ""},
		{"of a long one the end is kept", "-", "0123456" + filler + "tail\n", cut + filler + "tail\n"},
		{"what is left out spans parts", "01234", "56" + filler + "tail\n", cut + filler + "tail\n"},
		{"what is left out ends inside the first part", "0123456ab", filler[:len(filler)-2] + "tail\n",
			cut + "ab" + filler[:len(filler)-2] + "tail\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			old, young := filepath.Join(folder, "0.log.1"), filepath.Join(folder, "0.log")
			for path, content := range map[string]string{old: c.old, young: c.young} {
				if content != "-" {
					write(t, path, content)
				}
			}
			to := filepath.Join(folder, "made", "here.log")
			if err := logs.Keep(to, old, young); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(to)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("%d bytes that begin with %.80q, want %d that begin with %.80q", len(got), got, len(c.want), c.want)
			}
		})
	}
}

func TestKeep_NoLog_MakesNothing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := logs.Keep(filepath.Join(folder, "to", "x.log"), filepath.Join(folder, "none.log")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "to")); !os.IsNotExist(err) {
		t.Errorf("there is a folder for nothing: %v", err)
	}
}
