// Package restart restarts the pods that the tasks of a shoot name (docs/specification/api.md#spec-1-12).
package restart

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootaccess"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Restarts are the restarts of pods that a shoot lists as tasks.
type Restarts struct {
	*scope.Scope
	workloads *workload.Workloads
	access    *shootaccess.Access
	status    *run.Status
}

// New makes it over a scope.
func New(s *scope.Scope) *Restarts {
	return &Restarts{s, &workload.Workloads{Scope: s}, shootaccess.New(s), &run.Status{Scope: s}}
}

// WaitControlPlane waits until the pods that this run restarts are there again, and takes the task off the
// shoot: a later failure of the run must not restart them once more.
func (r *Restarts) WaitControlPlane(ctx context.Context) error {
	for _, name := range []string{
		workload.KubeAPIServer, workload.ControllerManager, workload.Scheduler, workload.ResourceManager,
		workload.MachineController, workload.VPNSeedServer,
	} {
		exists, err := r.workloads.Exists(ctx, name)
		if err != nil {
			return fmt.Errorf("read deployment %q: %w", name, err)
		}
		if !exists {
			continue // a shoot without workers has no machine-controller, one without real nodes no tunnel
		}
		if err := r.workloads.WaitFor(name)(ctx); err != nil {
			return err
		}
	}
	return r.status.FinishTask(ctx, constants.ShootTaskRestartControlPlanePods)
}

// RestartCoreAddons restarts the pods of what ManagedResources have deployed into the shoot's namespace kube-system,
// and takes the task off the shoot. Workloads that users have deployed are left alone. It does not wait for the pods:
// they may have no node.
func (r *Restarts) RestartCoreAddons(ctx context.Context) error {
	shoot, err := r.access.Client(ctx)
	if err != nil {
		return err
	}
	restarted := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil,
		`{"spec":{"template":{"metadata":{"annotations":{%q:%q}}}}}`, workload.AnnotationRestartedAt,
		r.workloads.RestartTime()))
	managed := client.HasLabels{resourcesv1alpha1.ManagedBy}
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &appsv1.StatefulSetList{},
		&appsv1.DaemonSetList{}} {
		if err := shoot.List(ctx, list, client.InNamespace(metav1.NamespaceSystem), managed); err != nil {
			return fmt.Errorf("list the shoot's core addons: %w", err)
		}
		if err := meta.EachListItem(list, func(object runtime.Object) error {
			addon := object.(client.Object)
			return patch.Describe("restart", addon, shoot,
				client.IgnoreNotFound(shoot.Patch(ctx, addon, restarted, objects.FieldOwner)))
		}); err != nil {
			return err
		}
	}
	return r.status.FinishTask(ctx, constants.ShootTaskRestartCoreAddons)
}
