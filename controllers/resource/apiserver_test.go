package resource

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/transplant-sim/transplant/api/crds"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
)

// patience bounds every wait; the machine may be busy.
const patience = 60 * time.Second

const (
	scaled = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default, annotations: {resources.gardener.cloud/preserve-replicas: "true"}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
`
	// constant is a kind whose provisioner cannot be changed.
	constant = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast, annotations: {resources.gardener.cloud/delete-on-invalid-update: "true"}}
provisioner: one.dev
`
)

// TestOnARealAPIServer applies, changes, prunes, keeps and deletes on an API server that is seed and shoot at once.
func TestOnARealAPIServer(t *testing.T) {
	log.SetLogger(logr.Discard())
	config := apiservertest.Start(t, apiservertest.Options{CRDs: crds.Seed()})
	c, err := client.New(config, client.Options{Scheme: SourceScheme()})
	must(t, err)
	must(t, c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: inSeed}}))
	mgr, err := NewManager(config, inSeed, "0")
	must(t, err)
	reconciler := &Reconciler{Clock: clock.RealClock{}, SyncPeriod: time.Minute, PollPeriod: 200 * time.Millisecond}
	must(t, reconciler.AddToManager(mgr, config, 2))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run the manager: %v", err)
		}
	})

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: inSeed, Name: "s"}, StringData: map[string]string{
		"a.yaml": one + "---\n" + two, "b.yaml": scaled, "c.yaml": constant,
	}}
	must(t, c.Create(t.Context(), secret))
	managed := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: inSeed, Name: "m"}}
	managed.Spec.SecretRefs = []corev1.LocalObjectReference{{Name: "s"}}
	managed.Spec.ForceOverwriteLabels = ptr.To(true)
	must(t, c.Create(t.Context(), managed))
	until(t, "all is applied, and the Deployment that nobody runs is unhealthy", func(ctx context.Context) bool {
		must(t, c.Get(ctx, client.ObjectKeyFromObject(managed), managed))
		found := reasons(managed)
		return found["ResourcesApplied"] == "True ApplySucceeded" &&
			found["ResourcesHealthy"] == "False DeploymentUnhealthy" &&
			managed.Status.ObservedGeneration == managed.Generation && len(managed.Status.Resources) == 4
	})

	kept, foreign := objectNamed("apps/v1", "Deployment", "default", "web"), objectNamed("v1", "ConfigMap", "default",
		"one")
	must(t, c.Patch(t.Context(), objectOf(kept), client.RawPatch("application/merge-patch+json",
		[]byte(`{"spec":{"replicas":5}}`))))
	must(t, c.Patch(t.Context(), objectOf(foreign), client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"labels":{"mine":"x"}},"data":{"mine":"x","a":"c"}}`))))
	before := secret.DeepCopy()
	secret.Data = map[string][]byte{"a.yaml": []byte(one), "b.yaml": []byte(scaled),
		"c.yaml": []byte(constant + "parameters: {speed: high}\n")}
	must(t, c.Patch(t.Context(), secret, client.MergeFrom(before)))
	until(t, "what is gone from the Secret is gone, and what does not take the change is new",
		func(ctx context.Context) bool {
			class := objectOf(objectNamed("storage.k8s.io/v1", "StorageClass", "", "fast"))
			err := c.Get(ctx, client.ObjectKeyFromObject(class), class)
			parameters, found := class.Object["parameters"].(map[string]any)
			return err == nil && found && parameters["speed"] == "high" &&
				absent(ctx, c, objectNamed("v1", "ConfigMap", "default", "two"))
		})
	until(t, "what others changed of ours is as it was, and theirs stays", func(ctx context.Context) bool {
		cm := &corev1.ConfigMap{}
		must(t, c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "one"}, cm))
		return cm.Data["a"] == "b" && cm.Data["mine"] == "x" && cm.Labels["mine"] == ""
	})
	web := objectOf(kept)
	must(t, c.Get(t.Context(), client.ObjectKeyFromObject(web), web))
	if replicas := web.Object["spec"].(map[string]any)["replicas"]; replicas != int64(5) {
		t.Errorf("the replicas of others became %v", replicas)
	}

	keep := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: inSeed, Name: "keep"}}
	keep.Spec.SecretRefs = []corev1.LocalObjectReference{{Name: "k"}}
	keep.Spec.KeepObjects = ptr.To(true)
	must(t, c.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: inSeed, Name: "k"},
		StringData: map[string]string{"k": two}}))
	must(t, c.Create(t.Context(), keep))
	until(t, "the second is applied", func(ctx context.Context) bool {
		return !absent(ctx, c, objectNamed("v1", "ConfigMap", "default", "two"))
	})
	must(t, c.Delete(t.Context(), keep))
	must(t, c.Delete(t.Context(), managed))
	until(t, "the deletion waits for what the Deployment has made", func(ctx context.Context) bool {
		must(t, c.Get(ctx, client.ObjectKeyFromObject(managed), managed))
		return reasons(managed)["ResourcesApplied"] == "Progressing DeletionPending" && len(managed.Status.Resources) == 1
	})
	// There is no garbage collector here to say that nothing is left.
	must(t, c.Patch(t.Context(), objectOf(kept), client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"finalizers":null}}`))))
	for _, gone := range []client.Object{keep, managed} {
		until(t, "no ManagedResource is left", func(ctx context.Context) bool {
			return apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(gone), &resourcesv1alpha1.ManagedResource{}))
		})
	}
	if !absent(t.Context(), c, foreign) {
		t.Error("an object outlived its ManagedResource")
	}
	if absent(t.Context(), c, objectNamed("v1", "ConfigMap", "default", "two")) {
		t.Error("an object that is to be kept went with its ManagedResource")
	}
}

func objectNamed(version, kind, namespace, name string) resourcesv1alpha1.ObjectReference {
	return resourcesv1alpha1.ObjectReference{ObjectReference: corev1.ObjectReference{APIVersion: version, Kind: kind,
		Namespace: namespace, Name: name}}
}

func absent(ctx context.Context, c client.Client, ref resourcesv1alpha1.ObjectReference) bool {
	object := objectOf(ref)
	return apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(object), object))
}

func until(t *testing.T, what string, condition func(context.Context) bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			return condition(ctx), nil
		}); err != nil {
		t.Fatalf("wait until %s: %v", what, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
