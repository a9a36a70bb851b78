package care

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/care/health"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
)

// etcdPrefix begins the names of a control plane's etcds.
const etcdPrefix = "etcd-"

// look is an Observation and the way into the shoot by which it was made.
type look struct {
	*health.Observation
	// shoot is nil if nobody answers there.
	shoot *connection
	// before is what is taken from an earlier look; nil for nothing.
	before *well
}

// read is the shoot as it was read for the look, if nothing is mended after it; else it is nil.
func (l *look) read() *gardencorev1beta1.Shoot {
	if l.before == nil {
		return nil
	}
	return l.Shoot.DeepCopy()
}

func (l *look) close() {
	if l.shoot != nil {
		l.shoot.close()
	}
}

// observe looks at the control plane in the seed and, if there is an API server, into the shoot.
// While the API server is well, what seldom changes in the shoot is taken from before, unless nil.
func (r *Reconciler) observe(ctx context.Context, o *controlplane.Operation, before *well) *look {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	l := &look{Observation: &health.Observation{Shoot: o.Shoot}}
	r.observeSeed(ctx, o, l.Observation)
	if health.Hibernated(o.Shoot) || l.Deployments.Err == nil && !serves(l.Deployments.Items) {
		return l
	}
	l.APIServer = &health.APIServer{}
	if l.shoot, l.APIServer.ClientErr = r.reach(ctx, o, l.Observation); l.APIServer.ClientErr != nil {
		return l
	}
	if l.APIServer.Code == http.StatusOK {
		l.before = before
	}
	l.shoot.observe(ctx, l.Observation, l.before.cluster(), o.Clock.Now())
	return l
}

// serves is whether an API server is wanted among the Deployments.
func serves(deployments []appsv1.Deployment) bool {
	return slices.ContainsFunc(deployments, func(d appsv1.Deployment) bool {
		return d.Name == workload.KubeAPIServer && d.DeletionTimestamp == nil && ptr.Deref(d.Spec.Replicas,
			1) > 0
	})
}

func (r *Reconciler) observeSeed(ctx context.Context, o *controlplane.Operation, seen *health.Observation) {
	namespace := client.InNamespace(o.Namespace())
	seen.Extensions = r.extensionReports(ctx, o)
	sets := &appsv1.StatefulSetList{}
	seen.Etcds = listed(r.Seed.List(ctx, sets, namespace), &sets.Items)
	seen.Etcds.Items = slices.DeleteFunc(seen.Etcds.Items, func(s appsv1.StatefulSet) bool {
		return !strings.HasPrefix(s.Name, etcdPrefix)
	})
	deployments := &appsv1.DeploymentList{}
	seen.Deployments = listed(r.Seed.List(ctx, deployments, namespace), &deployments.Items)
	seen.Monitoring = health.Seen[appsv1.Deployment]{Err: seen.Deployments.Err}
	for _, d := range seen.Deployments.Items {
		if observes(&d) {
			seen.Monitoring.Items = append(seen.Monitoring.Items, d)
		}
	}
	seen.Deployments.Items = slices.DeleteFunc(seen.Deployments.Items, func(d appsv1.Deployment) bool {
		return observes(&d)
	})
	managed := &resourcesv1alpha1.ManagedResourceList{}
	seen.ManagedResources = listed(r.Seed.List(ctx, managed, namespace), &managed.Items)
	machineDeployments := &machinev1alpha1.MachineDeploymentList{}
	seen.MachineDeployments = listed(r.Seed.List(ctx, machineDeployments, namespace), &machineDeployments.Items)
	machines := &machinev1alpha1.MachineList{}
	seen.Machines = listed(r.Seed.List(ctx, machines, namespace), &machines.Items)
	// Extensions look after their own.
	authorities := &corev1.SecretList{}
	err := r.Seed.List(ctx, authorities, namespace, client.MatchingLabels{
		constants.Persist: constants.LabelTrue, constants.ManagedBy: constants.ManagedBySecretsManager,
	})
	seen.Authorities = listed(err, &authorities.Items)
}

// observes is whether a Deployment of a control plane is one of its observability components.
func observes(d *appsv1.Deployment) bool {
	return gardencorev1beta1.ConditionType(
		d.Labels[constants.CareConditionType]) == gardencorev1beta1.ShootObservabilityComponentsHealthy
}

func listed[T any](err error, items *[]T) health.Seen[T] {
	return health.Seen[T]{Items: *items, Err: err}
}

// extensionReports are the conditions on the extension objects of the shoot.
func (r *Reconciler) extensionReports(ctx context.Context,
	o *controlplane.Operation) health.Seen[health.ExtensionReport] {
	var reports []health.ExtensionReport
	var errs []error
	for _, kind := range extensionsv1alpha1.Kinds() {
		if !kind.Namespaced {
			continue
		}
		list := kind.NewList()
		if err := r.Seed.List(ctx, list, client.InNamespace(o.Namespace())); err != nil {
			errs = append(errs, err)
			continue
		}
		for _, object := range list.Objects() {
			if len(object.GetExtensionStatus().GetConditions()) == 0 {
				continue
			}
			of := kind.Name + "/" + object.GetExtensionSpec().GetExtensionType()
			heartbeat, err := r.heartbeat(ctx, o, cmp.Or(r.ExtensionNamespaces[of], r.ExtensionNamespace))
			errs = append(errs, err)
			reports = append(reports, health.Reports(kind.Name, object, heartbeat)...)
		}
	}
	return health.Seen[health.ExtensionReport]{Items: reports, Err: errors.Join(errs...)}
}

// heartbeat is when the extension in a namespace last said that it lives. One that was read for any shoot counts for
// all until half of the time is over after which it is stale. It is not read from a cache: one that has stopped would
// make it die.
func (r *Reconciler) heartbeat(ctx context.Context, o *controlplane.Operation,
	namespace string) (*metav1.MicroTime, error) {
	if last, known := r.beats.Load(namespace); known && o.Clock.Since(last.(time.Time)) < r.Config.StaleExtensions/2 {
		return ptr.To(metav1.NewMicroTime(last.(time.Time))), nil
	}
	lease := &coordinationv1.Lease{}
	err := o.Seed.Get(ctx, client.ObjectKey{Namespace: namespace, Name: constants.HeartbeatLease}, lease)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if lease.Spec.RenewTime != nil {
		r.beats.Store(namespace, lease.Spec.RenewTime.Time)
	}
	return lease.Spec.RenewTime, nil
}
