package observe

import (
	"testing"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
)

// The name of a third-party program says nothing about which actor it is.
func TestRuns_ThirdPartyExtensionNamedAsActor_IsNotTheActor(t *testing.T) {
	t.Parallel()
	own := process.Program{Args: []string{"/bin/gardenlet"}, Env: map[string]string{"TRANSPLANT_ACTOR": "vault-a"}}
	if Runs(own, "gardenlet") {
		t.Error("an extension that is called gardenlet is taken for one")
	}
	if !Runs(process.Program{Args: []string{"transplant", "gardenlet"}}, "gardenlet") {
		t.Error("the gardenlet is not found")
	}
}
