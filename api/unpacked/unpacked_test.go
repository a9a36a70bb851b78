package unpacked_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/transplant-sim/transplant/api/unpacked"
)

func TestFolder_FilesAtOnceChangedAndMissing_AreWhole(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	files := fstest.MapFS{"loss/a.yaml": {Data: []byte("a")}, "b.json": {Data: []byte("b")}}
	folders := make([]string, 4)
	var group sync.WaitGroup
	for i := range folders {
		group.Go(func() {
			var err error
			if folders[i], err = unpacked.Folder("things", files); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if folders[0] != folders[3] || !strings.HasPrefix(folders[0], filepath.Join(cache, "transplant", "things")+"/") {
		t.Errorf("the folders are %q", folders)
	}
	whole := func() {
		t.Helper()
		for path, file := range files {
			if got, err := os.ReadFile(filepath.Join(folders[0], path)); err != nil || string(got) != string(file.Data) {
				t.Errorf("%s is %q, %v", path, got, err)
			}
		}
	}
	whole()
	changed, gone := filepath.Join(folders[0], "b.json"), filepath.Join(folders[0], "loss")
	if err := os.Remove(changed); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(changed, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	if _, err := unpacked.Folder("things", files); err != nil {
		t.Fatal(err)
	}
	whole()
	files["b.json"] = &fstest.MapFile{Data: []byte("newer")}
	if other, err := unpacked.Folder("things", files); err != nil || other == folders[0] {
		t.Errorf("other files are in %s, %v; want a folder of their own", other, err)
	}
}

func TestFolder_NoCache_SaysWhatToSet(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	_, err := unpacked.Folder("things", fstest.MapFS{})
	if err == nil || !strings.HasSuffix(err.Error(), "set HOME or XDG_CACHE_HOME") {
		t.Errorf("got %v", err)
	}
}
