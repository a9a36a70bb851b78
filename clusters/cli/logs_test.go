package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

func TestLogsOfPodsAreListed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, file := range []string{
		"logs/cloud.log", "clusters/b/logs/etcd.log",
		"clusters/b/pods/7ce4f2af-a7cf/containers/guard/9.log", "clusters/b/pods/7ce4f2af-a7cf/containers/guard/10.log",
		"clusters/b/pods/7ce4f2af-a7cf/containers/etcd/0.log", "clusters/a/pods/0123456789/containers/gardenlet/0.log",
		"clusters/a/pods/0123456789/hosts",
	} {
		path := filepath.Join(folder, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	for _, one := range findLogs(rundir.At("tale", folder)) {
		path, err := filepath.Rel(folder, one.path)
		if err != nil {
			t.Fatal(err)
		}
		got[one.name] = path
	}
	want := map[string]string{
		"cloud": "logs/cloud.log", "b/etcd": "clusters/b/logs/etcd.log",
		"b/guard@7ce4f2af.9":   "clusters/b/pods/7ce4f2af-a7cf/containers/guard/9.log",
		"b/guard@7ce4f2af":     "clusters/b/pods/7ce4f2af-a7cf/containers/guard/10.log",
		"b/etcd@7ce4f2af":      "clusters/b/pods/7ce4f2af-a7cf/containers/etcd/0.log",
		"a/gardenlet@01234567": "clusters/a/pods/0123456789/containers/gardenlet/0.log",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
}
