package controlplane

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/flow"
)

// Only a reconciliation of a shoot that is awake restarts anything, and only what is asked for.
func TestRestart_Tasks_AreInTheGraph(t *testing.T) {
	t.Parallel()
	const pods, addons = flow.TaskID("Waiting until control plane pods have restarted"),
		flow.TaskID("Restarting core addons")
	for name, c := range map[string]struct {
		tasks     string
		operation gardencorev1beta1.LastOperationType
		asleep    bool
		want      []flow.TaskID
	}{
		"both":             {controlplanetest.RestartsAll, "Reconcile", false, []flow.TaskID{pods, addons}},
		"written by hand":  {"restartControlPlanePods, restartCoreAddons", "Reconcile", false, []flow.TaskID{pods, addons}},
		"control plane":    {"restartControlPlanePods", "Reconcile", false, []flow.TaskID{pods}},
		"core addons":      {"restartCoreAddons", "Reconcile", false, []flow.TaskID{addons}},
		"neither":          {"deployInfrastructure", "Reconcile", false, nil},
		"nothing":          {"", "Reconcile", false, nil},
		"asleep":           {controlplanetest.RestartsAll, "Reconcile", true, nil},
		"it is created":    {controlplanetest.RestartsAll, "Create", false, nil},
		"it is restored":   {controlplanetest.RestartsAll, "Restore", false, nil},
		"unlike the tasks": {"restartControlPlane", "Reconcile", false, nil},
	} {
		o := New(&scope.Scope{Shoot: &gardencorev1beta1.Shoot{}, Running: c.operation})
		o.Shoot.Annotations = map[string]string{"shoot.gardener.cloud/tasks": c.tasks}
		o.Shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Name: "pool"}}
		o.Shoot.Status.IsHibernated, o.Shoot.Spec.Hibernation = c.asleep, &gardencorev1beta1.Hibernation{Enabled: &c.asleep}
		graph := o.ReconcileGraph()
		got := slices.DeleteFunc(graph.Tasks(), func(task flow.TaskID) bool { return task != pods && task != addons })
		if diff := cmp.Diff(c.want, slices.Clip(got)); diff != "" && len(c.want)+len(got) > 0 {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		table := []order{
			{pods, []flow.TaskID{"Deploying kube-controller-manager and kube-scheduler", "Deploying machine-controller-manager",
				"Deploying gardener-resource-manager", "Initializing connection to Shoot"}, "they are deployed restarted"},
			{addons, []flow.TaskID{"Initializing connection to Shoot", "Waiting until shoot network plugin has been reconciled"},
				"they are in the shoot"},
		}
		inOrder(t, graph, slices.DeleteFunc(table, func(row order) bool { return !slices.Contains(c.want, row.task) }))
	}
}

// deployed is when the Deployments of the control plane were restarted, by name.
func deployed(t *testing.T, o *Operation) map[string]string {
	t.Helper()
	for _, deploy := range []func(context.Context) error{
		o.APIServer.Deploy, o.APIServer.DeployControllers, o.ResourceManager.Deploy, o.Workers.DeployMachineController,
	} {
		if err := deploy(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	list := &appsv1.DeploymentList{}
	if err := o.Seed.List(t.Context(), list, client.InNamespace(o.Namespace())); err != nil {
		t.Fatal(err)
	}
	at := map[string]string{}
	for _, d := range list.Items {
		at[d.Name] = d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"]
	}
	return at
}

// A restart changes the pod template of every Deployment of the control plane once; later runs leave it as it is.
func TestRestart_ControlPlanePods_ChangesPodTemplatesOnce(t *testing.T) {
	t.Parallel()
	etcd := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: workload.ServiceEtcdClient},
		Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1"}}
	o := New(controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeReconcile, interceptor.Funcs{}, etcd))
	o.Shoot.Spec.Kubernetes.Version = "1.36.3"
	all := func(at string) map[string]string {
		return map[string]string{"kube-apiserver": at, "kube-controller-manager": at, "kube-scheduler": at,
			"gardener-resource-manager": at, "machine-controller": at}
	}
	for _, run := range []struct {
		name, tasks  string
		operation    gardencorev1beta1.LastOperationType
		cycle, begun int64
		want         string
	}{
		{"created", controlplanetest.RestartsAll, "Create", 100, 100, ""},
		{"nothing asked for", "restartCoreAddons", "Reconcile", 200, 200, ""},
		{"asked for", controlplanetest.RestartsAll, "Reconcile", 300, 300, "1970-01-01T00:05:00Z"},
		{"the run has failed before the task was done", controlplanetest.RestartsAll, "Reconcile", 300, 330,
			"1970-01-01T00:05:00Z"},
		{"the next run", "", "Reconcile", 400, 400, "1970-01-01T00:05:00Z"},
		{"asked for again", "restartControlPlanePods", "Reconcile", 600, 600, "1970-01-01T00:10:00Z"},
		{"it is deleted", "restartControlPlanePods", "Delete", 900, 900, "1970-01-01T00:10:00Z"},
	} {
		o.Running = run.operation
		o.Shoot.Annotations = map[string]string{"shoot.gardener.cloud/tasks": run.tasks}
		o.Shoot.Status.RetryCycleStartTime = ptr.To(metav1.NewTime(time.Unix(run.cycle, 0)))
		o.Shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: run.operation,
			LastUpdateTime: metav1.NewTime(time.Unix(run.begun, 0))}
		if diff := cmp.Diff(all(run.want), deployed(t, o)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", run.name, diff)
		}
	}
}
