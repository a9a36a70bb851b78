package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatTheHostLacksIsTakenAwayAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, content, want string }{
		{
			"a bundle", `{"ociVersion":"1.0.2","process":{"capabilities":{"bounding":["CAP_KILL","CAP_SYS_RESOURCE"],` +
				`"effective":["CAP_SYS_RESOURCE"]}},"linux":{"resources":{"memory":{"limit":9007199254740993}}}}`,
			`{"linux":{"resources":{"memory":{"limit":9007199254740993}}},"ociVersion":"1.0.2",` +
				`"process":{"capabilities":{"bounding":["CAP_KILL"],"effective":[]}}}`,
		},
		{
			"a process to exec", `{"args":["sh"],"capabilities":{"permitted":["CAP_CHOWN","CAP_SYS_RESOURCE"]}}`,
			`{"args":["sh"],"capabilities":{"permitted":["CAP_CHOWN"]}}`,
		},
		{"nothing to take", `{"process": {"capabilities": {"bounding": ["CAP_KILL"]}}}`,
			`{"process": {"capabilities": {"bounding": ["CAP_KILL"]}}}`},
		{"no capabilities", `{ "process": {} }`, `{ "process": {} }`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "config.json")
			if err := os.WriteFile(file, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := fit(file, []string{"CAP_CHOWN", "CAP_KILL"}); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheBoundingSetIsReadByItsBits(t *testing.T) {
	t.Parallel()
	set, err := bounding("Name:\tx\nCapEff:\t0\nCapBnd:\t0000000001000021\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"CAP_CHOWN", "CAP_KILL", "CAP_SYS_RESOURCE"}, set); diff != "" {
		t.Errorf("set (-want +got):\n%s", diff)
	}
	if _, err := bounding("Name:\tx\n"); err == nil {
		t.Error("a status without a bounding set was read")
	}
}

func TestFilesOfACommandLine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		args []string
		want []string
	}{
		{"create", []string{"--root", "/r", "create", "--bundle", "/b", "id"}, []string{"/b/config.json"}},
		{"run in the working directory", []string{"run", "id"}, []string{"config.json"}},
		{"exec", []string{"exec", "--process=/p.json", "id"}, []string{"/p.json"}},
		{"exec of a command line", []string{"exec", "id", "sh"}, nil},
		{"delete", []string{"delete", "id"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, files(test.args)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}
