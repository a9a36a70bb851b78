package extension

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/crds"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/controllers/extension/cloudtest"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/fence"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
)

// liveSeed is a real API server with the reference provider on it.
type liveSeed struct {
	t      *testing.T
	config *rest.Config
	client client.Client
	cloud  *cloudtest.Cloud
}

// patience bounds every wait on the live seed; the machine may be busy.
const patience = 60 * time.Second

func startSeed(t *testing.T, c *cloudtest.Cloud) *liveSeed {
	t.Helper()
	log.SetLogger(logr.Discard())
	s := &liveSeed{t: t, cloud: c, config: apiservertest.Start(t, apiservertest.Options{CRDs: crds.Seed()})}
	var err error
	if s.client, err = client.New(s.config, client.Options{Scheme: scheme()}); err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs the provider until the returned function is called, as a process would.
func (s *liveSeed) run(epoch int64) (stop func()) {
	s.t.Helper()
	mgr, err := newManager(s.config, "0")
	if err != nil {
		s.t.Fatal(err)
	}
	guarded, err := fence.Guarded(s.cloud.Config())
	if err != nil {
		s.t.Fatal(err)
	}
	provider := &provider{Seed: mgr.GetClient(), Cloud: guarded, Fence: fixedFence{epoch}, Clock: clock.RealClock{}}
	if err := provider.AddToManager(mgr, contract.Options{Type: reference.Type}); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	go s.machineController(ctx)
	return func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("the manager ended with: %v", err)
		}
	}
}

