package embedded_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded"
)

// encrypted is what kube-apiserver writes before a value it has encrypted.
const encrypted = "k8s:enc:secretbox:v1:key1:"

func testEncryption(t *testing.T, l *embedded.Landscape) {
	garden, seed := cluster(t, l, "garden"), cluster(t, l, "elm")
	for _, c := range []*embedded.Cluster{garden, seed} {
		config, clients := client(t, c, clusters.Observer)
		if err := createSecret(t.Context(), clients, "s"); err != nil {
			t.Fatal(err)
		}
		if c == garden {
			createCustom(t, config, "core.gardener.cloud", "v1beta1", "shootstates", "ShootState", secretWord)
			createCustom(t, config, "transplant.dev", "v1alpha1", "shootstatechunks", "ShootStateChunk", secretWord)
			createCustom(t, config, "core.gardener.cloud", "v1beta1", "shoots", "Shoot", openWord)
		} else {
			createCustom(t, config, "extensions.gardener.cloud", "v1alpha1", "workers", "Worker", secretWord)
			createCustom(t, config, "resources.gardener.cloud", "v1alpha1", "managedresources", "ManagedResource", openWord)
		}
	}
	tests := []struct {
		cluster *embedded.Cluster
		key     string
		want    bool
	}{
		{garden, "/registry/secrets/default/s", true},
		{garden, "/registry/core.gardener.cloud/shootstates/default/x", true},
		{garden, "/registry/transplant.dev/shootstatechunks/default/x", true},
		{garden, "/registry/core.gardener.cloud/shoots/default/x", false},
		{seed, "/registry/secrets/default/s", true},
		{seed, "/registry/extensions.gardener.cloud/workers/default/x", true},
		{seed, "/registry/resources.gardener.cloud/managedresources/default/x", false},
	}
	for _, test := range tests {
		value := rawValue(t, test.cluster, test.key)
		if got := strings.HasPrefix(value, encrypted); got != test.want {
			t.Errorf("%s of %s is encrypted: %v, want %v", test.key, test.cluster.Name(), got, test.want)
		}
		if readable := strings.Contains(value, secretWord) || strings.Contains(value, openWord); readable == test.want {
			t.Errorf("%s of %s can be read in etcd: %v, want %v", test.key, test.cluster.Name(), readable, !test.want)
		}
	}
	for _, c := range []*embedded.Cluster{garden, seed} { // deleted and older values lie in the files, too
		files := 0
		err := filepath.WalkDir(l.Dir().Join("clusters", c.Name(), "etcd"),
			func(path string, entry fs.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				content, err := os.ReadFile(path)
				if bytes.Contains(content, []byte(secretWord)) {
					t.Errorf("%s of %s has a secret", path, c.Name())
				}
				if bytes.Contains(content, []byte(openWord)) {
					files++
				}
				return err
			})
		if err != nil || files == 0 {
			t.Errorf("%d files of %s were found to hold what is written there: %v", files, c.Name(), err)
		}
	}
}

// Words in objects: those that nobody may read on a disk, and others.
const (
	secretWord = "abracadabra"
	openWord   = "opensesame"
)
