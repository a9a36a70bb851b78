package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A log that has reached its size is put aside, and its writer goes on at the beginning of the file.
func TestRotate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "etcd.log")
	writer, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	const most = 1000
	say := func(what string) {
		t.Helper()
		if _, err := writer.WriteString(what); err != nil {
			t.Fatal(err)
		}
		if err := rotate(path, most); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(file, want string) {
		t.Helper()
		if content, err := os.ReadFile(file); err != nil || string(content) != want {
			t.Errorf("%s holds %d bytes, want %d: %v", filepath.Base(file), len(content), len(want), err)
		}
	}
	first, second, last := strings.Repeat("a", most-1), "b", "the last"
	say(first)
	if _, err := os.Stat(Older(path)); err == nil {
		t.Error("a small log was put aside")
	}
	say(second)
	say(last)
	holds(Older(path), first+second)
	holds(path, last)
	say(strings.Repeat("c", 5*most)) // faster than it is looked at
	say(last)
	holds(Older(path), strings.Repeat("c", most))
	holds(path, last)
	if content, err := os.ReadFile(path); err != nil || bytes.Contains(content, []byte{0}) {
		t.Errorf("the log has a hole: %v", err)
	}
}
