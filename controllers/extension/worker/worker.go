// Package worker turns the worker pools of a Worker into machine objects, and brings them back when a shoot is
// restored. The machine objects have the same names on every seed.
//
// It makes no machines: the machine controller turns machine objects into machines.
package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/infrastructure"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Provider does it. Seed reads from the API server, not from a cache; Cloud must come from fence.Guarded.
type Provider struct {
	Seed  client.Client
	Cloud *cloud.Client
	Clock clock.PassiveClock
}

// machinePoll is the pause before machine objects are looked at again; their events wake sooner.
const machinePoll = 2 * time.Second

// machineControllers are the names under which the controller of the machine objects may run.
var machineControllers = []string{"machine-controller", "machine-controller-manager"}

// Kind is Worker: worker pools become machine objects, which the machine controller turns into machines. Migration
// leaves both alone: the machine objects are saved and removed by the gardenlet
// (docs/specification/migration.md#spec-2-6-1, docs/specification/extensions.md#spec-3-7).
func (p *Provider) Kind() contract.Kind[*extensionsv1alpha1.Worker] {
	kind := contract.KindOf[*extensionsv1alpha1.Worker](extensionsv1alpha1.WorkerResource)
	kind.Wakes = []client.Object{&machinev1alpha1.MachineDeployment{}}
	kind.OnReconcile = p.reconcileWorker
	kind.OnDelete = p.deleteWorker
	kind.OnForceDelete = p.forceDeleteWorker
	kind.OnRestore = p.restoreWorker
	return kind
}

func poolsOf(obj *extensionsv1alpha1.Worker, cluster *contract.Cluster) ([]zonePool, error) {
	given, err := infrastructure.StatusOf(obj, obj.Spec.InfrastructureProviderStatus)
	if err != nil {
		return nil, err
	}
	return zonePools(obj, given, cluster.Shoot)
}

func (p *Provider) reconcileWorker(ctx context.Context, _ logr.Logger, obj *extensionsv1alpha1.Worker,
	cluster *contract.Cluster) error {
	pools, err := poolsOf(obj, cluster)
	if err != nil {
		return err
	}
	if err := p.deployMachineClasses(ctx, obj, pools); err != nil {
		return err
	}
	if err := p.deployPools(ctx, obj, pools, cluster.Hibernated(), nil); err != nil {
		return err
	}
	return p.finish(ctx, obj, pools, cluster)
}

// deployPools asks for the machines of pools whose classes are there.
func (p *Provider) deployPools(ctx context.Context, obj *extensionsv1alpha1.Worker, pools []zonePool, hibernated bool,
	saved map[string]int32) error {
	if err := p.markMachines(ctx, obj.Namespace, hibernated); err != nil {
		return err
	}
	return p.deployMachineDeployments(ctx, obj, pools, hibernated, saved)
}

// finish waits until the pools have their machines, and removes what no pool wants.
func (p *Provider) finish(ctx context.Context, obj *extensionsv1alpha1.Worker, pools []zonePool,
	cluster *contract.Cluster) error {
	if err := p.publishDeployments(ctx, obj, pools); err != nil {
		return err
	}
	if cluster.Hibernated() { // nobody waits for other nodes before those of pools go that are not wanted any more
		if err := p.removeUnwanted(ctx, obj.Namespace, pools); err != nil {
			return err
		}
	}
	if err := p.waitForMachines(ctx, obj.Namespace, pools, cluster.Hibernated()); err != nil {
		return err
	}
	if err := p.publishInPlace(ctx, obj, pools); err != nil {
		return err
	}
	return p.removeUnwanted(ctx, obj.Namespace, pools)
}

// markMachines says of all machines whether they are ended by force, before any is.
func (p *Provider) markMachines(ctx context.Context, namespace string, hibernated bool) error {
	if hibernated {
		return p.changeMachines(ctx, namespace, forceForSleep)
	}
	return p.changeMachines(ctx, namespace, unforce)
}

