package extension

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
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

// countedHealth counts what a check reads of the API server.
func countedHealth(b *bench) (*health, map[string]int) {
	h, reads := healthOf(b), map[string]int{}
	counted := *b.provider
	counted.Seed = interceptor.NewClient(b.seed.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			options ...client.GetOption) error {
			reads[fmt.Sprintf("get %T", o)]++
			return c.Get(ctx, key, o, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			reads[fmt.Sprintf("list %T", list)]++
			return c.List(ctx, list, options...)
		},
	})
	h.provider = &counted
	return h, reads
}

func checked(t *testing.T, h *health) {
	t.Helper()
	if err := h.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A check without news asks the API server once a minute, and for what can be watched for all shoots together.
func TestHealth_NothingHasChanged_ReadsWhatIsWatchedFromWatches(t *testing.T) {
	t.Parallel()
	b := reconciled(t, cloudtest.NewLandscape(t), controlPlaneObject())
	worker := workerObject()
	b.create(worker)
	b.ask(worker, "reconcile")
	h, reads := countedHealth(b)
	for range 60 {
		checked(t, h)
		h.Clock.(*testingclock.FakeClock).Step(2 * time.Second)
	}
	want := map[string]int{"get *v1.ConfigMap": 2, "list *v1.PartialObjectMetadataList": 2}
	for _, kind := range []string{"Worker", "ControlPlane", "Network", "ContainerRuntime", "Extension",
		"MachineDeployment", "ManagedResource"} {
		want["list *v1alpha1."+kind+"List"] = 2
	}
	if diff := cmp.Diff(want, reads); diff != "" {
		t.Errorf("reads in two minutes (-want +got):\n%s", diff)
	}
}

// What watches show is read before it is written: one that has stopped neither hides what is wrong for more than a
// minute, nor overturns what was read.
func TestHealth_WatchesHaveStopped_ConditionsFollowTheSeed(t *testing.T) {
	t.Parallel()
	o := workerObject()
	b := reconciled(t, cloudtest.NewLandscape(t), o)
	h := healthOf(b)
	watches := stopped{b.base, map[string]client.ObjectList{}}
	h.Known = watches
	checked(t, h)
	checked(t, h)
	d := &machineDeployments(t, b)[0]
	d.Status.AvailableReplicas = 0
	if err := b.base.Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	h.Clock.(*testingclock.FakeClock).Step(time.Minute)
	checked(t, h)
	delete(watches.lists, "*v1alpha1.WorkerList") // it shows the condition; what it is about has stopped
	untouched(t, b, "a check after one that has read", func() { checked(t, h) })
	b.get(o)
	if got := conditionOf(o.Status.Conditions, "EveryNodeReady"); got != "False/HealthCheckUnsuccessful" {
		t.Errorf("EveryNodeReady is %s", got)
	}
}

// stopped are watches that go on to show what they showed first.
type stopped struct {
	client.Reader
	lists map[string]client.ObjectList
}

func (s stopped) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	kind := fmt.Sprintf("%T", list)
	if s.lists[kind] == nil {
		s.lists[kind] = list.DeepCopyObject().(client.ObjectList)
		if err := s.Reader.List(ctx, s.lists[kind], options...); err != nil {
			return err
		}
	}
	reflect.ValueOf(list).Elem().Set(reflect.ValueOf(s.lists[kind].DeepCopyObject()).Elem())
	return nil
}

// A condition that could not be written because of a conflict is written in the next round.
func TestHealth_WriteConflicts_NextRoundWrites(t *testing.T) {
	t.Parallel()
	o := controlPlaneObject()
	b := reconciled(t, cloudtest.NewLandscape(t), o)
	h := healthOf(b)
	b.cut = func(what string) (before, after error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.cut = nil
		return apierrors.NewConflict(schema.GroupResource{}, what, nil), nil
	}
	checked(t, h)
	checked(t, h)
	b.get(o)
	if got := conditionOf(o.Status.Conditions, "ControlPlaneHealthy"); got != "True/HealthCheckSuccessful" {
		t.Errorf("ControlPlaneHealthy is %s", got)
	}
}

// Two conditions of one ControlPlane that change in one round are both written.
func TestHealth_TwoConditionsChange_BothAreWrittenInOneRound(t *testing.T) {
	t.Parallel()
	o := controlPlaneObject()
	b := reconciled(t, cloudtest.NewLandscape(t), o)
	resource := &resourcesv1alpha1.ManagedResource{}
	key := client.ObjectKey{Namespace: technicalID, Name: "extension-controlplane-shoot"}
	if err := b.base.Get(t.Context(), key, resource); err != nil {
		t.Fatal(err)
	}
	resource.Status.Conditions = []gardencorev1beta1.Condition{{Type: "ResourcesHealthy", Status: "True"}}
	if err := b.base.Update(t.Context(), resource); err != nil {
		t.Fatal(err)
	}
	h := healthOf(b)
	h.Known = stopped{b.base, map[string]client.ObjectList{}}
	checked(t, h)
	b.get(o)
	for _, name := range []string{"ControlPlaneHealthy", "SystemComponentsHealthy"} {
		if got := conditionOf(o.Status.Conditions, name); got != "True/HealthCheckSuccessful" {
			t.Errorf("%s is %s", name, got)
		}
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
	var missing *corev1.Secret
	for _, secret := range secretsOf(t, b, client.InNamespace(technicalID)) {
		if secret.Name == "provider-transplant-controlplane-server" {
			if err := b.base.Delete(t.Context(), &secret); err != nil {
				t.Fatal(err)
			}
			missing = &secret
		}
	}
	h.Clock.(*testingclock.FakeClock).Step(time.Minute)
	checked(t, h)
	b.get(o)
	if got := conditionOf(o.Status.Conditions, "ControlPlaneHealthy"); got != "False/HealthCheckUnsuccessful" {
		t.Errorf("ControlPlaneHealthy is %s", got)
	}
	missing.ResourceVersion = ""
	if err := b.base.Create(t.Context(), missing); err != nil {
		t.Fatal(err)
	}
	checked(t, h) // at once: it is not healthy
	b.get(o)
	if got := conditionOf(o.Status.Conditions, "ControlPlaneHealthy"); got != "True/HealthCheckSuccessful" {
		t.Errorf("ControlPlaneHealthy is %s", got)
	}
}
