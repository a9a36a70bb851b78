package resource

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/crds"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
)

// The resource manager of a seed has those of class seed, the shoot's those without a class. Who had one before takes
// its objects off first.
func TestReconcile_Class_DecidesWhoActs(t *testing.T) {
	t.Parallel()
	const ofShoot = "resources.gardener.cloud/gardener-resource-manager"
	const ofSeed = ofShoot + "-seed"
	for name, c := range map[string]struct {
		manager    string
		class      *string
		finalizers []string
		want       []string
		applied    bool
	}{
		"seed":                      {"seed", ptr.To("seed"), nil, []string{ofSeed}, true},
		"shoot's, seen by the seed": {"seed", nil, nil, nil, false},
		"shoot":                     {"", nil, nil, []string{ofShoot}, true},
		"seed's, seen by the shoot": {"", ptr.To("seed"), nil, nil, false},
		"the shoot had it":          {"seed", ptr.To("seed"), []string{ofShoot}, []string{ofShoot}, false},
		"the seed had it":           {"", nil, []string{ofSeed}, []string{ofSeed}, false},
		"the shoot gives it up":     {"", ptr.To("seed"), []string{ofShoot}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, func(m *resourcesv1alpha1.ManagedResource) {
				m.Spec.Class, m.Finalizers = c.class, c.finalizers
			}, map[string]string{"a.yaml": one})
			b.Class = c.manager
			managed, _, err := b.round()
			b.must(err)
			if diff := cmp.Diff(c.want, managed.Finalizers); diff != "" {
				t.Errorf("finalizers (-want +got):\n%s", diff)
			}
			if applied := len(b.configMaps()) > 0; applied != c.applied {
				t.Errorf("applied is %t, want %t", applied, c.applied)
			}
		})
	}
}

// On a real API server the resource manager of a seed applies to the seed itself, under a name by which NoOrphans knows
// that the objects are an extension's, and takes them off again.
func TestSeedOnARealAPIServer(t *testing.T) {
	config := apiservertest.Start(t, apiservertest.Options{CRDs: crds.Seed()})
	c, err := client.New(config, client.Options{Scheme: SourceScheme()})
	must(t, err)
	mgr, err := NewManager(config, "", "0")
	must(t, err)
	reconciler := &Reconciler{Class: "seed", Clock: clock.RealClock{}, SyncPeriod: time.Minute,
		PollPeriod: 200 * time.Millisecond}
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
	must(t, c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: inSeed}}))
	must(t, c.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: inSeed, Name: "s"},
		StringData: map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: " +
			inSeed + "}\ndata: {a: b}\n"}}))
	managed := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: inSeed, Name: "m"}}
	managed.Spec.Class, managed.Spec.SecretRefs = ptr.To("seed"), []corev1.LocalObjectReference{{Name: "s"}}
	must(t, c.Create(t.Context(), managed))
	until(t, "it is applied and healthy", func(ctx context.Context) bool {
		must(t, c.Get(ctx, client.ObjectKeyFromObject(managed), managed))
		found := reasons(managed)
		return found["ResourcesApplied"] == "True ApplySucceeded" &&
			found["ResourcesHealthy"] == "True ResourcesHealthy" && managed.Status.ObservedGeneration == managed.Generation
	})
	object := &corev1.ConfigMap{}
	must(t, c.Get(t.Context(), client.ObjectKey{Namespace: inSeed, Name: "one"}, object))
	if !slices.ContainsFunc(object.ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == "resource-manager"
	}) {
		t.Errorf("it is applied as %+v", object.ManagedFields)
	}
	must(t, c.Delete(t.Context(), managed))
	until(t, "it is gone, and its object", func(ctx context.Context) bool {
		return apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(managed), managed)) &&
			apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(object), object))
	})
}
