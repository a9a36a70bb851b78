package observe

import (
	"testing"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/sim/landscape"
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

// The name of a seed may end with that of another one.
func TestProgramOf_SeedEndsWithTheNameOfAnother_IsOnItsOwn(t *testing.T) {
	t.Parallel()
	extensions := []landscape.Extension{{Name: "vault"}}
	for _, seeds := range [][]string{{"a", "eu-a"}, {"eu-a", "a"}} {
		for actor, want := range map[string][2]string{
			"gardenlet-eu-a": {"eu-a", "gardenlet"}, "gardenlet-a": {"a", "gardenlet"},
			"vault-eu-a": {"eu-a", "vault"}, "resource-manager-a": {"a", "resource-manager"},
			"garden-controller-manager": {"garden", "garden-controller-manager"},
			"user":                      {"", "user"},
		} {
			cluster, program, isExtension := programOf(actor, seeds, extensions)
			if cluster != want[0] || program != want[1] || isExtension != (program == "vault") {
				t.Errorf("%s of %v is %s on %q, an extension: %t", actor, seeds, program, cluster, isExtension)
			}
		}
	}
}
