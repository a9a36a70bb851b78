// Package atrest says what clusters keep encrypted in etcd, and writes the configuration by which their API servers do.
//
// It is about garden and seeds. The etcd of a shoot is the gardenlet's, whose configuration is another.
package atrest

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/transplant-sim/transplant/clusters"
)

// FileName of the configuration.
const FileName = "encryption.yaml"

// Resources that a cluster in this role keeps encrypted: all that carry secrets of shoots, or the state of extensions,
// which may.
func Resources(role clusters.Role) []string {
	if role == clusters.Garden {
		return []string{"secrets", "shootstates.core.gardener.cloud", "shootstatechunks.transplant.dev"}
	}
	return []string{"secrets", "*.extensions.gardener.cloud"}
}

const configuration = `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [%s]
  providers:
  - secretbox:
      keys:
      - name: key1
        secret: %s
  - identity: {}
`

// Configuration encrypts these resources with a new key. It is made once in the life of a cluster.
func Configuration(resources []string) []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	quoted := `"` + strings.Join(resources, `", "`) + `"`
	return fmt.Appendf(nil, configuration, quoted, base64.StdEncoding.EncodeToString(key))
}
