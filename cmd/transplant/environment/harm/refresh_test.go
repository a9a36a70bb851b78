package harm

import (
	"context"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// actorImage has the programs of all actors.
const actorImage = "transplant.dev/transplant:dev"

func TestRefreshReplacesWhatWasRestarted(t *testing.T) {
	running := func(image string) corev1.PodSpec {
		return corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}}
	}
	pod := func(name, owner string, restarts int32, ready bool) *corev1.Pod {
		return &corev1.Pod{
			Spec: running(actorImage),
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: "garden",
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: owner, Name: "of-" + name,
					Controller: ptr.To(true)}},
			},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{RestartCount: restarts, Ready: ready}}},
		}
	}
	deployment := func(name string) *appsv1.Deployment {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "garden"}}
		d.Spec.Template.Spec = running(actorImage)
		return d
	}
	dns, dnsPod := deployment("dns"), pod("dns", "ReplicaSet", 1, false) // of the cluster itself
	dns.Spec.Template.Spec, dnsPod.Spec = running("coredns"), running("coredns")
	looks := 0
	objects := []client.Object{
		deployment("gardenlet"), deployment("gateway"),
		pod("gardenlet", "ReplicaSet", 2, true), pod("gateway", "ReplicaSet", 0, true), pod("store", "StatefulSet", 1, true),
		dns, dnsPod,
	}
	c := interceptor.NewClient(fake.NewClientBuilder().WithObjects(objects...).Build(), interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			if err := c.Delete(ctx, o, options...); err != nil {
				return err
			}
			return c.Create(ctx, pod("gardenlet-new", "ReplicaSet", 0, false))
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, pods := list.(*corev1.PodList); pods {
				if looks++; looks == 3 { // the new pod takes its time
					if err := c.Status().Update(ctx, pod("gardenlet-new", "ReplicaSet", 0, true)); err != nil {
						return err
					}
				}
			}
			return c.List(ctx, list, options...)
		},
	})
	if err := refresh(t.Context(), c, "a"); err != nil {
		t.Fatal(err)
	}
	pods := &corev1.PodList{}
	if err := c.List(t.Context(), pods); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range pods.Items {
		names = append(names, p.Name)
	}
	if want := []string{"dns", "gardenlet-new", "gateway", "store"}; !slices.Equal(names, want) {
		t.Errorf("pods %v, want %v", names, want)
	}
	if looks != 4 { // with the test's own
		t.Errorf("%d looks at pods, want to wait until the third shows the new one ready", looks)
	}
}