// deployMachineDeployments creates or patches the deployments. Saved numbers of replicas, if any, stand for those of
// deployments that are not there.
func (p *Provider) deployMachineDeployments(ctx context.Context, obj *extensionsv1alpha1.Worker, pools []zonePool,
	hibernated bool, saved map[string]int32) error {
	for _, pool := range pools {
		deployment := &machinev1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: obj.Namespace,
			Name: pool.name}}
		if err := contract.Deploy(ctx, p.Seed, obj, deployment, func(d *machinev1alpha1.MachineDeployment) {
			var current *int32
			if d.ResourceVersion != "" {
				current = &d.Spec.Replicas
			} else if replicas, ok := saved[pool.name]; ok {
				current = &replicas
			}
			metav1.SetMetaDataLabel(&d.ObjectMeta, labelName, pool.name)
			wanted := pool.deploymentSpec(pool.replicas(current, hibernated))
			d.Spec.Replicas, d.Spec.Selector, d.Spec.Strategy, d.Spec.Template = wanted.Replicas, wanted.Selector,
				wanted.Strategy, wanted.Template
		}); err != nil {
			return err
		}
	}
	return nil
}

// publishDeployments publishes to the autoscaler and the gardenlet what there is. The time is that of the last request
// which was served, or of the last change.
func (p *Provider) publishDeployments(ctx context.Context, obj *extensionsv1alpha1.Worker, pools []zonePool) error {
	wanted := make([]extensionsv1alpha1.MachineDeployment, 0, len(pools))
	for _, pool := range pools {
		wanted = append(wanted, extensionsv1alpha1.MachineDeployment{
			Name: pool.name, Minimum: pool.minimum, Maximum: pool.maximum, Priority: pool.pool.Priority,
		})
	}
	return contract.PatchStatus(ctx, p.Seed, obj, func() {
		last := obj.Status.MachineDeploymentsLastUpdateTime
		requested, err := time.Parse(time.RFC3339Nano, obj.Annotations[constants.GardenerTimestamp])
		served := err != nil || last != nil && !last.Time.Before(requested.Truncate(time.Second))
		if last == nil || !served || !equality.Semantic.DeepEqual(obj.Status.MachineDeployments, wanted) {
			obj.Status.MachineDeployments = wanted
			obj.Status.MachineDeploymentsLastUpdateTime = &metav1.Time{Time: p.Clock.Now()}
		}
	})
}

// waitForMachines waits until every deployment has the machines it wants, of the template it wants. Where the shoot
// sleeps it is enough that there are none: the machine controller may rest too.
func (p *Provider) waitForMachines(ctx context.Context, namespace string, pools []zonePool, hibernated bool) error {
	if hibernated {
		return p.waitForNoMachines(ctx, namespace)
	}
	for _, pool := range pools {
		lacking, err := pool.lacking(ctx, p.Seed, namespace)
		if err != nil {
			return err
		}
		if lacking != "" {
			return &contract.Pending{For: lacking, After: machinePoll,
				Still: func(ctx context.Context, known client.Reader) bool {
					lacking, err := pool.lacking(ctx, known, namespace)
					return err == nil && lacking != ""
				},
				Rest: func(ctx context.Context, o extensionsv1alpha1.Object, cluster *contract.Cluster) error {
					obj := o.(*extensionsv1alpha1.Worker)
					pools, err := poolsOf(obj, cluster)
					if err != nil {
						return err
					}
					// Somebody has deleted what was waited for: the whole action makes it again.
					if err := p.finish(ctx, obj, pools, cluster); !apierrors.IsNotFound(err) {
						return err
					}
					return &contract.Pending{For: "the machine deployments to be made again", After: machinePoll}
				}}
		}
	}
	return nil
}

