package contract

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

func object(operation, lastType, lastState string, deleting bool) *extensionsv1alpha1.Network {
	o := &extensionsv1alpha1.Network{}
	o.Spec.Type = "x"
	if operation != "" {
		o.Annotations = map[string]string{"gardener.cloud/operation": operation}
	}
	if lastType != "" {
		o.Status.LastOperation = &gardencorev1beta1.LastOperation{
			Type: gardencorev1beta1.LastOperationType(lastType), State: gardencorev1beta1.LastOperationState(lastState),
		}
	}
	if deleting {
		o.DeletionTimestamp = ptr.To(metav1.Now())
	}
	return o
}

// TestOperationType is the table of docs/specification/extensions.md#spec-3-2, with what is due at all.
func TestOperationType(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		operation, lastType, lastState string
		deleting                       bool
		want                           gardencorev1beta1.LastOperationType
		due                            bool
	}{
		{"migrate", "Reconcile", "Succeeded", true, "Migrate", true},
		{"reconcile", "Reconcile", "Succeeded", true, "Delete", true},
		{"restore", "Reconcile", "Succeeded", true, "Delete", true},
		{"restore", "Migrate", "Succeeded", false, "Restore", true},
		{"", "", "", false, "Create", true},
		{"reconcile", "", "", false, "Create", true},
		{"reconcile", "Create", "Error", false, "Create", true},
		{"reconcile", "Migrate", "Processing", false, "Migrate", true},
		{"", "Restore", "Error", false, "Restore", true},
		{"", "Reconcile", "Error", false, "Reconcile", true},
		{"reconcile", "Restore", "Succeeded", false, "Reconcile", true},
		{"", "Reconcile", "Succeeded", false, "Reconcile", false},
		{"wait-for-state", "", "", false, "Create", false},
		{"wait-for-state", "Restore", "Error", false, "Restore", false},
		{"keepalive", "Reconcile", "Succeeded", false, "Reconcile", false},
	} {
		o := object(test.operation, test.lastType, test.lastState, test.deleting)
		if got := operationType(o); got != test.want || Due(o) != test.due {
			t.Errorf("%+v: got %s, due %t", test, got, Due(o))
		}
	}
}

// TestPredicates is the table of docs/specification/extensions.md#spec-3-3.
func TestPredicates(t *testing.T) {
	t.Parallel()
	p := mayBeDue()
	done := object("", "Reconcile", "Succeeded", false)
	at := func(time, lastState string) *extensionsv1alpha1.Network {
		o := object("migrate", "Migrate", lastState, false)
		o.Annotations["gardener.cloud/timestamp"] = time
		return o
	}
	dying := at("1", "Processing")
	dying.DeletionTimestamp = ptr.To(metav1.Now())
	for _, test := range []struct {
		name          string
		before, after *extensionsv1alpha1.Network
		want          bool
	}{
		{"created without a status", nil, object("", "", "", false), true},
		{"created, done", nil, done, false},
		{"created, failed", nil, object("", "Reconcile", "Error", false), true},
		{"created, deleting", nil, object("", "Reconcile", "Succeeded", true), true},
		{"created, waiting for its state", nil, object("wait-for-state", "", "", false), false},
		{"updated without a request", done, object("", "Reconcile", "Succeeded", false), false},
		{"updated with a request", done, object("migrate", "Reconcile", "Succeeded", false), true},
		{"updated with another request", at("1", "Processing"), at("2", "Processing"), true},
		{"its own status under a request", at("1", "Processing"), at("1", "Succeeded"), false},
		{"a request without a time", object("migrate", "Migrate", "Processing", false),
			object("migrate", "Migrate", "Succeeded", false), true},
		{"its own failure", done, object("", "Reconcile", "Error", false), false},
		{"deleted", done, object("", "Reconcile", "Succeeded", true), true},
		{"deleted under the same request", at("1", "Processing"), dying, true},
		{"deleted, with its own status", done, object("", "Delete", "Processing", true), true},
		{"its own status while deleted", object("", "Reconcile", "Succeeded", true),
			object("", "Delete", "Processing", true), false},
	} {
		var got bool
		if test.before == nil {
			got = p.Create(event.CreateEvent{Object: test.after})
		} else {
			got = p.Update(event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.after})
		}
		if got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
	if p.Delete(event.DeleteEvent{Object: done}) || p.Generic(event.GenericEvent{Object: done}) {
		t.Error("an object that is gone asks for something")
	}
}

