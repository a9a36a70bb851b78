package environment

import (
	"testing"

	"github.com/transplant-sim/transplant/sim/landscape"
)

// What is built is the latest version that shoots can have; the others are stood in for (docs/adr/0007).
func TestTheLatestVersionIsTheOneThatIsBuilt(t *testing.T) {
	t.Parallel()
	if latest := landscape.Latest(landscape.Kubernetes()); latest != KubernetesVersion {
		t.Errorf("the latest version of the cloud profile is %s, %s is built", latest, KubernetesVersion)
	}
}
