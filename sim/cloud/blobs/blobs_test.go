package blobs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
)

// What a bucket holds is on the disk before the ledger says so: the bytes before the name, and the names of new folders
// too.
func TestBlobs_Write_IsOnTheDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := Open(t.Context(), "", dir, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	root := filepath.Join(dir, "objects")
	var synced []string
	b.disk.Sync = func(file *os.File) error {
		name, err := filepath.Rel(root, file.Name())
		if err != nil {
			return err
		}
		info, err := file.Stat()
		if err != nil {
			return err
		}
		_, missing := os.Stat(filepath.Join(root, "backups", "x", "one"))
		if !info.IsDir() {
			content, err := os.ReadFile(file.Name())
			if err != nil {
				return err
			}
			name = "bytes " + string(content)
		}
		if missing != nil {
			name += ", without a name"
		}
		synced = append(synced, name)
		return file.Sync()
	}
	for _, key := range []string{"backups/x/one", "backups/x/two"} {
		if size, err := b.Write(t.Context(), key, strings.NewReader(key)); err != nil || size != int64(len(key)) {
			t.Fatalf("%d, %v", size, err)
		}
	}
	want := []string{"bytes backups/x/one, without a name", "backups/x", "backups", ".", "bytes backups/x/two",
		"backups/x"}
	if diff := cmp.Diff(want, synced); diff != "" {
		t.Errorf("synced (-want +got):\n%s", diff)
	}
	b.disk.Sync = func(*os.File) error { return os.ErrDeadlineExceeded }
	if _, err := b.Write(t.Context(), "backups/x/three", strings.NewReader("3")); err == nil {
		t.Error("what cannot be synced is taken for written")
	}
	if _, err := os.Stat(filepath.Join(root, "backups", "x", "three")); err == nil {
		t.Error("what cannot be synced has its name")
	}
}
