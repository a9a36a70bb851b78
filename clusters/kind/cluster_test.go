package kind

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// Garden and seeds have the key of what they keep encrypted on this machine, in the node where kubeadm has its keys,
// and their API servers use it.
func TestConfig_EncryptsAtRest(t *testing.T) {
	t.Parallel()
	for role, want := range map[clusters.Role]string{clusters.Garden: "shootstates.core.gardener.cloud",
		clusters.Seed: "*.extensions.gardener.cloud"} {
		l := &Landscape{dir: rundir.At("x", t.TempDir())}
		c, err := newCluster(l, "elm", role)
		if err != nil {
			t.Fatal(err)
		}
		config := c.config()
		const inside = "/etc/kubernetes/pki/encryption.yaml"
		checkEncryptionPatches(t, config.KubeadmConfigPatchesJSON6902, inside)
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

// A kubelet waits as long as it wants before it starts a container again, unless the options say how long.
func TestConfig_MaxRestartBackoff_IsTheKubelets(t *testing.T) {
	t.Parallel()
	for longest, want := range map[time.Duration]string{0: "kind: KubeletConfiguration\nsyncFrequency: 5s\n",
		time.Second: "kind: KubeletConfiguration\nsyncFrequency: 5s\ncrashLoopBackOff: {maxContainerRestartPeriod: 1s}\n",
	} {
		l := &Landscape{dir: rundir.At("x", t.TempDir()), options: Options{MaxRestartBackoff: longest}}
		c, err := newCluster(l, "elm", clusters.Seed)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.config().KubeadmConfigPatches[0]; got != want {
			t.Errorf("%s: the kubelet gets %q, want %q", longest, got, want)
		}
	}
}

// checkEncryptionPatches applies the patches to what kind writes for node images of each age, of which it skips those
// that match no document: exactly one has to match, and keeps what is there.
func checkEncryptionPatches(t *testing.T, patches []v1alpha4.PatchJSON6902, file string) {
	t.Helper()
	for version, extraArgs := range map[string][2]string{
		"v1beta3": {`{"runtime-config":"x"}`, `{"runtime-config":"x","encryption-provider-config":%q}`},
		"v1beta4": {
			`[{"name":"runtime-config","value":"x"}]`,
			`[{"name":"runtime-config","value":"x"},{"name":"encryption-provider-config","value":%q}]`,
		},
	} {
		document, matched := []byte(`{"apiServer":{"extraArgs":`+extraArgs[0]+`}}`), 0
		for _, p := range patches {
			if p.Group != "kubeadm.k8s.io" || p.Version != version || p.Kind != "ClusterConfiguration" {
				continue
			}
			matched++
			patch, err := jsonpatch.DecodePatch([]byte(p.Patch))
			if err != nil {
				t.Fatal(err)
			}
			if document, err = patch.Apply(document); err != nil {
				t.Fatalf("%s: %v", version, err)
			}
		}
		want := fmt.Sprintf(`{"apiServer":{"extraArgs":`+extraArgs[1]+`}}`, file)
		if matched != 1 || !jsonpatch.Equal(document, []byte(want)) {
			t.Errorf("%s: %d patches match, and make %s, want %s", version, matched, document, want)
		}
	}
}
