package restart

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

	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
)

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
		o := New(controlplanetest.Begun(t))
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
		seed := controlplanetest.Scope(t, "Reconcile", interceptor.Funcs{}, objects...)
		o.Seed, o.Bell, o.WaitInterval, o.Clock = seed.Seed, seed.Bell, time.Millisecond, seed.Clock
		controlplanetest.ListTasks(t, o.Scope, controlplanetest.RestartsAll)
		ctx, cancel := context.WithCancel(t.Context())
		if missing < len(names) {
			ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
		}
		err := o.WaitControlPlane(ctx)
		cancel()
		left := controlplanetest.InGarden(t, o.Scope).Annotations["shoot.gardener.cloud/tasks"]
		if missing == len(names) {
			if err != nil || left != "deployInfrastructure,restartCoreAddons" {
				t.Errorf("all are there: left is %q, %v", left, err)
			}
			continue
		}
		if err == nil || left != controlplanetest.RestartsAll {
			t.Errorf("%s is not ready: left is %q, %v", names[missing], left, err)
		}
	}
}

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
		"the shoot does not let": {errPatch, controlplanetest.RestartsAll, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inShoot := fake.NewClientBuilder().WithScheme(controlplanetest.SeedScheme(t)).WithObjects(objects()...).
				WithInterceptorFuncs(
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
			o := New(controlplanetest.Begun(t))
			o.Seed = New(controlplanetest.Scope(t, "Reconcile", interceptor.Funcs{}, secret(secrets.CA),
				secret(secrets.StaticToken))).Seed
			o.Shoots = controlplanetest.OneShoot{Client: inShoot}
			controlplanetest.ListTasks(t, o.Scope, controlplanetest.RestartsAll)
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
			left := controlplanetest.InGarden(t, o.Scope).Annotations["shoot.gardener.cloud/tasks"]
			if diff := cmp.Diff([]any{c.want, c.left}, []any{restarted, left}); diff != "" {
				t.Errorf("restarted, tasks left (-want +got):\n%s", diff)
			}
		})
	}
}
