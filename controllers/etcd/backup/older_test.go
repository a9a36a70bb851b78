package backup_test

import (
	"archive/zip"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/controllers/etcd/etcdtest"
)

// The archives have the data directory of an etcd of an older release, the bucket with its backups, and its state: what
// writeChanges leaves and one key more. The etcd and the sidecar of that release have made them.
func TestRestore_DataAndBackupsOfOlderEtcd_AreRead(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/etcd-*.zip")
	if err != nil || len(archives) == 0 {
		t.Fatalf("found no archive: %v", err)
	}
	for _, path := range archives {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			archive, err := zip.OpenReader(path)
			if err != nil {
				t.Fatal(err)
			}
			defer archive.Close()
			if err := os.CopyFS(dir, archive); err != nil {
				t.Fatal(err)
			}
			var want state
			content, err := os.ReadFile(filepath.Join(dir, "state.json"))
			if err == nil {
				err = json.Unmarshal(content, &want)
			}
			if err != nil || len(want) == 0 {
				t.Fatalf("read the state: %v, %v", want, err)
			}
			bucket := bucketOf(t, os.DirFS(filepath.Join(dir, "bucket")))
			restored, _, err := restore(t, bucket, 2)
			if err != nil {
				t.Fatal(err)
			}
			for what, data := range map[string]string{"data": filepath.Join(dir, "data"), "backups": restored} {
				etcd := etcdtest.Start(t, data)
				if diff := cmp.Diff(want, stateOf(t, etcd.Client)); diff != "" {
					t.Errorf("%s (- before, + now):\n%s", what, diff)
				}
				etcd.Stop(t)
			}
		})
	}
}

func bucketOf(t *testing.T, files fs.FS) *etcdtest.Bucket {
	t.Helper()
	bucket := &etcdtest.Bucket{}
	if err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		object, err := files.Open(path)
		if err != nil {
			return err
		}
		defer object.Close()
		return bucket.Create(t.Context(), path, object)
	}); err != nil {
		t.Fatal(err)
	}
	return bucket
}
