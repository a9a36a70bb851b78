// Package workload deploys, scales and deletes the Deployments and StatefulSets of control planes, and has what their
// pods have in common. What runs in the pods is known by those who use it.
package workload

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Workloads are the Deployments and the StatefulSet of a control plane.
type Workloads struct{ *scope.Scope }

const (
	// Etcd is the StatefulSet of the shoot's main etcd.
	Etcd              = "etcd-main"
	KubeAPIServer     = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	MachineController = "machine-controller"
	ResourceManager   = "gardener-resource-manager"
	// VPNSeedServer is the seed's end of the tunnel to nodes that run pods, and its Service.
	VPNSeedServer = "vpn-seed-server"
	// ServiceKubeAPIServer and ServiceEtcdClient are the Services of a control plane.
	ServiceKubeAPIServer = "kube-apiserver"
	ServiceEtcdClient    = access.ServerName
	PortAPIServer        = 6443
	PortEtcdClient       = 2379
	PortGuard            = 2381 // of probes and metrics, as PortBackup
	PortBackup           = 8080
	// PortVPN takes the tunnel from the nodes, PortEgress what the API server sends through it.
	PortVPN    = 1194
	PortEgress = 9443
)

// Wait waits until a Deployment has rolled out with all its replicas ready.
func (w *Workloads) Wait(ctx context.Context, name string, timeout time.Duration) error {
	return w.Await(ctx, timeout, "deployment "+name, func(ctx context.Context, seed client.Reader) error {
		d := &appsv1.Deployment{}
		if err := seed.Get(ctx, w.Key(name), d); err != nil {
			return err
		}
		want := ptr.Deref(d.Spec.Replicas, 1)
		if d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas < want || d.Status.ReadyReplicas < want ||
			d.Status.Replicas > want {
			return fmt.Errorf("%d of %d replicas are ready and up to date",
				min(d.Status.ReadyReplicas, d.Status.UpdatedReplicas), want)
		}
		return nil
	})
}

// ClusterIP is the address of a Service of the control plane. It stays, so that a run reads it once.
func ClusterIP(ctx context.Context, s *scope.Scope, name string) (string, error) {
	if known, is := s.ClusterIPs.Load(name); is {
		return known.(string), nil
	}
	service := &corev1.Service{}
	if err := s.Seed.Get(ctx, s.Key(name), service); err != nil {
		return "", fmt.Errorf("read service %q: %w", name, err)
	}
	s.ClusterIPs.Store(name, service.Spec.ClusterIP)
	return service.Spec.ClusterIP, nil
}

// WaitFor is Wait as a task.
func (w *Workloads) WaitFor(deployment string) func(context.Context) error {
	return func(ctx context.Context) error { return w.Wait(ctx, deployment, 5*time.Minute) }
}