// TestCodes: codes are found through wrapping and joining, sorted, each once.
func TestCodes(t *testing.T) {
	t.Parallel()
	err := errors.Join(
		fmt.Errorf("a: %w", WithCodes(errors.New("x"), "B", "A")),
		WithCodes(fmt.Errorf("b: %w", WithCodes(errors.New("y"), "A")), "C"),
		errors.New("plain"),
	)
	if diff := cmp.Diff([]gardencorev1beta1.ErrorCode{"A", "B", "C"}, Codes(err)); diff != "" {
		t.Error(diff)
	}
	if WithCodes(nil, "A") != nil {
		t.Error("no error got a code")
	}
}

func fakeSeed(t *testing.T, objects ...client.Object) (client.WithWatch, *runtime.Scheme) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, extensionsv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&extensionsv1alpha1.Network{}).WithObjects(
		objects...).Build(), scheme
}

// TestZ5TooLarge: a status above the limits of the API server is a configuration problem, and what was good stays.
func TestZ5TooLarge(t *testing.T) {
	t.Parallel()
	refusals := map[string]error{
		"etcd": &apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Message: "etcdserver: request is too large"}},
		"grpc": &apierrors.StatusError{ErrStatus: metav1.Status{Code: 500,
			Message: "rpc error: code = ResourceExhausted desc = trying to send message larger than max (3000000 vs. 2097152)"}},
		"body": &apierrors.StatusError{ErrStatus: metav1.Status{Code: 413, Reason: metav1.StatusReasonRequestEntityTooLarge,
			Message: "Request entity too large: limit is 3145728"}},
	}
	for name, refusal := range refusals {
		o := object("", "", "", false)
		o.Name, o.Namespace = "n", "ns"
		o.Status.State = &runtime.RawExtension{Raw: []byte(`{"good":true}`)}
		base, _ := fakeSeed(t, o)
		c := interceptor.NewClient(base, interceptor.Funcs{
			SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch,
				...client.SubResourcePatchOption) error {
				return refusal
			},
		})
		err := PatchStatus(t.Context(), c, o, func() { o.Status.State = &runtime.RawExtension{Raw: []byte(`{"big":true}`)} })
		if diff := cmp.Diff([]gardencorev1beta1.ErrorCode{"ERR_CONFIGURATION_PROBLEM"}, Codes(err)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if !strings.Contains(string(o.Status.State.Raw), "good") {
			t.Errorf("%s: the object in memory has %s", name, o.Status.State.Raw)
		}
	}
}

// TestPatchStatusIsQuiet: no change, no request.
func TestPatchStatusIsQuiet(t *testing.T) {
	t.Parallel()
	o := object("", "", "", false)
	o.Name, o.Namespace = "n", "ns"
	o.Status.State = &runtime.RawExtension{Raw: []byte(`{"a":1,"b":2}`)}
	base, _ := fakeSeed(t, o)
	c := interceptor.NewClient(base, interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch,
			...client.SubResourcePatchOption) error {
			return errors.New("a patch was sent")
		},
	})
	if err := PatchStatus(t.Context(), c, o, func() {
		o.Status.State = &runtime.RawExtension{Raw: []byte(`{"b": 2, "a": 1}`)}
	}); err != nil {
		t.Error(err)
	}
}

