// Package workers has the workers of a shoot: the Worker, what its machines join with, and the machine controller.
package workers

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/contract"
	"github.com/transplant-sim/transplant/controllers/controlplane/extensions"
	"github.com/transplant-sim/transplant/controllers/controlplane/namespace"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootaccess"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Workers are the Worker object of a shoot and its machines.
type Workers struct {
	*scope.Scope
	nodes          *NodeConfigs
	objects        *contract.Objects
	infrastructure *extensions.Infrastructure
	secrets        *secrets.Secrets
	workloads      *workload.Workloads
	status         *run.Status
}

// NewWorkers makes it over a scope.
func NewWorkers(s *scope.Scope) *Workers {
	return &Workers{
		Scope: s, nodes: NewNodeConfigs(s), objects: &contract.Objects{Scope: s},
		infrastructure: extensions.NewInfrastructure(s), secrets: &secrets.Secrets{Scope: s},
		workloads: &workload.Workloads{Scope: s}, status: &run.Status{Scope: s},
	}
}

// object is the shoot's Worker object, by name only.
func (w *Workers) object() *extensionsv1alpha1.Worker {
	return &extensionsv1alpha1.Worker{ObjectMeta: w.Meta(w.Shoot.Name)}
}

// Deploy deploys or restores the Worker.
func (w *Workers) Deploy(ctx context.Context) error {
	status, err := w.infrastructure.ProviderStatus(ctx)
	if err != nil {
		return err
	}
	key, err := w.secrets.Data(ctx, secrets.SSHKeyPair)
	if err != nil {
		return err
	}
	pools, err := w.pools(ctx)
	if err != nil {
		return err
	}
	worker := w.object()
	return w.objects.Deploy(ctx, worker, func() error {
		worker.Spec = extensionsv1alpha1.WorkerSpec{
			DefaultSpec:                  w.objects.ProviderSpec(nil),
			Region:                       w.Shoot.Spec.Region,
			SecretRef:                    w.objects.CloudProviderRef(),
			SSHPublicKey:                 key["id_rsa.pub"],
			InfrastructureProviderStatus: status,
			Pools:                        pools,
		}
		return nil
	})
}

// Wait waits until the worker pools are as asked for; after a restore the machine state, which the Worker
// carried only for that, is taken off it (docs/specification/extensions.md#spec-3-7).
func (w *Workers) Wait(ctx context.Context) error {
	worker := w.object()
	if err := w.objects.Wait(ctx, worker); err != nil {
		return w.blameWebhooks(ctx, err)
	}
	if worker.Status.State == nil {
		return nil
	}
	return patch.Status(ctx, w.Seed, worker, func() { worker.Status.State = nil })
}

// machinesRestored reports whether the Worker extension has restored the machines.
func (w *Workers) machinesRestored(ctx context.Context) (bool, error) {
	if w.Fresh {
		return false, nil
	}
	worker := w.object()
	err := w.Seed.Get(ctx, w.Key(worker.Name), worker)
	if client.IgnoreNotFound(err) != nil {
		return false, patch.Describe("read", worker, w.Seed, err)
	}
	return err == nil && contract.Restored(worker), nil
}

// DeployMachineController deploys the controller of the shoot's machine objects. While restoring it stays at zero
// replicas until the Worker extension has restored the machines and scales it up
// (docs/specification/extensions.md#spec-3-7).
func (w *Workers) DeployMachineController(ctx context.Context) error {
	replicas := w.Replicas()
	if w.Restoring() {
		if restored, err := w.machinesRestored(ctx); err != nil {
			return err
		} else if !restored {
			replicas = 0
		}
	}
	volumes, mounts := workload.SecretVolumes(secrets.MachineController, namespace.KubeconfigCloud,
		access.MachineController.Secret())
	return w.workloads.Deploy(ctx, workload.MachineController, replicas, corev1.PodSpec{
		ServiceAccountName: workload.MachineController,
		Volumes:            volumes,
		Containers: []corev1.Container{{
			Name:  workload.MachineController,
			Image: w.Image,
			Command: []string{"transplant", "machine-controller",
				"--namespace=" + w.Namespace(),
				"--target-kubeconfig=" + workload.SecretFile(secrets.MachineController, "kubeconfig"),
				"--cloud-kubeconfig=" + workload.SecretFile(namespace.KubeconfigCloud, "kubeconfig"),
				fmt.Sprintf("--guard-url=https://$(ETCD_MAIN_CLIENT_SERVICE_HOST):%d", access.GuardPort),
				"--guard-credentials=" + path.Join(workload.MountRoot, access.MachineController.Secret()),
				workload.MetricsFlag,
			},
			Env: []corev1.EnvVar{workload.PodIP}, VolumeMounts: mounts, Ports: workload.MetricsAt(workload.PortMetrics),
		}},
	})
}

// DeleteMachineController deletes it, and waits until its pod is gone.
func (w *Workers) DeleteMachineController(ctx context.Context) error {
	return w.workloads.Delete(ctx, workload.MachineController)
}

