package project

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

func TestPhase_OfNamespace(t *testing.T) {
	t.Parallel()
	named := func(namespace *string) *gardencorev1beta1.Project {
		return &gardencorev1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "p", Generation: 2},
			Spec: gardencorev1beta1.ProjectSpec{Namespace: namespace}}
	}
	namespace := func(m metav1.ObjectMeta) *corev1.Namespace {
		m.Name = "garden-p"
		return &corev1.Namespace{ObjectMeta: m}
	}
	leaving := namespace(metav1.ObjectMeta{DeletionTimestamp: ptr.To(metav1.Now()), Finalizers: []string{"a.test/b"}})
	gone := named(ptr.To("garden-p"))
	gone.DeletionTimestamp, gone.Finalizers = ptr.To(metav1.Now()), []string{"a.test/b"}
	for name, row := range map[string]struct {
		project *gardencorev1beta1.Project
		others  []client.Object
		want    gardencorev1beta1.ProjectPhase
	}{
		"there":         {named(ptr.To("garden-p")), []client.Object{namespace(metav1.ObjectMeta{})}, "Ready"},
		"not there":     {named(ptr.To("garden-p")), nil, "Pending"},
		"none":          {named(nil), nil, "Pending"},
		"deleted":       {gone, []client.Object{namespace(metav1.ObjectMeta{})}, "Terminating"},
		"being deleted": {named(ptr.To("garden-p")), []client.Object{leaving}, "Terminating"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme := runtime.NewScheme()
			for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, gardencorev1beta1.AddToScheme} {
				if err := add(scheme); err != nil {
					t.Fatal(err)
				}
			}
			garden := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(row.project).
				WithObjects(row.project).WithObjects(row.others...).Build()
			key := client.ObjectKeyFromObject(row.project)
			if _, err := (&Phase{Garden: garden}).Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
				t.Fatal(err)
			}
			for namespace, want := range map[string]int{ptr.Deref(row.project.Spec.Namespace, "none"): 1, "garden-q": 0} {
				if row.project.Spec.Namespace == nil {
					want = 0
				}
				if woken := (&Phase{Garden: garden}).with(t.Context(), namespace); len(woken) != want {
					t.Errorf("namespace %s wakes %v", namespace, woken)
				}
			}
			got := &gardencorev1beta1.Project{}
			if err := garden.Get(t.Context(), key, got); err != nil || got.Status.Phase != row.want ||
				got.Status.ObservedGeneration != 2 {
				t.Errorf("%+v, %v, want %s", got.Status, err, row.want)
			}
		})
	}
}
