package environment

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// Chaos Mesh is refused where it cannot be, before anything is made.
func TestChaosMeshIsChecked(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	c := &ChaosMesh{Chart: "2.8.2"}
	for backend, want := range map[string]string{
		"embedded":  "--chaos-mesh 2.8.2: Chaos Mesh harms containers, of which backend embedded has none",
		rundir.Kind: "--chaos-mesh 2.8.2: the helm command, which installs it, is not in PATH",
	} {
		if err := c.Check(backend); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("on %s: got %v, want %q", backend, err, want)
		}
		if err := (&ChaosMesh{}).Check(backend); err != nil {
			t.Errorf("on %s, not asked for: %v", backend, err)
		}
	}
	if err := (*ChaosMesh)(nil).install(t.Context(), map[string]string{"a": "unused"}); err != nil {
		t.Errorf("not asked for: %v", err)
	}
}

// Helm is called to install the chart on every cluster. When it fails, the error says what it printed.
func TestChaosMeshIsInstalled(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	helm := func(script string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, "helm"), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	kubeconfigs := map[string]string{"garden": filepath.Join(folder, "garden"), "a": filepath.Join(folder, "a")}
	helm(`kubeconfig= ; all="$*"; while [ $# -gt 0 ]; do [ "$1" = --kubeconfig ] && kubeconfig=$2; shift; done; echo ` +
		`"$all" >"$kubeconfig.args"`)
	for chart, want := range map[string]string{
		"2.8.2": "install chaos-mesh chaos-mesh --repo https://charts.chaos-mesh.org --version 2.8.2 " +
			"--namespace",
		"./chaos-mesh-2.8.tgz": "install chaos-mesh ./chaos-mesh-2.8.tgz --namespace",
	} {
		if err := (&ChaosMesh{Chart: chart}).install(t.Context(), kubeconfigs); err != nil {
			t.Fatal(err)
		}
		for cluster, kubeconfig := range kubeconfigs {
			args, err := os.ReadFile(kubeconfig + ".args")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(args), want) || !slices.Contains(strings.Fields(string(args)), "--wait") {
				t.Errorf("on cluster %s helm is called with %q, want %q", cluster, args, want)
			}
		}
	}
	helm("echo no such chart >&2; exit 1")
	if err := (&ChaosMesh{Chart: "2.8.2"}).install(t.Context(), kubeconfigs); err == nil || !strings.Contains(err.Error(),
		"exit status 1: no such chart") {
		t.Errorf("got %v", err)
	}
}

// What Docker has of a chart's images is given to the nodes, each once.
func TestChaosMeshIsTakenFromDocker(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	for name, script := range map[string]string{
		"docker": `case "$*" in *r/daemon:1|*r/pause:1) echo sha256:1 ;; esac`,
		"helm": `[ "$1" = template ] || exit 1
cat <<'EOF'
# Source: a comment
---
apiVersion: v1
kind: ConfigMap
data: {image: "r/none:1"}
---
apiVersion: apps/v1
kind: DaemonSet
spec: {template: {spec: {initContainers: [{name: first, image: "r/daemon:1"}], ` +
			`containers: [{name: daemon, image: "r/daemon:1"}]}}}
---
apiVersion: apps/v1
kind: Deployment
spec: {template: {spec: {containers: [{name: manager, image: "r/manager:1", env: [
  {name: POD_FAILURE_PAUSE_IMAGE, value: "r/pause:1"}, {name: OTHER, value: "r/none:1"}]}]}}}
EOF`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	got, err := (&ChaosMesh{Chart: "2.8.2"}).images(t.Context())
	if want := []string{"r/daemon:1", "r/pause:1"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