// lacking says what the machines of a pool lack, empty for nothing. It fails where the cloud refuses machines.
func (z zonePool) lacking(ctx context.Context, from client.Reader, namespace string) (string, error) {
	d := &machinev1alpha1.MachineDeployment{}
	if err := from.Get(ctx, client.ObjectKey{Namespace: namespace, Name: z.name}, d); err != nil {
		return "", fmt.Errorf("read MachineDeployment %q: %w", z.name, err)
	}
	if d.Status.ObservedGeneration < d.Generation {
		return fmt.Sprintf("the machine controller to look at MachineDeployment %q", d.Name), nil
	}
	if z.manual() && d.Status.Replicas == d.Spec.Replicas && d.Status.UpdatedReplicas < d.Spec.Replicas {
		return "", nil // the machines are there; users choose when they are updated
	}
	if err := failedMachines(d); err != nil {
		return "", err
	}
	if d.Status.AvailableReplicas < d.Spec.Replicas || d.Status.UpdatedReplicas < d.Spec.Replicas ||
		d.Status.Replicas != d.Spec.Replicas {
		return fmt.Sprintf("MachineDeployment %q: %d of %d machines are available, %d updated, %d in all", d.Name,
			d.Status.AvailableReplicas, d.Spec.Replicas, d.Status.UpdatedReplicas, d.Status.Replicas), nil
	}
	return "", nil
}

// refusals are the answers of the cloud that do not pass while somebody waits. The machine controller tries again after
// all others as well, and is waited for.
var refusals = []cloud.Code{
	cloud.CodeQuotaExceeded, cloud.CodeDepleted, cloud.CodeUnauthenticated, cloud.CodeUnauthorized, cloud.CodeInvalid,
	cloud.CodeNotFound,
}

// failedMachines is why the cloud refuses machines to a deployment, or does not end its machines.
func failedMachines(d *machinev1alpha1.MachineDeployment) error {
	var failed []error
	for _, machine := range d.Status.FailedMachines {
		failed = append(failed, refusal(machine.Name, machine.LastOperation))
	}
	return errors.Join(failed...)
}

// refusal is why an operation on a machine has failed, with the codes that the answer of the cloud deserves
// (docs/specification/care.md#spec-5-8); nil if trying again may help.
func refusal(name string, last machinev1alpha1.LastOperation) error {
	if last.State != machinev1alpha1.MachineStateFailed || !slices.Contains(refusals, cloud.Code(last.ErrorCode)) {
		return nil
	}
	codes := errorcodes.Classify(last.Description)
	if len(codes) == 0 {
		return nil
	}
	return contract.WithCodes(fmt.Errorf("machine %q failed: %s", name, last.Description), codes...)
}

// waitForEnds waits for machines that are to end. It fails where the cloud refuses to end one.
func (p *Provider) waitForEnds(ctx context.Context, namespace, what string) error {
	if err := p.wakeMachineController(ctx, namespace); err != nil {
		return err
	}
	machines := &machinev1alpha1.MachineList{}
	if err := p.Seed.List(ctx, machines, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list the machines: %w", err)
	}
	var refused []error
	for _, m := range machines.Items {
		// A machine that was never made, and is to end, waits for nothing that the cloud has refused.
		if m.Status.LastOperation.Type == machinev1alpha1.MachineOperationDelete {
			refused = append(refused, refusal(m.Name, m.Status.LastOperation))
		}
	}
	if err := errors.Join(refused...); err != nil {
		return err
	}
	return contract.WaitingFor(machinePoll, "%s", what)
}

// wakeMachineController scales the machine controller up if it rests.
func (p *Provider) wakeMachineController(ctx context.Context, namespace string) error {
	for _, name := range machineControllers {
		deployment := &appsv1.Deployment{}
		err := p.Seed.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, deployment)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read the machine controller's Deployment: %w", err)
		}
		if ptr.Deref(deployment.Spec.Replicas, 1) > 0 {
			return nil
		}
		return patch.Object(ctx, p.Seed, deployment, func() { deployment.Spec.Replicas = ptr.To[int32](1) })
	}
	return nil
}