// Exists reports whether a Deployment of the control plane exists.
func (w *Workloads) Exists(ctx context.Context, name string) (bool, error) {
	err := w.Seed.Get(ctx, w.Key(name), &appsv1.Deployment{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// Scale sets the replicas of a Deployment; a missing one is left alone.
func (w *Workloads) Scale(ctx context.Context, name string, replicas int32) error {
	return w.ScaleObject(ctx, &appsv1.Deployment{ObjectMeta: w.Meta(name)}, replicas)
}

// ScaleObject sets the replicas of an object; a missing one is left alone.
func (w *Workloads) ScaleObject(ctx context.Context, object client.Object, replicas int32) error {
	scaled := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	return patch.Describe("scale", object, w.Seed,
		client.IgnoreNotFound(w.Seed.Patch(ctx, object, scaled, objects.FieldOwner)))
}

// Delete deletes a Deployment of the control plane and waits until none of its pods is left.
func (w *Workloads) Delete(ctx context.Context, name string) error {
	return w.DeleteObject(ctx, &appsv1.Deployment{ObjectMeta: w.Meta(name)}, name)
}

// DeleteObject deletes an object and waits until none of the pods of its role is left.
func (w *Workloads) DeleteObject(ctx context.Context, object client.Object, role string) error {
	if err := objects.Remove(ctx, w.Seed, object,
		client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		return err
	}
	return w.Await(ctx, 3*time.Minute, "the end of "+role, func(ctx context.Context, seed client.Reader) error {
		if err := objects.GoneFrom(ctx, seed, w.Seed.Scheme(), object); err != nil {
			return err
		}
		pods := &corev1.PodList{}
		if err := seed.List(ctx, pods, client.InNamespace(w.Namespace()),
			client.MatchingLabels(Selector(role).MatchLabels)); err != nil {
			return fmt.Errorf("list the pods of %q: %w", role, err)
		}
		if len(pods.Items) > 0 {
			return fmt.Errorf("%d pods of %q are left, among them %q", len(pods.Items), role, pods.Items[0].Name)
		}
		return nil
	})
}

// Deploy applies a Deployment.
func (w *Workloads) Deploy(ctx context.Context, name string, replicas int32, pod corev1.PodSpec) error {
	return w.DeployReading(ctx, name, replicas, pod, nil)
}

// annotationReadAtStart is a hash of what a program reads only at its start.
const annotationReadAtStart = "transplant.dev/read-at-start"

// DeployReading applies a Deployment whose program reads something only at its start, and is started anew when that
// changes; nil for nothing.
func (w *Workloads) DeployReading(ctx context.Context, name string, replicas int32, pod corev1.PodSpec,
	atStart []byte) error {
	annotations := w.runsAs(name, pod)
	if atStart != nil {
		annotations[annotationReadAtStart] = fmt.Sprintf("%x", sha256.Sum256(atStart))
	}
	restarted, err := w.restartedAt(ctx, name)
	if err != nil {
		return err
	}
	if restarted != "" {
		annotations[AnnotationRestartedAt] = restarted
	}
	pod.TerminationGracePeriodSeconds = ptr.To[int64](5) // an API server without its etcd uses up all of it
	return objects.Apply(ctx, w.Seed, &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.Namespace(), Labels: Labels(name)},
		Spec: appsv1.DeploymentSpec{
			Replicas:             &replicas,
			RevisionHistoryLimit: ptr.To[int32](1),
			Selector:             Selector(name),
			// Two API servers of one shoot at a time are fine on one etcd, but memory is dear: replace, don't surge.
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: Labels(name), Annotations: annotations},
				Spec: w.AsUser(pod)},
		},
	})
}

// annotationKubernetesVersion names the version that a Kubernetes program stands for. Its change starts the program
// anew, as another binary would.
const annotationKubernetesVersion = "transplant.dev/kubernetes-version"

// annotationExternalName is the name that the API server's certificate has been given with the shoot's domain. It
// starts the program anew that knows the certificate of before.
const annotationExternalName = "transplant.dev/external-name"

func (w *Workloads) runsAs(name string, pod corev1.PodSpec) map[string]string {
	if pod.Containers[0].Image != w.KubernetesImage {
		return map[string]string{}
	}
	annotations := map[string]string{annotationKubernetesVersion: w.Shoot.Spec.Kubernetes.Version}
	if host := w.ExternalHost(); host != "" && name == KubeAPIServer {
		annotations[annotationExternalName] = host
	}
	return annotations
}

// AnnotationRestartedAt of a pod template is when its pods were restarted last: that of `kubectl rollout restart`.
const AnnotationRestartedAt = "kubectl.kubernetes.io/restartedAt"

// RestartTime is the value of AnnotationRestartedAt: the beginning of the retry cycle. A retry must not restart
// anything again: while a DNS provider does not answer, each retry would take the API server away.
func (w *Workloads) RestartTime() string {
	begun := metav1.NewTime(w.Clock.Now())
	if first := w.Shoot.Status.RetryCycleStartTime; first != nil {
		begun = *first
	}
	return begun.UTC().Format(time.RFC3339)
}

// restartedAt is AnnotationRestartedAt of a Deployment of the control plane: new if this run restarts it, else as it
// is.
func (w *Workloads) restartedAt(ctx context.Context, name string) (string, error) {
	if w.Restarts(constants.ShootTaskRestartControlPlanePods) {
		return w.RestartTime(), nil
	}
	if w.Fresh {
		return "", nil
	}
	d := &appsv1.Deployment{ObjectMeta: w.Meta(name)}
	if err := w.Seed.Get(ctx, client.ObjectKeyFromObject(d), d); client.IgnoreNotFound(err) != nil {
		return "", patch.Describe("read", d, w.Seed, err)
	}
	return d.Spec.Template.Annotations[AnnotationRestartedAt], nil
}
