package datadir_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/controllers/etcd/datadir"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// filesOf a folder, with their content.
func filesOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(content)
	}
	return files
}

// An extension of validity is not forced to disk: a power loss may leave its file empty, half, or away. What the guard
// remembers besides must be there, or it would never start again.
func TestAPowerLossTakesNoMoreThanTheExtension(t *testing.T) {
	t.Parallel()
	first := validity.Memory{Owner: "uid-a", Epoch: 3, Served: true, BootID: "boot-1", Until: 100}
	extended, more := first, first
	extended.Until, more.Until = 200, 300
	for name, lose := range map[string]func(path string) error{
		"empty": func(path string) error { return os.Truncate(path, 0) },
		"half":  func(path string) error { return os.Truncate(path, 20) },
		"away":  os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := datadir.Dir(t.TempDir())
			folder := filepath.Join(string(dir), "ownership")
			remembers := func(want validity.Memory) {
				t.Helper()
				got, err := dir.ReadMemory()
				if diff := cmp.Diff(want, got); err != nil || diff != "" {
					t.Fatalf("the guard remembers: %v\n%s", err, diff)
				}
			}
			for _, memory := range []validity.Memory{first, extended} {
				if err := dir.WriteMemory(memory); err != nil {
					t.Fatal(err)
				}
				remembers(memory)
			}
			before := filesOf(t, folder)
			if err := dir.WriteMemory(more); err != nil {
				t.Fatal(err)
			}
			remembers(more)
			lost := 0
			for name, content := range filesOf(t, folder) {
				if content == before[name] {
					continue
				}
				lost++
				if err := lose(filepath.Join(folder, name)); err != nil {
					t.Fatal(err)
				}
			}
			if lost != 1 {
				t.Errorf("an extension has written %d files", lost)
			}
			remembers(first) // an older validity, of a boot that is over
		})
	}
}

// The validity of another owner or epoch is not taken for that of the present one, and a fence comes before any.
func TestAnExtensionIsThatOfItsEpoch(t *testing.T) {
	t.Parallel()
	dir := datadir.Dir(t.TempDir())
	for _, memory := range []validity.Memory{
		{Owner: "uid-a", Epoch: 3, Served: true, BootID: "boot-1", Until: 100},
		{Owner: "uid-a", Epoch: 3, Served: true, BootID: "boot-2", Until: 50},
		{Owner: "uid-a", Epoch: 4, BootID: "boot-2", Until: 20},
		{Owner: "uid-a", Epoch: 4, Served: true, BootID: "boot-2", Until: 40},
		{Owner: "uid-a", Epoch: 4, Served: true, BootID: "boot-2", Until: 60},
		{Owner: "uid-b", Epoch: 4, Served: true, BootID: "boot-2", Until: 30},
		{Owner: "uid-b", Epoch: 4, Served: true, BootID: "boot-2", Until: 70, Fence: &validity.Fence{}},
		{Owner: "uid-b", Epoch: 4, Served: true, BootID: "boot-2", Until: 70, Fence: &validity.Fence{Revoked: true}},
	} {
		if err := dir.WriteMemory(memory); err != nil {
			t.Fatal(err)
		}
		got, err := dir.ReadMemory()
		if diff := cmp.Diff(memory, got); err != nil || diff != "" {
			t.Errorf("the guard remembers: %v\n%s", err, diff)
		}
	}
}
