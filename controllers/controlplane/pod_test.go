package controlplane

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
)

// Every pod of a control plane runs as the user of the settings, who can read its secrets by the group; without one it
// is left to the images.
func TestEveryPodRunsAsTheUserOfTheSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		user int64
		want *corev1.PodSecurityContext
	}{
		"a user": {65532, &corev1.PodSecurityContext{
			RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532), RunAsGroup: ptr.To[int64](65532),
			FSGroup: ptr.To[int64](65532),
		}},
		"none": {0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pods := podsOf(t, c.user)
			if len(pods) != 6 {
				t.Errorf("the control plane has %d pods, want 6", len(pods))
			}
			for name, pod := range pods {
				if diff := cmp.Diff(c.want, pod.SecurityContext); diff != "" {
					t.Errorf("pod of %s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// podsOf a control plane that is deployed with a user, by the names of their workloads.
func podsOf(t *testing.T, user int64) map[string]corev1.PodSpec {
	t.Helper()
	etcd := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: workload.ServiceEtcdClient}}
	o := New(controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeCreate, interceptor.Funcs{}, etcd,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha"}}))
	o.User, o.Epoch, o.SeedObject = user, 1, &gardencorev1beta1.Seed{}
	if err := errors.Join(
		o.Etcd.Deploy(t.Context()), o.APIServer.Deploy(t.Context()), o.APIServer.DeployControllers(t.Context()),
		o.Workers.DeployMachineController(t.Context()), o.ResourceManager.Deploy(t.Context()),
	); err != nil {
		t.Fatal(err)
	}
	sets, deployments := &appsv1.StatefulSetList{}, &appsv1.DeploymentList{}
	if err := errors.Join(o.Seed.List(t.Context(), sets), o.Seed.List(t.Context(), deployments)); err != nil {
		t.Fatal(err)
	}
	pods := map[string]corev1.PodSpec{}
	for _, set := range sets.Items {
		pods[set.Name] = set.Spec.Template.Spec
	}
	for _, deployment := range deployments.Items {
		pods[deployment.Name] = deployment.Spec.Template.Spec
	}
	return pods
}

// Names of ports are unique in a pod: the API server warns of others, and who looks for one finds the first only. Each
// program of ours has one for its metrics.
func TestPods_PortsOfMetrics_AreNamedOnce(t *testing.T) {
	t.Parallel()
	got := map[string]int32{}
	for name, pod := range podsOf(t, 0) {
		seen := map[string]bool{}
		for _, container := range pod.Containers {
			for _, port := range container.Ports {
				if seen[port.Name] {
					t.Errorf("pod of %s has two ports %q", name, port.Name)
				}
				seen[port.Name] = true
				if strings.HasPrefix(port.Name, "metrics") {
					got[container.Name+" "+port.Name] = port.ContainerPort
				}
			}
		}
	}
	want := map[string]int32{
		"backup metrics-backup": 8080, "guard metrics-guard": 2381,
		"machine-controller metrics": 9100, "gardener-resource-manager metrics": 9100,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ports of metrics (-want +got):\n%s", diff)
	}
}
