package kind

import (
	"os"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// Garden and seeds have the key of what they keep encrypted on this machine, in the node where kubeadm has its keys, and their API servers
// are told.
func TestConfig_EncryptsAtRest(t *testing.T) {
	t.Parallel()
	for role, want := range map[clusters.Role]string{clusters.Garden: "shootstates.core.gardener.cloud", clusters.Seed: "*.extensions.gardener.cloud"} {
		l := &Landscape{dir: rundir.At("x", t.TempDir())}
		c, err := newCluster(l, "elm", role)
		if err != nil {
			t.Fatal(err)
		}
		config := c.config()
		const inside = "/etc/kubernetes/pki/encryption.yaml"
		patch := config.KubeadmConfigPatchesJSON6902[0]
		if patch.Kind != "ClusterConfiguration" || !strings.Contains(patch.Patch, `"encryption-provider-config", "value": "`+inside+`"`) {
			t.Errorf("%s: the API server is told %v", role, patch)
		}
		found := false
		for _, mount := range config.Nodes[0].ExtraMounts {
			if mount.ContainerPath != inside {
				continue
			}
			found = true
			content, err := os.ReadFile(mount.HostPath)
			if err != nil || !strings.Contains(string(content), `"secrets", `) || !strings.Contains(string(content), want) {
				t.Errorf("%s: %v, %s", role, err, content)
			}
			if info, err := os.Stat(mount.HostPath); err != nil || info.Mode().Perm() != 0o600 || !mount.Readonly {
				t.Errorf("%s: others may read the key: %v, %v", role, info, err)
			}
		}
		if !found {
			t.Errorf("%s: the node has no configuration", role)
		}
	}
}
