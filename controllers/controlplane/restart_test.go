package controlplane

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/flow"
)

const restartsAll = "deployInfrastructure,restartControlPlanePods,restartCoreAddons"

// tasked has o.Shoot list tasks, in the garden too.
func tasked(t *testing.T, o *Operation, tasks string) {
	t.Helper()
	shoot := inGarden(t, o)
	shoot.Annotations = map[string]string{"shoot.gardener.cloud/tasks": tasks}
	if err := o.Garden.Update(t.Context(), shoot); err != nil {
		t.Fatal(err)
	}
	o.Shoot = inGarden(t, o)
}

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
		"both":             {restartsAll, "Reconcile", false, []flow.TaskID{pods, addons}},
		"written by hand":  {"restartControlPlanePods, restartCoreAddons", "Reconcile", false, []flow.TaskID{pods, addons}},
		"control plane":    {"restartControlPlanePods", "Reconcile", false, []flow.TaskID{pods}},
		"core addons":      {"restartCoreAddons", "Reconcile", false, []flow.TaskID{addons}},
		"neither":          {"deployInfrastructure", "Reconcile", false, nil},
		"nothing":          {"", "Reconcile", false, nil},
		"asleep":           {restartsAll, "Reconcile", true, nil},
		"it is created":    {restartsAll, "Create", false, nil},
		"it is restored":   {restartsAll, "Restore", false, nil},
		"unlike the tasks": {"restartControlPlane", "Reconcile", false, nil},
	} {
		o := &Operation{Shoot: &gardencorev1beta1.Shoot{}, running: c.operation}
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
	for _, deploy := range []func(context.Context, int32) error{
		o.DeployAPIServer, o.DeployControllers, o.DeployResourceManager, o.DeployMachineController,
	} {
		if err := deploy(t.Context(), 1); err != nil {
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
	etcd := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: ServiceEtcdClient},
		Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1"}}
	o := newOperation(t, gardencorev1beta1.LastOperationTypeReconcile, interceptor.Funcs{}, etcd)
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
		{"created", restartsAll, "Create", 100, 100, ""},
		{"nothing asked for", "restartCoreAddons", "Reconcile", 200, 200, ""},
		{"asked for", restartsAll, "Reconcile", 300, 300, "1970-01-01T00:05:00Z"},
		{"the run has failed before the task was done", restartsAll, "Reconcile", 300, 330, "1970-01-01T00:05:00Z"},
		{"the next run", "", "Reconcile", 400, 400, "1970-01-01T00:05:00Z"},
		{"asked for again", "restartControlPlanePods", "Reconcile", 600, 600, "1970-01-01T00:10:00Z"},
		{"it is deleted", "restartControlPlanePods", "Delete", 900, 900, "1970-01-01T00:10:00Z"},
	} {
		o.running = run.operation
		o.Shoot.Annotations = map[string]string{"shoot.gardener.cloud/tasks": run.tasks}
		o.Shoot.Status.RetryCycleStartTime = ptr.To(metav1.NewTime(time.Unix(run.cycle, 0)))
		o.Shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: run.operation,
			LastUpdateTime: metav1.NewTime(time.Unix(run.begun, 0))}
		if diff := cmp.Diff(all(run.want), deployed(t, o)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", run.name, diff)
		}
	}
}

// rolledOut is a Deployment of the control plane, with its pod ready or not.
func rolledOut(name string, ready int32) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: name},
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](1)}}
	d.Status = appsv1.DeploymentStatus{UpdatedReplicas: 1, ReadyReplicas: ready, Replicas: 1}
	return d
}

// The task stays on the shoot until every pod is there again. A shoot without workers has no machine-controller.
func TestRestart_ControlPlanePods_TaskEndsWithPods(t *testing.T) {
	t.Parallel()
	names := []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "gardener-resource-manager",
		"machine-controller"}
	for missing := range append(slices.Clone(names), "") {
		o := begun(t)
		var objects []client.Object
		for i, name := range names {
			ready := int32(1)
			if i == missing {
				ready = 0
			}
			if missing != len(names) || name != "machine-controller" {
				objects = append(objects, rolledOut(name, ready))
			}
		}
		seed := newOperation(t, "Reconcile", interceptor.Funcs{}, objects...)
		o.Seed, o.Bell, o.WaitInterval, o.Clock = seed.Seed, seed.Bell, time.Millisecond, seed.Clock
		tasked(t, o, restartsAll)
		ctx, cancel := context.WithCancel(t.Context())
		if missing < len(names) {
			ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
		}
		err := o.WaitControlPlaneRestarted(ctx)
		cancel()
		left := inGarden(t, o).Annotations["shoot.gardener.cloud/tasks"]
		if missing == len(names) {
			if err != nil || left != "deployInfrastructure,restartCoreAddons" {
				t.Errorf("all are there: left is %q, %v", left, err)
			}
			continue
		}
		if err == nil || left != restartsAll {
			t.Errorf("%s is not ready: left is %q, %v", names[missing], left, err)
		}
	}
}

type theShoot struct{ client.Client }

func (s theShoot) For(string, []byte, string) (client.Client, error) { return s.Client, nil }

