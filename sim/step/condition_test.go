package step_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

func TestAwait_ConditionThatIsMet_IsRecorded(t *testing.T) {
	t.Parallel()
	env, _, _ := newEnvironment(t)
	journal := env.Record.(*timeline.Journal)
	before := len(journal.Events())
	if err := env.Await(t.Context(), "shoot('alpha').seed == 'a'", time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := env.Await(t.Context(), "shoot('alpha').seed == 'b'", 0); err == nil {
		t.Error("it is not so")
	}
	var met []timeline.ConditionMet
	for _, p := range timeline.Of[timeline.ConditionMet](journal.Events()[before:]) {
		met = append(met, p)
	}
	want := []timeline.ConditionMet{{That: "shoot('alpha').seed == 'a'", Saw: `shoot("alpha").seed is "a"`}}
	if !slices.Equal(met, want) {
		t.Errorf("recorded %+v, want %+v", met, want)
	}
	var looks []string
	for _, p := range timeline.Of[timeline.Observed](journal.Events()[before:]) {
		if looks = append(looks, p.That); !strings.Contains(string(p.Facts), `"seed":"a"`) {
			t.Errorf("observed %s", p.Facts)
		}
	}
	if want := []string{"shoot('alpha').seed == 'a'", "shoot('alpha').seed == 'b'"}; !slices.Equal(looks, want) {
		t.Errorf("looks for %v, want %v", looks, want)
	}
}
