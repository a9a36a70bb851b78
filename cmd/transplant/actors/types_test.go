package actors

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestKindsOfFlows: a flow that asks a shoot for a kind which the mapper does not know fails on every shoot.
func TestKindsOfFlows(t *testing.T) {
	t.Parallel()
	for kind, scope := range map[schema.GroupKind]string{{Kind: "Namespace"}: "root", {Kind: "Secret"}: "namespace",
		{Group: "storage.k8s.io", Kind: "VolumeAttachment"}: "root"} {
		mapping, err := shootMapper().RESTMapping(kind, "v1")
		if err != nil || string(mapping.Scope.Name()) != scope {
			t.Errorf("%s: %+v, %v", kind, mapping, err)
		}
	}
}