// What ManagedResources have deployed into kube-system is restarted, and nothing of the shoot's users.
func TestRestart_CoreAddons_AreThoseOfManagedResources(t *testing.T) {
	t.Parallel()
	errPatch := errors.New("no")
	at := func(namespace, name string, managed bool) metav1.ObjectMeta {
		m := metav1.ObjectMeta{Namespace: namespace, Name: name}
		if managed {
			m.Labels = map[string]string{"resources.gardener.cloud/managed-by": "gardener"}
		}
		return m
	}
	objects := func() []client.Object {
		template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"mine": "x"}}}
		return []client.Object{
			&appsv1.Deployment{ObjectMeta: at("kube-system", "coredns", true), Spec: appsv1.DeploymentSpec{Template: template}},
			&appsv1.DaemonSet{ObjectMeta: at("kube-system", "kube-proxy", true), Spec: appsv1.DaemonSetSpec{Template: template}},
			&appsv1.StatefulSet{ObjectMeta: at("kube-system", "store", true), Spec: appsv1.StatefulSetSpec{Template: template}},
			&appsv1.Deployment{ObjectMeta: at("kube-system", "of-a-user", false),
				Spec: appsv1.DeploymentSpec{Template: template}},
			&appsv1.DaemonSet{ObjectMeta: at("other", "managed", true), Spec: appsv1.DaemonSetSpec{Template: template}},
		}
	}
	for name, c := range map[string]struct {
		fails error
		left  string
		want  []string
	}{
		"restarted": {nil, "deployInfrastructure,restartControlPlanePods",
			[]string{"coredns", "kube-proxy", "store"}},
		"the shoot does not let": {errPatch, restartsAll, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inShoot := fake.NewClientBuilder().WithScheme(seedScheme(t)).WithObjects(objects()...).WithInterceptorFuncs(
				interceptor.Funcs{
					Patch: func(ctx context.Context, inner client.WithWatch, object client.Object, patch client.Patch,
						options ...client.PatchOption) error {
						if c.fails != nil {
							return c.fails
						}
						return inner.Patch(ctx, object, patch, options...)
					},
				}).Build()
			secret := func(name string) *corev1.Secret {
				return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: name}}
			}
			o := begun(t)
			o.Seed = newOperation(t, "Reconcile", interceptor.Funcs{}, secret(SecretCA), secret(SecretStaticToken)).Seed
			o.Shoots = theShoot{inShoot}
			tasked(t, o, restartsAll)
			if err := o.RestartCoreAddons(t.Context()); !errors.Is(err, c.fails) {
				t.Errorf("it ends with %v", err)
			}
			var restarted []string
			for _, object := range objects() {
				if err := inShoot.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
					t.Fatal(err)
				}
				var annotations map[string]string
				switch workload := object.(type) {
				case *appsv1.Deployment:
					annotations = workload.Spec.Template.Annotations
				case *appsv1.DaemonSet:
					annotations = workload.Spec.Template.Annotations
				case *appsv1.StatefulSet:
					annotations = workload.Spec.Template.Annotations
				}
				if annotations["mine"] != "x" {
					t.Errorf("%s has lost its annotation", object.GetName())
				}
				if annotations["kubectl.kubernetes.io/restartedAt"] == "1970-01-01T00:16:40Z" {
					restarted = append(restarted, object.GetName())
				}
			}
			slices.Sort(restarted)
			left := inGarden(t, o).Annotations["shoot.gardener.cloud/tasks"]
			if diff := cmp.Diff([]any{c.want, c.left}, []any{restarted, left}); diff != "" {
				t.Errorf("restarted, tasks left (-want +got):\n%s", diff)
			}
		})
	}
}

// A run takes off the tasks that it has found. What is added while it runs, as by a maintenance, is for the next one.
func TestConsume_TasksAddedMeanwhile_Stay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, meanwhile, left string }{
		"all": {"deployInfrastructure,deployDNSRecordInternal",
			"deployInfrastructure,deployDNSRecordInternal", ""},
		"a restart is asked for again": {"deployInfrastructure,restartCoreAddons", "deployInfrastructure,restartCoreAddons",
			"restartCoreAddons"},
		"one is done already": {"deployInfrastructure,restartCoreAddons", "deployInfrastructure", ""},
		"one is added": {"deployInfrastructure", "deployInfrastructure,restartControlPlanePods",
			"restartControlPlanePods"},
		"all are added": {"", "restartControlPlanePods,restartCoreAddons",
			"restartControlPlanePods,restartCoreAddons"},
		"nothing is there to end": {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := begun(t)
			tasked(t, o, c.before)
			atStart := o.Shoot
			tasked(t, o, c.meanwhile)
			o.Shoot = atStart
			if err := o.consume(t.Context(), []string{"shoot.gardener.cloud/skip-readiness",
				"shoot.gardener.cloud/tasks"}); err != nil {
				t.Fatal(err)
			}
			if left := inGarden(t, o).Annotations["shoot.gardener.cloud/tasks"]; left != c.left {
				t.Errorf("left is %q, want %q", left, c.left)
			}
		})
	}
}