// machineController says of MachineDeployments that they are as they should be.
func (s *liveSeed) machineController(ctx context.Context) {
	for {
		all := &machinev1alpha1.MachineDeploymentList{}
		if err := s.client.List(ctx, all); err == nil {
			for i := range all.Items {
				d := &all.Items[i]
				before := d.DeepCopy()
				n := d.Spec.Replicas
				d.Status = machinev1alpha1.MachineDeploymentStatus{ObservedGeneration: d.Generation, Replicas: n,
					UpdatedReplicas: n, AvailableReplicas: n}
				_ = s.client.Status().Patch(ctx, d, client.MergeFrom(before))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s *liveSeed) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *liveSeed) surround() {
	s.t.Helper()
	b := &bench{t: s.t, epoch: 1}
	s.must(s.client.Create(s.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden"}}))
	for _, object := range b.surroundings() {
		if d, ok := object.(*appsv1.Deployment); ok {
			labels := map[string]string{"app": "mc"}
			d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
			d.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		}
		s.must(s.client.Create(s.t.Context(), object))
	}
}

// ask writes the annotations of a request.
func (s *liveSeed) ask(o extensionsv1alpha1.Object, operation string) {
	s.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"gardener.cloud/operation":%q,"gardener.cloud/timestamp":%q}}}`,
		operation, time.Now().UTC().Format(time.RFC3339Nano))
	s.must(s.client.Patch(s.t.Context(), o.(client.Object), client.RawPatch("application/merge-patch+json",
		[]byte(patch))))
}

// until waits for what holds of the object, and says what it was still waiting for.
func (s *liveSeed) until(o extensionsv1alpha1.Object, what string, holds func() string) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	reason := ""
	for time.Now().Before(deadline) {
		err := s.client.Get(s.t.Context(), client.ObjectKeyFromObject(o.(client.Object)), o.(client.Object))
		if client.IgnoreNotFound(err) != nil {
			s.t.Fatal(err)
		}
		if err != nil {
			o.SetUID("")
		}
		if reason = holds(); reason == "" {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.t.Fatalf("%T %q: %s: %s", o, o.GetName(), what, reason)
}

// ready is what a gardenlet waits for (docs/specification/extensions.md#spec-3-5).
func ready(o extensionsv1alpha1.Object) string {
	status := o.GetExtensionStatus()
	requested, _ := time.Parse(time.RFC3339Nano, o.GetAnnotations()["gardener.cloud/timestamp"])
	last := status.GetLastOperation()
	switch {
	case status.GetLastError() != nil:
		return status.GetLastError().Description
	case last == nil || last.State != "Succeeded":
		return fmt.Sprintf("last operation %+v", last)
	case status.GetObservedGeneration() != o.GetGeneration() || o.GetAnnotations()["gardener.cloud/operation"] != "":
		return "the request was not taken up"
	case requested.Truncate(time.Second).After(last.LastUpdateTime.Time):
		return "the request is newer than the last operation"
	}
	return ""
}

// mark puts fields on an object that no type here models.
func (s *liveSeed) mark(o extensionsv1alpha1.Object) {
	s.t.Helper()
	s.must(s.client.Patch(s.t.Context(), o.(client.Object), client.RawPatch("application/merge-patch+json",
		[]byte(`{"spec":{"notModelled":{"a":["b"]}}}`))))
	s.must(s.client.Status().Patch(s.t.Context(), o.(client.Object), client.RawPatch("application/merge-patch+json",
		[]byte(`{"status":{"notModelled":"c"}}`))))
}

func (s *liveSeed) marked(o extensionsv1alpha1.Object) bool {
	s.t.Helper()
	kind, err := apiutil.GVKForObject(o.(client.Object), scheme())
	s.must(err)
	raw := &unstructured.Unstructured{}
	raw.SetGroupVersionKind(kind)
	s.must(s.client.Get(s.t.Context(), client.ObjectKeyFromObject(o.(client.Object)), raw))
	inSpec, _, _ := unstructured.NestedStringSlice(raw.Object, "spec", "notModelled", "a")
	inStatus, _, _ := unstructured.NestedString(raw.Object, "status", "notModelled")
	return cmp.Equal(inSpec, []string{"b"}) && inStatus == "c"
}

// TestOnARealAPIServer takes every kind through create, reconcile, migrate, deletion, restore and deletion on a real
// API server, with a restart in between: the cloud is untouched by the move, and fields nobody models survive every
// write.
func TestOnARealAPIServer(t *testing.T) {
	t.Parallel()
	c := cloudtest.NewLandscape(t)
	empty := c.IDs()
	s := startSeed(t, c)
	s.surround()
	stop := s.run(1)
	objects := map[int]extensionsv1alpha1.Object{}
	for i, fresh := range fixtures() {
		o := fresh()
		o.SetUID("")
		s.must(s.client.Create(t.Context(), o.(client.Object)))
		objects[i] = o
	}
	for i := range fixtures() {
		o := objects[i]
		s.until(o, "created", func() string { return ready(o) })
		s.mark(o)
		s.ask(o, "reconcile")
	}
	states := map[int][]byte{}
	for i := range fixtures() {
		o := objects[i]
		s.until(o, "reconciled", func() string { return ready(o) })
		if !s.marked(o) {
			t.Errorf("%T lost fields that are not modelled", o)
		}
		if state := o.GetExtensionStatus().GetState(); state != nil {
			states[i] = state.Raw
		}
		s.ask(o, "migrate")
	}
	before := c.IDs()
	for i := range fixtures() {
		o := objects[i]
		s.until(o, "migrated", func() string { return ready(o) })
		if got := last(o); got != "Migrate/Succeeded/100" || !s.marked(o) {
			t.Errorf("%T: %s, marked %t", o, got, s.marked(o))
		}
		s.must(s.client.Delete(t.Context(), o.(client.Object)))
		s.until(o, "gone", func() string { return string(o.GetUID()) })
	}
	stop()
	stop = s.run(2)
	for i, fresh := range fixtures() {
		o := fresh()
		o.SetUID("")
		o.SetAnnotations(map[string]string{"gardener.cloud/operation": "wait-for-state"})
		s.must(s.client.Create(t.Context(), o.(client.Object)))
		if states[i] != nil {
			patch, err := json.Marshal(map[string]any{"status": map[string]any{"state": json.RawMessage(states[i])}})
			s.must(err)
			s.must(s.client.Status().Patch(t.Context(), o.(client.Object), client.RawPatch("application/merge-patch+json",
				patch)))
		}
		objects[i] = o
		s.ask(o, "restore")
	}
	for i := range fixtures() {
		o := objects[i]
		s.until(o, "restored", func() string { return ready(o) })
	}
	if diff := cmp.Diff(before, c.IDs()); diff != "" {
		t.Errorf("the move has changed the cloud: %s", diff)
	}
	for i := range fixtures() {
		s.must(client.IgnoreNotFound(s.client.Delete(t.Context(), objects[i].(client.Object))))
	}
	s.removeMachineDeployments()
	for i := range fixtures() {
		o := objects[i]
		s.until(o, "deleted", func() string { return string(o.GetUID()) })
	}
	stop()
	if diff := cmp.Diff(empty, c.IDs()); diff != "" {
		t.Errorf("left in the cloud: %s", diff)
	}
}

// removeMachineDeployments is the other half of the machine controller: here nothing holds them.
func (s *liveSeed) removeMachineDeployments() {
	s.t.Helper()
	s.must(s.client.DeleteAllOf(s.t.Context(), &machinev1alpha1.MachineDeployment{}, client.InNamespace(technicalID)))
}

// TestBastionAndExposure: kinds that stay with their seed come and go, with what they stand for.
func TestBastionAndExposure(t *testing.T) {
	t.Parallel()
	c := cloudtest.NewLandscape(t)
	infrastructure := infrastructureObject()
	b := reconciled(t, c, infrastructure)
	before := c.IDs()
	bastion := &extensionsv1alpha1.Bastion{ObjectMeta: named("b"), Spec: extensionsv1alpha1.BastionSpec{
		DefaultSpec: spec(), UserData: []byte("x"),
		Ingress: []extensionsv1alpha1.BastionIngressPolicy{{IPBlock: networkingv1.IPBlock{CIDR: "192.0.2.0/24"}}},
	}}
	exposure := &extensionsv1alpha1.SelfHostedShootExposure{ObjectMeta: named("e"),
		Spec: extensionsv1alpha1.SelfHostedShootExposureSpec{
			DefaultSpec: spec(), Endpoints: []extensionsv1alpha1.ControlPlaneEndpoint{{NodeName: "n", Port: 443},
				{NodeName: "m", Port: 443}},
		}}
	for _, o := range []extensionsv1alpha1.Object{bastion, exposure} {
		b.create(o)
		b.ask(o, "reconcile")
		_, calls := touched(b, func() { b.ask(o, "reconcile") })
		b.get(o)
		if last(o) != "Reconcile/Succeeded/100" || len(calls) > 0 {
			t.Errorf("%T: %s, repeated calls %v", o, last(o), calls)
		}
	}
	if bastion.Status.Ingress == nil || len(exposure.Status.Ingress) != 1 ||
		len(c.IDs(cloud.KindMachines, cloud.KindLoadBalancers)) != 2 {
		t.Errorf("ingress %v and %v, cloud %v", bastion.Status.Ingress, exposure.Status.Ingress, c.IDs())
	}
	b.annotate(bastion, "migrate")
	if _, err := b.once(bastion); err == nil {
		t.Error("a Bastion was migrated")
	}
	b.change(bastion, func() { bastion.Annotations = nil })
	for _, o := range []extensionsv1alpha1.Object{bastion, exposure} {
		b.delete(o)
		b.settle(o)
	}
	if diff := cmp.Diff(before, c.IDs()); diff != "" {
		t.Error(diff)
	}
}