// TestHeartbeat: the Lease is made, and renewed, in the extension's own namespace
// (docs/specification/extensions.md#spec-3-9).
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	c, _ := fakeSeed(t)
	clock := testingclock.NewFakeClock(time.Now())
	unread := interceptor.NewClient(c, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("what is written anyway was read")
		},
	})
	h := &Heartbeat{Client: unread, Clock: clock, Extension: "provider-x", Namespace: "extensions",
		Every: 30 * time.Second}
	var renewals []time.Time
	for range 2 {
		if err := h.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		lease := &coordinationv1.Lease{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "extensions", Name: "gardener-extension-heartbeat"},
			lease); err != nil {
			t.Fatal(err)
		}
		if *lease.Spec.HolderIdentity != "provider-x" || *lease.Spec.LeaseDurationSeconds != 30 {
			t.Errorf("the Lease is %+v", lease.Spec)
		}
		renewals = append(renewals, lease.Spec.RenewTime.Time)
		clock.Step(time.Minute)
	}
	if !renewals[1].After(renewals[0]) {
		t.Errorf("the Lease was not renewed: %v", renewals)
	}
}

// TestStays: a kind that does not move refuses to, visibly.
func TestStays(t *testing.T) {
	t.Parallel()
	o := object("migrate", "Reconcile", "Succeeded", false)
	o.Name, o.Namespace = "n", "ns"
	kind := KindOf[*extensionsv1alpha1.Network]("Network")
	kind.Migrates = false
	kind.ClusterOptional = true
	c, _ := fakeSeed(t, o)
	r := &Reconciler[*extensionsv1alpha1.Network]{
		Client: c, Clock: testingclock.NewFakeClock(time.Now()), Kind: kind, Type: "x",
		Class: extensionsv1alpha1.ExtensionClassShoot,
	}
	if _, err := r.Reconcile(t.Context(), requestFor(o)); err == nil {
		t.Error("no error")
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}
	if o.Status.LastError == nil || o.Status.LastOperation.Type != "Migrate" {
		t.Errorf("the status is %+v", o.Status)
	}
}

func TestAdd_KindWithoutRequiredAction_ReturnsErrorNamingKind(t *testing.T) {
	t.Parallel()
	none := func(context.Context, logr.Logger, *extensionsv1alpha1.Network, *Cluster) error { return nil }
	for name, actions := range map[string]Actions[*extensionsv1alpha1.Network]{
		"no action":      {},
		"no OnReconcile": {OnDelete: none},
		"no OnDelete":    {OnReconcile: none},
	} {
		kind := KindOf[*extensionsv1alpha1.Network]("Network")
		kind.Actions = actions
		err := Add(nil, kind, Options{Type: "x"})
		const want = "add the controller of Network: OnReconcile and OnDelete are required"
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}

func requestFor(o client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}
}

// TestNewerRequestSurvives: what is asked while an action runs is not taken off with what was asked before, and the
// generation observed is the one that was acted upon.
func TestNewerRequestSurvives(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"reconcile", "migrate", "restore"} {
		o := object(operation, "Reconcile", "Error", false)
		o.Name, o.Namespace, o.Generation = "n", "ns", 1
		o.Annotations["gardener.cloud/timestamp"] = "first"
		c, _ := fakeSeed(t, o)
		asked := false
		again := func(ctx context.Context, _ logr.Logger, _ *extensionsv1alpha1.Network, _ *Cluster) error {
			if asked {
				return nil
			}
			asked = true
			patch := `{"metadata":{"generation":2,"annotations":{"gardener.cloud/operation":"reconcile",` +
				`"gardener.cloud/timestamp":"second"}}}`
			return c.Patch(ctx, &extensionsv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "n"}},
				client.RawPatch("application/merge-patch+json", []byte(patch)))
		}
		kind := KindOf[*extensionsv1alpha1.Network]("Network")
		kind.ClusterOptional = true
		kind.OnReconcile, kind.OnMigrate, kind.OnRestore = again, again, again
		r := &Reconciler[*extensionsv1alpha1.Network]{
			Client: c, Clock: testingclock.NewFakeClock(time.Now()), Kind: kind, Type: "x",
			Class: extensionsv1alpha1.ExtensionClassShoot,
		}
		if _, err := r.Reconcile(t.Context(), requestFor(o)); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		if o.Annotations["gardener.cloud/operation"] != "reconcile" ||
			o.Annotations["gardener.cloud/timestamp"] != "second" || o.Status.ObservedGeneration != 1 {
			t.Errorf("%s: annotations %v, observed generation %d", operation, o.Annotations, o.Status.ObservedGeneration)
		}
	}
}
