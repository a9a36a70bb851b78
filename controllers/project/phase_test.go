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
		wakes   []string // projects that a change of garden-p wakes
	}{
		"there":         {named(ptr.To("garden-p")), []client.Object{namespace(metav1.ObjectMeta{})}, "Ready", []string{"p"}},
		"not there":     {named(ptr.To("garden-p")), nil, "Pending", []string{"p"}},
		"none":          {named(nil), nil, "Pending", nil},
		"another":       {named(ptr.To("garden-q")), nil, "Pending", nil},
		"deleted":       {gone, []client.Object{namespace(metav1.ObjectMeta{})}, "Terminating", []string{"p"}},
		"being deleted": {named(ptr.To("garden-p")), []client.Object{leaving}, "Terminating", []string{"p"}},
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
			if woken := (&Phase{Garden: garden}).with(t.Context(), "garden-p"); len(woken) != len(row.wakes) ||
				len(woken) > 0 && woken[0].Name != row.wakes[0] {
				t.Errorf("the namespace wakes %v, want %v", woken, row.wakes)
			}
			got := &gardencorev1beta1.Project{}
			if err := garden.Get(t.Context(), key, got); err != nil || got.Status.Phase != row.want ||
				got.Status.ObservedGeneration != 2 {
				t.Errorf("%+v, %v, want %s", got.Status, err, row.want)
			}
		})
	}
}
