package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/durable"
)

// must returns the value of a call that is part of a test's preparation.
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// An entry that is on the disk is of no use in a file whose name is not.
func TestLedger_NewFile_HasItsNameOnTheDisk(t *testing.T) {
	t.Parallel()
	disk, synced := spyDisk(t, "ledger.jsonl")
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	fold := func(*api.LedgerEntry) error { return nil }
	l := must(Open(disk, path, fold))(t)
	defer l.Close()
	if diff := cmp.Diff([]string{"folder, with the name"}, *synced); diff != "" {
		t.Errorf("synced (-want +got):\n%s", diff)
	}
	broken := durable.Disk{Sync: func(*os.File) error { return os.ErrDeadlineExceeded }}
	if _, err := Open(broken, path, fold); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a ledger without a name on the disk is opened: %v", err)
	}
}

// spyDisk notes in order what is synced: the bytes of a file, or a folder, and whether there is a file of the name in
// its folder then.
func spyDisk(t *testing.T, name string) (durable.Disk, *[]string) {
	t.Helper()
	synced := &[]string{}
	return durable.Disk{Sync: func(file *os.File) error {
		info, err := file.Stat()
		if err != nil {
			return err
		}
		what, folder := "folder", file.Name()
		if !info.IsDir() {
			content := must(os.ReadFile(file.Name()))(t)
			what, folder = "bytes "+string(content), filepath.Dir(folder)
		}
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			what += ", with the name"
		}
		*synced = append(*synced, what)
		return file.Sync()
	}}, synced
}

// A full disk refuses calls and loses nothing: the ledger goes on where it was.
func TestLedgerSurvivesAFailedWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	fold := func(*api.LedgerEntry) error { return nil }
	l := must(Open(durable.Disk{}, path, fold))(t)
	if err := l.Append(&api.LedgerEntry{Verb: "first"}); err != nil {
		t.Fatal(err)
	}
	whole := l.file
	l.file = must(os.Open(path))(t) // cannot be written
	if err := l.Append(&api.LedgerEntry{Verb: "lost"}); err == nil {
		t.Fatal("a write to a file that cannot be written succeeded")
	}
	if err := l.Append(&api.LedgerEntry{Verb: "lost"}); err == nil || !strings.Contains(err.Error(),
		"closed since an earlier failure") {
		t.Errorf("a ledger whose end is unknown goes on: %v", err)
	}
	l.file.Close()
	l.file, l.broken = whole, nil
	if err := l.Append(&api.LedgerEntry{Verb: "second"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var verbs []string
	must(Open(durable.Disk{}, path, func(e *api.LedgerEntry) error { verbs = append(verbs, e.Verb); return nil }))(t)
	if diff := cmp.Diff([]string{"first", "second"}, verbs); diff != "" {
		t.Error(diff)
	}
}

// A ledger from a snapshot is whole on the disk before it has its name, and the name is there before the cloud starts.
func TestRestore_IsOnTheDisk(t *testing.T) {
	t.Parallel()
	disk, synced := spyDisk(t, "ledger.jsonl")
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	if err := Restore(disk, strings.NewReader("entries"), path); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"bytes entries", "folder, with the name"}, *synced); diff != "" {
		t.Errorf("synced (-want +got):\n%s", diff)
	}
	broken := durable.Disk{Sync: func(*os.File) error { return os.ErrDeadlineExceeded }}
	if err := Restore(broken, strings.NewReader("entries"), path+"2"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("what cannot be synced is taken for restored: %v", err)
	}
}
