package environment

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

func TestCopyLogs(t *testing.T) {
	t.Parallel()
	const gardenlet, plane, unnamed = "11111111-aaaa", "22222222-bbbb", "33333333-cccc"
	dir := rundir.At("run", t.TempDir())
	for path, content := range map[string]string{
		"logs/cloud.log":                "cloud",
		"cloud-tokens.yaml":             "secret",
		"clusters/a/logs/etcd.log":      "etcd",
		"clusters/a/admin.kubeconfig":   "secret",
		"clusters/a/pki/ca.key":         "secret",
		"clusters/garden/logs/etcd.log": "etcd of the garden",
		"clusters/a/pods/" + gardenlet + "/containers/gardenlet/8.log":    "too old",
		"clusters/a/pods/" + gardenlet + "/containers/gardenlet/9.log":    "before",
		"clusters/a/pods/" + gardenlet + "/containers/gardenlet/10.log.1": "now, ",
		"clusters/a/pods/" + gardenlet + "/containers/gardenlet/10.log":   "later",
		"clusters/a/pods/" + gardenlet + "/volumes/kubeconfig/kubeconfig": "secret",
		"clusters/a/pods/" + plane + "/containers/etcd/0.log":             "etcd of alpha",
		"clusters/a/pods/" + plane + "/containers/backup/0.log":           "backup of alpha",
		"clusters/a/pods/" + unnamed + "/containers/gateway/0.log":        "gateway",
	} {
		file := dir.Join(path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join(t.TempDir(), "logs")
	names := podNames{"a": {gardenlet: "gardenlet-a", plane: "shoot-alpha/etcd-main-0"}}
	if err := copyLogs(dir, names, folder); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	if err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		got[name] = string(content)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"cloud.log": "cloud", "a/etcd.log": "etcd", "garden/etcd.log": "etcd of the garden",
		"a/gardenlet-a.log": "now, later", "a/gardenlet-a.previous.log": "before",
		"a/shoot-alpha/etcd-main-0-etcd.log": "etcd of alpha", "a/shoot-alpha/etcd-main-0-backup.log": "backup of alpha",
		"a/pod-33333333-gateway.log": "gateway",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