// userDataRef refers to the user data of new machines of a pool, which the extension rendered.
func (w *Workers) userDataRef(ctx context.Context, pool string) (*corev1.SecretKeySelector, error) {
	for _, worker := range w.Shoot.Spec.Provider.Workers {
		if worker.Name != pool {
			continue
		}
		config, err := w.nodes.operatingSystemConfig(worker, extensionsv1alpha1.OperatingSystemConfigPurposeProvision)
		if err != nil {
			return nil, err
		}
		if err := w.Seed.Get(ctx, w.Key(config.Name), config); err != nil {
			return nil, patch.Describe("read", config, w.Seed, err)
		}
		if config.Status.CloudConfig == nil {
			return nil, fmt.Errorf("operating system config %q has no cloud config yet", config.Name)
		}
		return &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: config.Status.CloudConfig.SecretRef.Name},
			Key:                  userDataKey,
		}, nil
	}
	return nil, fmt.Errorf("the shoot has no worker pool %q", pool)
}

// userDataKey is the key of the secret that an OperatingSystemConfig's cloud config is in.
const userDataKey = "cloud_config"

// reasonProblematicWebhooks is the reason by which care says that webhooks of a shoot are problematic. Those that were
// remediated stand in nobody's way.
const reasonProblematicWebhooks = "ProblematicWebhooks"

// blameWebhooks is for waits until nodes are ready. A webhook can keep nodes from joining
// (docs/specification/care.md#spec-5-5), and only the nodes see that. So a wait that is over time has this cause if
// care has found such a webhook, a machine has no ready node, and the error has no code. Without such a machine the
// cause is another, such as a disruption budget.
func (w *Workers) blameWebhooks(ctx context.Context, err error) error {
	if _, late := errors.AsType[*scope.TimeoutError](err); !late || len(errorcodes.Of(err)) > 0 {
		return err
	}
	shoot, machines := &gardencorev1beta1.Shoot{}, &machinev1alpha1.MachineList{}
	if w.Garden.Get(ctx, client.ObjectKeyFromObject(w.Shoot), shoot) != nil ||
		w.Seed.List(ctx, machines, client.InNamespace(w.Namespace())) != nil {
		return err // it says what failed, if not why
	}
	if !slices.ContainsFunc(machines.Items, lacksNode) {
		return err
	}
	for _, constraint := range shoot.Status.Constraints {
		if constraint.Type == gardencorev1beta1.ShootMaintenancePreconditionsSatisfied &&
			constraint.Status == gardencorev1beta1.ConditionFalse && constraint.Reason == reasonProblematicWebhooks {
			return shootaccess.ProblematicWebhook(err.Error()+"; "+constraint.Message, err)
		}
	}
	return err
}

// lacksNode is whether a machine that the cloud has made, and that is to stay, is no ready node.
func lacksNode(m machinev1alpha1.Machine) bool {
	switch m.Status.CurrentStatus.Phase {
	case machinev1alpha1.MachinePending, machinev1alpha1.MachineUnknown, machinev1alpha1.MachineFailed:
		return m.DeletionTimestamp == nil && m.Status.LastOperation.ErrorCode == ""
	}
	return false
}

// machineFinalizers keep machine objects until their machines are gone; a shallow deletion takes them off.
var machineFinalizers = []string{constants.FinalizerMachineControllerManager, constants.FinalizerMachineController}

// purposeCloudProvider is a value of the label gardener.cloud/purpose on Secrets.
const purposeCloudProvider = "cloudprovider"

// ShallowDeleteMachines deletes the machine objects without their machines
// (docs/specification/migration.md#spec-2-6-1): finalizers go first, and nobody acts on machine objects any more. Real
// machines stay untouched.
func (w *Workers) ShallowDeleteMachines(ctx context.Context) error {
	lists := []client.ObjectList{
		&machinev1alpha1.MachineDeploymentList{}, &machinev1alpha1.MachineSetList{},
		&machinev1alpha1.MachineList{}, &machinev1alpha1.MachineClassList{},
	}
	for _, list := range lists {
		if err := w.Seed.List(ctx, list, client.InNamespace(w.Namespace())); err != nil {
			return fmt.Errorf("list %T: %w", list, err)
		}
		if err := meta.EachListItem(list, func(object runtime.Object) error {
			return w.shallowDelete(ctx, object.(client.Object), true)
		}); err != nil {
			return err
		}
	}
	secrets := &corev1.SecretList{}
	if err := w.Seed.List(ctx, secrets, client.InNamespace(w.Namespace()),
		client.HasLabels{constants.GardenerPurpose}); err != nil {
		return fmt.Errorf("list the machine classes' secrets: %w", err)
	}
	for i := range secrets.Items {
		switch secret := &secrets.Items[i]; secret.Labels[constants.GardenerPurpose] {
		case constants.GardenerPurposeMachineClass, purposeCloudProvider:
			ofMachines := secret.Labels[constants.GardenerPurpose] == constants.GardenerPurposeMachineClass
			if err := w.shallowDelete(ctx, secret, ofMachines); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *Workers) shallowDelete(ctx context.Context, object client.Object, remove bool) error {
	if err := client.IgnoreNotFound(patch.Object(ctx, w.Seed, object, func() {
		for _, finalizer := range machineFinalizers {
			controllerutil.RemoveFinalizer(object, finalizer)
		}
	})); err != nil || !remove {
		return err
	}
	return objects.Remove(ctx, w.Seed, object)
}
