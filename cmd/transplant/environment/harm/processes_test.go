package harm

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// Whatever runs in a control plane can be harmed, by a name that scenarios may use: none is forgotten when one is
// added.
func TestEveryProgramOfAControlPlaneCanBeHarmed(t *testing.T) {
	t.Parallel()
	var harmed, deployed []string
	for _, program := range controlPlanePrograms {
		harmed = append(harmed, program.role+": "+program.subcommand)
	}
	for role, pod := range controlPlanePods(t) {
		for _, container := range pod.Containers { // the init container, restore, is done before anybody finds the pod
			called := container.Command[0]
			if called == "transplant" {
				called = container.Command[1]
			}
			deployed = append(deployed, role+": "+called)
		}
	}
	slices.Sort(harmed)
	slices.Sort(deployed)
	if diff := cmp.Diff(deployed, harmed); diff != "" {
		t.Errorf("(-deployed +harmed):\n%s", diff)
	}
	if diff := cmp.Diff(landscape.ControlPlanePrograms(), slices.Sorted(maps.Keys(controlPlanePrograms))); diff != "" {
		t.Errorf("(-in scenarios +harmed):\n%s", diff)
	}
}

// controlPlanePods are those of a control plane as the gardenlet deploys it, by their roles.
func controlPlanePods(t *testing.T) map[string]corev1.PodSpec {
	t.Helper()
	const namespace = "shoot--p--alpha"
	etcd := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: workload.ServiceEtcdClient}}
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Name: "alpha", Namespace: "garden-p"}}
	shoot.Status.TechnicalID = namespace
	o := controlplane.New(&scope.Scope{
		Seed: fake.NewClientBuilder().WithScheme(environment.Scheme()).WithObjects(etcd,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}).Build(), Shoot: shoot,
		SeedObject: &gardencorev1beta1.Seed{}, Epoch: 1,
	})
	sets, deployments := &appsv1.StatefulSetList{}, &appsv1.DeploymentList{}
	if err := errors.Join(
		o.Etcd.Deploy(t.Context()), o.APIServer.Deploy(t.Context()), o.APIServer.DeployControllers(t.Context()),
		o.Workers.DeployMachineController(t.Context()), o.ResourceManager.Deploy(t.Context()),
		o.Seed.List(t.Context(), sets), o.Seed.List(t.Context(), deployments),
	); err != nil {
		t.Fatal(err)
	}
	pods := map[string]corev1.PodSpec{}
	for _, set := range sets.Items {
		pods[set.Spec.Template.Labels["role"]] = set.Spec.Template.Spec
	}
	for _, deployment := range deployments.Items {
		pods[deployment.Spec.Template.Labels["role"]] = deployment.Spec.Template.Spec
	}
	return pods
}

// Children that an extension had when it was killed need not be there when it runs again.
func TestStartedAgain_ThirdPartyExtensionWithChildren_CountsOnce(t *testing.T) {
	t.Parallel()
	own := process.Program{Args: []string{"vault"}, Env: map[string]string{"TRANSPLANT_ACTOR": "vault-a"}}
	gateway := process.Program{Args: []string{"transplant", "gateway"}}
	if n := startedAgain([]process.Program{own, own, gateway, gateway}); n != 3 {
		t.Errorf("%d are awaited, want the extension and two gateways", n)
	}
}
