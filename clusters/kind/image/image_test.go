package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestImagesAreToldByName(t *testing.T) {
	t.Parallel()
	all := []string{
		"r/kube-apiserver:v1.36.3", "r/kube-controller-manager:v1.36.3", "r/kube-scheduler:v1.36.3", "r/kube-proxy:v1.36.3",
		"r/coredns/coredns:v1.14.2", "r/pause:3.10.2", "r/etcd:3.6.8-0",
	}
	got, err := sort(strings.Join(all, "\n") + "\n")
	if err != nil {
		t.Fatal(err)
	}
	want := names{controlPlane: []string{all[0], all[1], all[2], all[6]}, coredns: all[4], proxy: all[3], pause: all[5]}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(names{})); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for name, list := range map[string]string{
		"one is missing": strings.Join(all[1:], "\n"),
		"one is new":     strings.Join(append(all, "r/kube-oracle:v1.36.3"), "\n"),
	} {
		if _, err := sort(list); err == nil {
			t.Errorf("%s: was taken", name)
		}
	}
}

func TestTheVersionIsThatOfTheControlPlane(t *testing.T) {
	t.Parallel()
	ours, err := kubernetesVersion(filepath.Join("kubernetes", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := kubernetesVersion(filepath.Join("..", "..", "controlplane", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if ours != theirs {
		t.Errorf("nodes have Kubernetes %s, the control plane has %s", ours, theirs)
	}
}

func TestTheDigestFollowsTheSources(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "controlplane")
	if err := os.WriteFile(program, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	of := func(files fstest.MapFS) string {
		t.Helper()
		sum, err := digest(files, program)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	base := of(fstest.MapFS{"a/b": {Data: []byte("1")}})
	for name, test := range map[string]struct {
		files fstest.MapFS
		same  bool
	}{
		"nothing":       {fstest.MapFS{"a/b": {Data: []byte("1")}}, true},
		"a test":        {fstest.MapFS{"a/b": {Data: []byte("1")}, "x_test.go": {}}, true},
		"a file's text": {fstest.MapFS{"a/b": {Data: []byte("2")}}, false},
		"a file's name": {fstest.MapFS{"a/c": {Data: []byte("1")}}, false},
		"another file":  {fstest.MapFS{"a/b": {Data: []byte("1")}, "c": {}}, false},
	} {
		if got := of(test.files); (got == base) != test.same {
			t.Errorf("%s changed: same digest is %t", name, got == base)
		}
	}
}

func TestOnlySourcesOfTheReleaseAreTaken(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, content := range map[string]string{
		"sources.list.d/debian.sources": "Types: deb\nSuites: bookworm bookworm-updates\n",
		"sources.list.d/other.list":     "deb https://packages.test/tool nodistro main\n",
		"sources.list.d/off.disabled":   "Suites: bookworm\n",
	} {
		if err := copyText(filepath.Join(folder, name), content); err != nil {
			t.Fatal(err)
		}
	}
	got, err := aptSources(folder)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{filepath.Join(folder, "sources.list.d/debian.sources")}, got); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
	if _, err := aptSources(t.TempDir()); err == nil || !strings.Contains(err.Error(), "there are none") {
		t.Errorf("without sources: got %v", err)
	}
}

func TestFilesOfOurOwnAreWhole(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := copyTree("rootfs", root, strings.NewReplacer("@PAUSE@", "pause:1")); err != nil {
		t.Fatal(err)
	}
	if err := units(root); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(root, "etc/containerd/config.toml"))
	if err != nil || !strings.Contains(string(config), "sandbox = 'pause:1'") {
		t.Errorf("the runtime's configuration is %q, %v", config, err)
	}
	if info, err := os.Stat(filepath.Join(root, "usr/local/bin/entrypoint")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the entrypoint is %v, %v", info, err)
	}
	for _, unit := range wanted {
		link := filepath.Join(root, "etc/systemd/system/multi-user.target.wants", unit)
		target, err := os.Readlink(link)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := os.Stat(filepath.Join(root, target)); err != nil {
			t.Errorf("unit %q is started, and is not there: %v", unit, err)
		}
	}
}

func copyText(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o600)
}
