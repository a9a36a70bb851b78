package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// disks are the folders that stand for the disks of the shoot's machines, by the names of their nodes (ARCHITECTURE.md,
// "Run directory").
func (l *landscape) disks(t *testing.T) map[string]string {
	t.Helper()
	disks := map[string]string{}
	for line := range strings.Lines(l.on(t, "alpha", "get", "nodes", "-o",
		`jsonpath={range .items[*]}{.metadata.name} {.spec.providerID}{"\n"}{end}`)) {
		node, machine, _ := strings.Cut(strings.TrimSpace(line), " ")
		disks[node] = filepath.Join(l.home, "e2e", "nodes", strings.TrimPrefix(machine, "transplant:///"))
	}
	return disks
}

const dockerHosts = "etc/containerd/certs.d/docker.io/hosts.toml"

// mirrors: a mirror that the shoot's owner asks for is on the disks of nodes that are made from then on, and on no
// other; all have the hosts directory and what imports conf.d (docs/specification/nodes-and-seeds.md#spec-7-3).
func (l *landscape) mirrors(t *testing.T) {
	old := l.disks(t)
	l.on(t, "garden", "patch", "shoot", "-n", "garden-p", "alpha", "--type=merge", "-p",
		`{"spec":{"extensions":[{"type":"transplant","providerConfig":{"mirrors":[{"upstream":"docker.io",`+
			`"hosts":[{"host":"https://mirror.test"}]}]}}]}}`)
	l.on(t, "garden", "patch", "shoot", "-n", "garden-p", "alpha", "--type=json", "-p",
		`[{"op":"replace","path":"/spec/provider/workers/0/maximum","value":2},{"op":"replace",`+
			`"path":"/spec/provider/workers/0/minimum","value":2}]`)
	disks := old
	for deadline := time.Now().Add(3 * time.Minute); len(disks) < 2; time.Sleep(500 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("there are %d nodes, want 2", len(disks))
		}
		disks = l.disks(t)
	}
	for node, disk := range disks {
		config, err := os.ReadFile(filepath.Join(disk, "etc/containerd/config.toml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{`imports = ["/etc/containerd/conf.d/*.toml"]`,
			`config_path = "/etc/containerd/certs.d"`} {
			if !strings.Contains(string(config), line) {
				t.Errorf("config.toml of %s has no %s:\n%s", node, line, config)
			}
		}
		for _, folder := range []string{"etc/containerd/certs.d", "etc/containerd/conf.d"} {
			if info, err := os.Stat(filepath.Join(disk, folder)); err != nil || !info.IsDir() {
				t.Errorf("%s has no folder %s (%v)", node, folder, err)
			}
		}
		hosts, err := os.ReadFile(filepath.Join(disk, dockerHosts))
		if _, was := old[node]; was {
			if !os.IsNotExist(err) {
				t.Errorf("%s was there before the mirror, and has got %q (%v)", node, hosts, err)
			}
			continue
		}
		if err != nil || !strings.Contains(string(hosts), `[host."https://mirror.test"]`) || !strings.Contains(string(hosts),
			`server = "https://registry-1.docker.io"`) {
			t.Errorf("hosts.toml of the new node %s is %q (%v)", node, hosts, err)
		}
	}
}
