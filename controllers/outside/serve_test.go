package outside

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// onOutside is a landscape whose shoot runs outside, on its own or asked to go to a seed.
func onOutside(t *testing.T, asked string) *landscape {
	t.Helper()
	l := newLandscape()
	l.shoot.Status.SeedName = ptr.To(constants.SeedOutside)
	if asked != "" {
		l.shoot.Annotations = map[string]string{constants.HandOver: asked}
	}
	l.garden(t)
	return l
}

// serving is a restore that has taken the shoot over in an epoch.
func serving(t *testing.T, asked string, epoch int64) *run {
	t.Helper()
	l := onOutside(t, asked)
	one := l.on(alpha)
	one.Shoot, one.Epoch = l.shoot, epoch
	return one
}

// A control plane goes to the seed that somebody asks for, or else to that of the command, as soon as that reports; and
// it ends when the shoot is another's.
func TestAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asked, command string
		seed           string
		ready          bool
	}{
		"nobody asks":                     {},
		"the command asks":                {command: "b", seed: "b", ready: true},
		"somebody asks":                   {asked: "b", seed: "b", ready: true},
		"somebody asks for another":       {asked: "b", command: "a", seed: "b", ready: true},
		"the seed is silent":              {command: "a", seed: "a"},
		"there is no such seed":           {command: "z", seed: "z"},
		"somebody asks for a silent seed": {asked: "a", command: "b", seed: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed, ready, err := serving(t, c.asked, 3).asked(t.Context(), c.command)
			if seed != c.seed || ready != c.ready || err != nil {
				t.Errorf("got %q, %t, %v; want %q, %t", seed, ready, err, c.seed, c.ready)
			}
		})
	}
	l := newLandscape() // on seed a
	l.garden(t)
	_, _, err := l.on(alpha).asked(t.Context(), "b")
	if !errors.Is(err, errTaken) || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("of a shoot that is on a seed: %v", err)
	}
	superseded := serving(t, "", 2) // seed a took the next
	_, _, err = superseded.asked(t.Context(), "")
	if !errors.Is(err, errTaken) || !strings.Contains(err.Error(), "epoch 3") {
		t.Errorf("of a shoot that another owns by DNS: %v", err)
	}
}

// The shoot is bound to the seed, to be restored without the help of a source, and says so.
func TestBind(t *testing.T) {
	t.Parallel()
	l := onOutside(t, "b")
	if err := l.on(alpha).bind(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	shoot := &gardencorev1beta1.Shoot{}
	if err := l.Garden.Get(t.Context(), alpha, shoot); err != nil {
		t.Fatal(err)
	}
	last := shoot.Status.LastOperation
	if *shoot.Spec.SeedName != "b" || shoot.Annotations["shoot.gardener.cloud/force-restore"] != "true" ||
		last.Type != "Migrate" || last.State != "Aborted" || shoot.Annotations[constants.HandOver] != "" {
		t.Errorf("it is bound to %q, with %v, after %s %s", *shoot.Spec.SeedName, shoot.Annotations, last.Type, last.State)
	}
}

// Who calls the command again with a seed hands over what runs already. What does not run is not handed over.
func TestHandOver_ControlPlaneRunsAlready_AsksForIt(t *testing.T) {
	t.Parallel()
	l := onOutside(t, "")
	if handed, err := l.HandOver(t.Context(), alpha, "b"); handed || err != nil {
		t.Errorf("of one that does not answer: %t, %v", handed, err)
	}
	l.Hear = silence{}
	done := make(chan error, 1)
	go func() {
		handed, err := l.HandOver(t.Context(), alpha, "b")
		if !handed {
			err = errors.Join(err, errors.New("it is not handed over"))
		}
		done <- err
	}()
	shoot := &gardencorev1beta1.Shoot{}
	for deadline := time.Now().Add(30 * time.Second); shoot.Annotations[constants.HandOver] != "b"; {
		if err := l.Garden.Get(t.Context(), alpha, shoot); err != nil || time.Now().After(deadline) {
			t.Fatalf("nobody is asked: %v, %v", shoot.Annotations, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	shoot.Status.SeedName = ptr.To("b")
	shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Restore", State: "Succeeded"}
	if err := l.Garden.Status().Update(t.Context(), shoot); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
