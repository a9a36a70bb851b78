package controlplane

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
)

// annotationRestartedAt of a pod template is when its pods were restarted last: that of `kubectl rollout restart`.
const annotationRestartedAt = "kubectl.kubernetes.io/restartedAt"

// tasksOf are the one-shot tasks that the shoot lists (docs/specification/api.md#spec-1-12).
func tasksOf(shoot *gardencorev1beta1.Shoot) []string {
	var tasks []string
	for _, task := range strings.Split(shoot.Annotations[constants.ShootTasks], ",") {
		if task = strings.TrimSpace(task); task != "" {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// removeTasks takes tasks off the shoot's list, and the list with the last one.
func removeTasks(shoot *gardencorev1beta1.Shoot, done []string) {
	left := slices.DeleteFunc(tasksOf(shoot), func(task string) bool { return slices.Contains(done, task) })
	if len(left) == 0 {
		delete(shoot.Annotations, constants.ShootTasks)
		return
	}
	shoot.Annotations[constants.ShootTasks] = strings.Join(left, ",")
}

// restarts reports whether this run restarts what a task names. Other operations make all pods anew, or end them; of a
// shoot that sleeps there are none.
func (o *Operation) restarts(task string) bool {
	return o.running == gardencorev1beta1.LastOperationTypeReconcile && o.Awake() &&
		(task == constants.ShootTaskRestartControlPlanePods || task == constants.ShootTaskRestartCoreAddons) &&
		slices.Contains(tasksOf(o.Shoot), task)
}

// endingTasks are the tasks that the run has found and that end with it. Restarts have been taken off when they were
// done: one that is there again was added later.
func (o *Operation) endingTasks() []string { return slices.DeleteFunc(tasksOf(o.Shoot), o.restarts) }

// restartTime is the value of annotationRestartedAt: the beginning of the retry cycle. A retry must not restart
// anything again: while a DNS provider does not answer, each retry would take the API server away.
func (o *Operation) restartTime() string {
	begun := metav1.NewTime(o.Clock.Now())
	if first := o.Shoot.Status.RetryCycleStartTime; first != nil {
		begun = *first
	}
	return begun.UTC().Format(time.RFC3339)
}

// restartedAt is annotationRestartedAt of a Deployment of the control plane: new if this run restarts it, else as it
// is.
func (o *Operation) restartedAt(ctx context.Context, name string) (string, error) {
	if o.restarts(constants.ShootTaskRestartControlPlanePods) {
		return o.restartTime(), nil
	}
	d := &appsv1.Deployment{ObjectMeta: o.meta(name)}
	if err := o.Seed.Get(ctx, client.ObjectKeyFromObject(d), d); client.IgnoreNotFound(err) != nil {
		return "", describe("read", d, o.Seed, err)
	}
	return d.Spec.Template.Annotations[annotationRestartedAt], nil
}

// WaitControlPlaneRestarted waits until the pods that this run restarts are there again, and takes the task off the
// shoot: a later failure of the run must not restart them once more.
func (o *Operation) WaitControlPlaneRestarted(ctx context.Context) error {
	for _, name := range []string{
		DeploymentKubeAPIServer, DeploymentControllerManager, DeploymentScheduler, DeploymentResourceManager,
		DeploymentMachineController,
	} {
		exists, err := o.DeploymentExists(ctx, name)
		if err != nil {
			return fmt.Errorf("read deployment %q: %w", name, err)
		}
		if !exists {
			continue // a shoot without workers has no machine-controller
		}
		if err := o.waitFor(name)(ctx); err != nil {
			return err
		}
	}
	return o.finishTask(ctx, constants.ShootTaskRestartControlPlanePods)
}

// RestartCoreAddons restarts the pods of what ManagedResources have deployed into the shoot's namespace kube-system,
// and takes the task off the shoot. Workloads that users have deployed are left alone. It does not wait for the pods:
// they may have no node.
func (o *Operation) RestartCoreAddons(ctx context.Context) error {
	shoot, err := o.ShootClient(ctx)
	if err != nil {
		return err
	}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil,
		`{"spec":{"template":{"metadata":{"annotations":{%q:%q}}}}}`, annotationRestartedAt, o.restartTime()))
	managed := client.HasLabels{resourcesv1alpha1.ManagedBy}
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &appsv1.StatefulSetList{},
		&appsv1.DaemonSetList{}} {
		if err := shoot.List(ctx, list, client.InNamespace(metav1.NamespaceSystem), managed); err != nil {
			return fmt.Errorf("list the shoot's core addons: %w", err)
		}
		if err := meta.EachListItem(list, func(object runtime.Object) error {
			addon := object.(client.Object)
			return describe("restart", addon, shoot, client.IgnoreNotFound(shoot.Patch(ctx, addon, patch, fieldOwner)))
		}); err != nil {
			return err
		}
	}
	return o.finishTask(ctx, constants.ShootTaskRestartCoreAddons)
}

// finishTask takes a task off the shoot in the middle of a flow. o.Shoot stays as it is: other tasks of the flow read
// it.
func (o *Operation) finishTask(ctx context.Context, task string) error {
	key := client.ObjectKeyFromObject(o.Shoot)
	err := retry.RetryOnConflict(ConflictBackoff, func() error {
		shoot := &gardencorev1beta1.Shoot{}
		if err := o.Garden.Get(ctx, key, shoot); err != nil {
			return err
		}
		if err := o.mine(shoot); err != nil {
			return err
		}
		if !slices.Contains(tasksOf(shoot), task) {
			return nil
		}
		before := shoot.DeepCopy()
		removeTasks(shoot, []string{task})
		return o.Garden.Patch(ctx, shoot, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	if err != nil {
		return fmt.Errorf("take the task %q off shoot %q: %w", task, key, err)
	}
	return nil
}
