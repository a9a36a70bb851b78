package backend

import (
	"os"
	"testing"

	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/sim/world"
)

// What kind cannot do is refused by name; the embedded backend can all of it.
func TestKindCan(t *testing.T) {
	t.Parallel()
	asRoot := ""
	if os.Geteuid() != 0 {
		asRoot = "the kind backend cannot break processes unless it is run by root, beside a Docker of this machine"
	}
	for ability, want := range map[world.Ability]string{
		world.BreakClusters:  "",
		world.BreakLinks:     "",
		world.BreakProcesses: asRoot,
		world.BreakPrograms:  "the kind backend cannot break the programs of clusters",
		world.WipeDisks:      "the kind backend cannot wipe disks",
	} {
		err := (&Kind{}).Can(ability)
		if got := text(err); got != want {
			t.Errorf("to %s: got %q, want %q", ability, got, want)
		}
		if got := text((&World{able: (&Kind{}).Can}).Able(ability)); got != want {
			t.Errorf("a world of kind, to %s: got %q, want %q", ability, got, want)
		}
		if err := (&Embedded{}).Can(ability); err != nil {
			t.Errorf("to %s on embedded: %v", ability, err)
		}
	}
}

// What only Chaos Mesh can do it has to be installed for; and somebody has to be root to see that it bites.
func TestKindCanWithChaosMesh(t *testing.T) {
	t.Parallel()
	asRoot := ""
	if os.Geteuid() != 0 {
		asRoot = "the kind backend cannot do what only Chaos Mesh can: NetworkChaos with loss unless it is run by root, " +
			"beside a Docker of this machine"
	}
	ability := world.RunChaosMesh.For("NetworkChaos with loss")
	for want, backend := range map[string]interface{ Can(world.Ability) error }{
		asRoot: &Kind{ChaosMesh: &environment.ChaosMesh{Chart: "2.8.2"}},
		"the kind backend cannot do what only Chaos Mesh can: NetworkChaos with loss, unless it is installed with " +
			"--chaos-mesh": &Kind{ChaosMesh: &environment.ChaosMesh{}},
		"the embedded backend cannot do what only Chaos Mesh can: NetworkChaos with loss; the kind backend can, with " +
			"--chaos-mesh": &Embedded{},
	} {
		if got := text(backend.Can(ability)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
