package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/clusters/kind/imagebuild"
)

func TestSort_ListOfKubeadm_GroupsImagesByName(t *testing.T) {
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

func TestFilesOfOurOwnAreWhole(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := imagebuild.CopyTree("rootfs", root, strings.NewReplacer("@PAUSE@", "pause:1")); err != nil {
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
