package extension

import (
	"context"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/extension/cloudtest"
)

func healthOf(b *bench) *health {
	return &health{provider: b.provider, Clock: testingclock.NewFakeClock(time.Now()), Every: time.Second}
}

func conditionOf(conditions []gardencorev1beta1.Condition, name string) string {
	for _, condition := range conditions {
		if string(condition.Type) == name {
			return string(condition.Status) + "/" + condition.Reason
		}
	}
	return "absent"
}

// TestG2Health: conditions follow what they are about, and are written only when they change.
func TestG2Health(t *testing.T) {
	t.Parallel()
	o := workerObject()
	b := reconciled(t, cloudtest.NewLandscape(t), o)
	h := healthOf(b)
	check := func(want string) {
		t.Helper()
		if err := h.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.get(o)
		if got := conditionOf(o.Status.Conditions, "EveryNodeReady"); got != want {
			t.Errorf("EveryNodeReady is %s, want %s", got, want)
		}
	}
	check("True/HealthCheckSuccessful")
	untouched(t, b, "a check without news", func() { check("True/HealthCheckSuccessful") })
	d := &machineDeployments(t, b)[0]
	before := d.DeepCopy()
	d.Status.AvailableReplicas = 0
	if err := b.base.Status().Patch(t.Context(), d, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	check("False/HealthCheckUnsuccessful")
	b.ask(o, "migrate")
	b.machineController()
	untouched(t, b, "a check after a migration", func() { check("False/HealthCheckUnsuccessful") })
}

// A check without news asks the API server for nothing; what cannot be watched is looked for once a minute.
func TestHealth_NothingHasChanged_ReadsWhatIsWatchedFromWatches(t *testing.T) {
	t.Parallel()
	b := reconciled(t, cloudtest.NewLandscape(t), controlPlaneObject())
	h, reads := healthOf(b), 0
	counted := *b.provider
	counted.Seed = interceptor.NewClient(b.seed.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			options ...client.GetOption) error {
			reads++
			return c.Get(ctx, key, o, options...)
		},
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			t.Errorf("%T is listed", list)
			return nil
		},
	})
	h.provider = &counted
	for range 60 {
		if err := h.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.Clock.(*testingclock.FakeClock).Step(2 * time.Second)
	}
	if reads != 2*3 {
		t.Errorf("%d reads in two minutes, want those of three objects a minute", reads)
	}
}

// TestHealthOfControlPlane: what is missing is said; what nobody reports on gets no condition.
func TestHealthOfControlPlane(t *testing.T) {
	t.Parallel()
	o := controlPlaneObject()
	b := reconciled(t, cloudtest.NewLandscape(t), o)
	h := healthOf(b)
	if err := h.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.get(o)
	if got := conditionOf(o.Status.Conditions, "ControlPlaneHealthy"); got != "True/HealthCheckSuccessful" {
		t.Errorf("ControlPlaneHealthy is %s", got)
	}
	if got := conditionOf(o.Status.Conditions, "SystemComponentsHealthy"); got != "absent" {
		t.Errorf("SystemComponentsHealthy is %s", got)
	}
	for _, secret := range secretsOf(t, b, client.InNamespace(technicalID)) {
		if secret.Name == "provider-transplant-controlplane-server" {
			if err := b.base.Delete(t.Context(), &secret); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.Clock.(*testingclock.FakeClock).Step(time.Minute)
	if err := h.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.get(o)
	if got := conditionOf(o.Status.Conditions, "ControlPlaneHealthy"); got != "False/HealthCheckUnsuccessful" {
		t.Errorf("ControlPlaneHealthy is %s", got)
	}
}
