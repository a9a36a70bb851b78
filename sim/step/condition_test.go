package step_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/step"
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

// A look that sees nothing which the condition names is recorded once a second, and at last.
func TestAwait_OtherChanges_AreRecordedOnceASecond(t *testing.T) {
	t.Parallel()
	env, _, garden := newEnvironment(t)
	clock := testingclock.NewFakeClock(time.Now())
	env.Clock = clock
	journal := env.Record.(*timeline.Journal)
	before, ended := len(journal.Events()), make(chan error)
	go func() { ended <- env.Await(t.Context(), "shoot('alpha').seed == 'b'", 1500*time.Millisecond) }()
	shoot := &gardencorev1beta1.Shoot{}
	shoot.Namespace, shoot.Name = env.World.ShootKey("alpha").Namespace, "alpha"
	for look := range 8 {
		for !clock.HasWaiters() {
			time.Sleep(time.Millisecond)
		}
		patch := fmt.Sprintf(`{"metadata":{"labels":{"shoot.gardener.cloud/status":"look-%d"}}}`, look)
		if err := garden.Patch(t.Context(), shoot, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
		clock.Step(200 * time.Millisecond)
	}
	if err := <-ended; !errors.As(err, &step.Unmet{}) {
		t.Errorf("error %v", err)
	}
	var seen []string
	for _, p := range timeline.Of[timeline.Observed](journal.Events()[before:]) {
		seen = append(seen, regexp.MustCompile(`look-\d`).FindString(string(p.Facts)))
	}
	if want := []string{"", "look-4", "look-7"}; !slices.Equal(seen, want) {
		t.Errorf("recorded %q, want %q", seen, want)
	}
}

// What is sampled is judged by all samples together, and once: nothing that comes before the last one is recorded.
func TestExpect_Samples_AreJudgedOnce(t *testing.T) {
	t.Parallel()
	env, _, _ := newEnvironment(t)
	long, over := metav1.Duration{Duration: time.Minute}, metav1.Duration{Duration: time.Nanosecond}
	const all, early = "shoot('alpha').answerTimes.size() == 120", "shoot('alpha').answerTimes.size() == 40"
	for name, c := range map[string]struct {
		expect step.Expect
		is     error
		want   string // of the error
	}{
		"of all":       {step.Expect{That: all, Samples: 3, Within: long}, nil, ""},
		"of the first": {step.Expect{That: early, Samples: 3, Within: long}, step.Unmet{}, "not so: " + early},
		"too few": {step.Expect{That: early, Samples: 3, Within: over}, step.Unknown{},
			"answerTimes is unknown: 1 of 3 samples could be taken within 1ns"},
		"no such shoot": {step.Expect{That: "shoot('omega').answerTimes.size() == 40", Samples: 3, Within: over},
			step.Unmet{}, "not so"},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(env.Record.(*timeline.Journal).Events())
			err := c.expect.Run(t.Context(), env)
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) ||
				fmt.Sprintf("%T", kindOf(err)) != fmt.Sprintf("%T", c.is) {
				t.Errorf("error %v, want %T, %q", err, c.is, c.want)
			}
			recorded := 0
			for range timeline.Of[timeline.Observed](env.Record.(*timeline.Journal).Events()[before:]) {
				recorded++
			}
			if recorded != 1 {
				t.Errorf("%d observations are recorded, want one", recorded)
			}
		})
	}
}
