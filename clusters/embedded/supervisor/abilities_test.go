package supervisor

import (
	"testing"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

func TestCheckAbility_EachOutage_RefusesMistakes(t *testing.T) {
	t.Parallel()
	const lost, frozen = "it is lost: return it", "it is frozen: thaw it"
	for outage, all := range map[rundir.Outage]map[Ability]string{
		"":            {Lose: "", Return: "", Freeze: "", Thaw: "it is not frozen"},
		rundir.Lost:   {Lose: lost, Return: "", Freeze: lost, Thaw: lost},
		rundir.Frozen: {Lose: "", Return: frozen, Freeze: frozen, Thaw: ""},
	} {
		for ability, want := range all {
			var got string
			if err := checkAbility(ability, outage); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%s of a cluster that is %q: got %q, want %q", ability, outage, got, want)
			}
		}
	}
}
