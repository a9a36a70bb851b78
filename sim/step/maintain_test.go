package step_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/step"
	"github.com/transplant-sim/transplant/sim/world"
)

func TestReschedule(t *testing.T) {
	t.Parallel()
	env, _, garden := newEnvironment(t)
	one := &step.Reschedule{Shoot: "alpha", EndsIn: metav1.Duration{Duration: 10 * time.Minute}}
	one.Default()
	before := time.Now().Add(-time.Second)
	if err := one.Run(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	shoot := &gardencorev1beta1.Shoot{}
	if err := garden.Get(t.Context(), env.World.ShootKey("alpha"), shoot); err != nil {
		t.Fatal(err)
	}
	w := shoot.Spec.Maintenance.TimeWindow
	begin, err := time.Parse("150405-0700", w.Begin)
	if err != nil {
		t.Fatal(err)
	}
	end, err := time.Parse("150405-0700", w.End)
	if err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour
	if lasts := (end.Sub(begin) + day) % day; lasts != 30*time.Minute {
		t.Errorf("the window %s–%s lasts %s", w.Begin, w.End, lasts)
	}
	today := before.UTC().Truncate(day)
	endsIn := (today.Add(end.Sub(end.Truncate(day))).Sub(before) + day) % day
	if endsIn < 10*time.Minute-time.Second || endsIn > 11*time.Minute {
		t.Errorf("the window %s–%s ends in %s", w.Begin, w.End, endsIn)
	}
}

// shootClient reaches the API server of alpha as the observer does.
func shootClient(t *testing.T, env *step.Environment) client.Client {
	t.Helper()
	config, err := env.World.ConnectShoot(t.Context(), "alpha", world.Observer)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSelect(t *testing.T) {
	t.Parallel()
	env, _, _ := newEnvironment(t)
	shoot := shootClient(t, env)
	const candidate, selected = "node.machine.sapcloud.io/candidate-for-update",
		"node.machine.sapcloud.io/selected-for-update"
	for name, labels := range map[string]map[string]string{
		"c-2": {candidate: "true"}, "c-1": {candidate: "true"}, "c-0": {candidate: "true", selected: "true"}, "n-0": nil,
	} {
		if err := shoot.Create(t.Context(),
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}); err != nil {
			t.Fatal(err)
		}
	}
	one := &step.Select{Shoot: "alpha"}
	one.Default()
	if err := one.Run(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	all, got := &corev1.NodeList{}, map[string]bool{}
	if err := shoot.List(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	for _, node := range all.Items {
		if node.Labels[selected] == "true" {
			got[node.Name] = true
		}
	}
	if diff := cmp.Diff(map[string]bool{"c-0": true, "c-1": true}, got); diff != "" {
		t.Errorf("selected (-want +got):\n%s", diff)
	}
	if err := env.Await(t.Context(), "shoot('alpha').workers.candidates == 3 && shoot('alpha').workers.selected == 2",
		time.Minute); err != nil {
		t.Error(err)
	}
	more := &step.Select{Shoot: "alpha", Nodes: 2}
	if err := more.Run(t.Context(), env); err == nil || !strings.Contains(err.Error(),
		"there are 1 candidates that are not selected yet") {
		t.Errorf("error %v", err)
	}
}

func TestCheck_StepsOfMaintenance(t *testing.T) {
	t.Parallel()
	on := landscape.Landscape{
		Seeds:  []landscape.Seed{{Name: "a"}},
		Shoots: []landscape.Shoot{{Name: "alpha", Seed: "a"}},
	}
	minutes := metav1.Duration{Duration: time.Minute}
	for _, c := range []struct {
		name string
		step step.Step
		want []string
	}{
		{"a window", &step.Reschedule{Shoot: "alpha", EndsIn: minutes, Lasts: minutes}, nil},
		{"a window that never is", &step.Reschedule{Shoot: "omega"}, []string{"s.shoot", "s.endsIn", "s.lasts"}},
		{"a selection", &step.Select{Shoot: "alpha", Nodes: 1}, nil},
		{"a selection of nothing", &step.Select{Shoot: "omega"}, []string{"s.shoot", "s.nodes"}},
	} {
		var got []string
		for _, err := range c.step.Check(field.NewPath("s"), step.NewState(on, nil)) {
			got = append(got, err.Field)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
