package actors

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestKindsOfFlows: a flow that asks a shoot for a kind which the mapper does not know fails on every shoot.
func TestKindsOfFlows(t *testing.T) {
	t.Parallel()
	for kind, scope := range map[string]string{"Namespace": "root", "Secret": "namespace"} {
		mapping, err := shootMapper().RESTMapping(corev1.SchemeGroupVersion.WithKind(kind).GroupKind(), "v1")
		if err != nil || string(mapping.Scope.Name()) != scope {
			t.Errorf("%s: %+v, %v", kind, mapping, err)
		}
	}
}
