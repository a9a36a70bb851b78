package controlplane

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/flow"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
)

// DeleteGraph is the graph that deletes a control plane and what it stands for in the cloud. Whatever extensions
// still need goes after them. The tasks of the clean-up are done first, one after the other, while everything is awake
// that a shoot needs to release its objects.
func (o *Operation) DeleteGraph(cleanup ...flow.Task) *flow.Graph {
	g := &flow.Graph{}
	workers := !o.Workerless()
	// Extension objects first need the credentials and the secrets again: an earlier run may have stopped half-way.
	namespace := g.Add(flow.Task{Name: "Deploying control plane namespace", Run: o.DeployNamespace})
	credentials := g.Add(flow.Task{Name: "Deploying cloud provider account secret", Run: o.DeployCredentials,
		After: after(namespace)})
	referenced := g.Add(flow.Task{Name: "Deploying referenced resources", Run: o.DeployReferencedResources,
		After: after(namespace)})
	resources := g.Add(flow.Task{Name: "Deploying gardener-resource-manager", Run: o.wakeResourceManager,
		After: after(credentials, referenced)})
	clean := g.Add(flow.Task{Name: "Initializing connection to Shoot", Run: o.openShoot, After: after(resources)})
	for _, task := range cleanup {
		task.After = after(clean)
		clean = g.Add(task)
	}
	// A way into the machines of a shoot goes before them, while its cloud is whole.
	bastions := g.Add(flow.Task{Name: "Deleting Bastions", Run: o.DeleteBastions, After: after(credentials)})
	worker := g.Add(flow.Task{Name: "Deleting worker pools", Run: o.wakeAndDeleteWorker, After: after(clean),
		Skip: !workers})
	early := g.Add(flow.Task{Name: "Deleting extension resources before kube-apiserver",
		Run: o.deleteExtensions(gardencorev1beta1.BeforeKubeAPIServer), After: after(clean)})
	late := g.Add(flow.Task{Name: "Deleting extension resources", After: after(worker), Run: o.deleteAll(
		extensionsv1alpha1.ContainerRuntimeResource, extensionsv1alpha1.NetworkResource,
		extensionsv1alpha1.OperatingSystemConfigResource, extensionsv1alpha1.WorkerResource)})
	// What they hold in the shoot goes with it.
	managed := g.Add(flow.Task{Name: "Deleting managed resources", Run: o.DeleteManagedResources, After: after(late)})
	controlPlane := g.Add(flow.Task{Name: "Deleting shoot control plane components",
		Run: o.deleteAll(extensionsv1alpha1.ControlPlaneResource), After: after(late, early)})
	machineController := g.Add(flow.Task{Name: "Deleting machine-controller-manager",
		Run: o.deleteDeployment(DeploymentMachineController), After: after(controlPlane)})
	api := g.Add(flow.Task{Name: "Deleting kube-apiserver deployment", After: after(machineController, managed),
		Run: o.DeleteKubernetes})
	extensions := g.Add(flow.Task{Name: "Deleting extension resources after kube-apiserver",
		Run: o.deleteExtensions(gardencorev1beta1.AfterKubeAPIServer), After: after(api)})
	infrastructure := g.Add(flow.Task{Name: "Destroying shoot infrastructure", Run: o.destroyInfrastructure,
		After: after(extensions, bastions)})
	dns := g.Add(flow.Task{Name: "Destroying DNS records", Run: o.deleteAll(extensionsv1alpha1.DNSRecordResource),
		After: after(api)})
	etcd := g.Add(flow.Task{Name: "Destroying main etcd", Run: o.DeleteEtcd, After: after(infrastructure, dns)})
	spent := g.Add(flow.Task{Name: "Noting that nothing is left to restore", Run: o.spendShootState, After: after(etcd)})
	backup := g.Add(flow.Task{Name: "Deleting BackupEntry", Run: o.deleteBackupEntries, After: after(spent)})
	state := g.Add(flow.Task{Name: "Deleting ShootState", Run: o.DeleteShootState, After: after(backup)})
	gone := g.Add(flow.Task{Name: "Deleting shoot namespace in Seed", Run: o.DeleteNamespace, After: after(state)})
	cluster := g.Add(flow.Task{Name: "Deleting Cluster resource", Run: o.DeleteCluster, After: after(gone)})
	g.Add(flow.Task{Name: "Releasing ownership", Run: o.ReleaseOwnership, After: after(cluster)})
	return g
}

// HasServed reports whether the shoot has an API server that may have taken objects: there may be something to clean
// up.
func (o *Operation) HasServed(ctx context.Context) (bool, error) {
	d := &appsv1.Deployment{}
	err := o.Seed.Get(ctx, o.key(DeploymentKubeAPIServer), d)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read deployment %q: %w", DeploymentKubeAPIServer, err)
	}
	return o.Shoot.Status.SeedName != nil || d.Status.ReadyReplicas > 0, nil
}

// serves reports whether the shoot's API server runs now.
func (o *Operation) serves(ctx context.Context) (bool, error) {
	d := &appsv1.Deployment{}
	if err := o.Seed.Get(ctx, o.key(DeploymentKubeAPIServer), d); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, fmt.Errorf("read deployment %q: %w", DeploymentKubeAPIServer, err)
	}
	return d.Status.ReadyReplicas > 0, nil
}

// openShoot makes sure that the API server of a shoot in deletion is reached by its name, and that its controllers run.
// One that slept has no name, and a creation that has failed may not have come so far.
func (o *Operation) openShoot(ctx context.Context) error {
	serves, err := o.HasServed(ctx)
	if err != nil || !serves {
		return err
	}
	if err := o.ExposeAPIServer(ctx); err != nil {
		return err
	}
	record := o.DNSRecord()
	if err := o.Seed.Get(ctx, o.key(record.Name), record); client.IgnoreNotFound(err) != nil {
		return describe("read", record, o.Seed, err)
	} else if err != nil {
		if err := o.deployAndWaitDNSRecord(ctx); err != nil {
			return err
		}
	}
	// The cloud's controllers run beside the machine controller: Services wait for them to go.
	for _, controllers := range []string{DeploymentControllerManager, DeploymentMachineController} {
		if err := o.Scale(ctx, controllers, 1); err != nil {
			return err
		}
	}
	if err := o.WaitShootReachable(ctx); err != nil {
		return err
	}
	return o.RepairShootAccess(ctx)
}

// WaitControllersActive waits until the shoot's controllers run, and those of its cloud, if it has any.
func (o *Operation) WaitControllersActive(ctx context.Context) error {
	for _, controllers := range []string{DeploymentControllerManager, DeploymentMachineController} {
		exists, err := o.DeploymentExists(ctx, controllers)
		if err != nil {
			return err
		}
		if !exists {
			continue
		}
		if err := o.WaitDeployment(ctx, controllers, 5*time.Minute); err != nil {
			return err
		}
	}
	return nil
}

func (o *Operation) deleteDeployment(name string) func(context.Context) error {
	return func(ctx context.Context) error { return o.DeleteDeployment(ctx, name) }
}

// wakeAndDeleteWorker deletes the Worker while the machine controller is awake: only it removes machines.
func (o *Operation) wakeAndDeleteWorker(ctx context.Context) error {
	if o.MayBeAsleep() {
		if err := o.WakeUp(ctx); err != nil {
			return err
		}
		if err := o.Scale(ctx, DeploymentMachineController, 1); err != nil {
			return err
		}
	}
	return o.deleteAll(extensionsv1alpha1.WorkerResource)(ctx)
}

// WakeUp scales etcd and then the API server of a hibernated shoot to one, and waits for both.
func (o *Operation) WakeUp(ctx context.Context) error {
	here, err := o.Survey(ctx)
	if err != nil || !here.Etcd.Exists {
		return err
	}
	// The shoot may be hibernated again, or etcd gone, when that matters.
	if err := o.Advance(ctx, tenure.Begun, here.Etcd.Epoch); err != nil {
		return err
	}
	if err := o.ScaleEtcd(ctx, 1); err != nil {
		return err
	}
	if err := o.WaitEtcd(ctx); err != nil {
		return err
	}
	exists, err := o.DeploymentExists(ctx, DeploymentKubeAPIServer)
	if err != nil || !exists {
		return err
	}
	if err := o.Scale(ctx, DeploymentKubeAPIServer, 1); err != nil {
		return err
	}
	return o.WaitDeployment(ctx, DeploymentKubeAPIServer, 5*time.Minute)
}

// deleteAll deletes every object of the lists in the control-plane namespace and waits until they are gone.
func (o *Operation) deleteAll(kinds ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		var all []extensionsv1alpha1.Object
		for _, kind := range kinds {
			objects, err := o.List(ctx, kind)
			if err != nil {
				return err
			}
			all = append(all, objects...)
		}
		return o.deleteObjects(ctx, all)
	}
}

// deleteExtensions deletes the Extensions that are deleted at a moment (docs/specification/api.md#spec-1-8).
func (o *Operation) deleteExtensions(moment Moment) func(context.Context) error {
	return func(ctx context.Context) error {
		extensions, err := o.extensionsToDelete(ctx, moment)
		if err != nil {
			return err
		}
		return o.deleteObjects(ctx, extensions)
	}
}

// DeleteBastions deletes the shoot's Bastions with their machines, and waits until they are gone. They belong to a seed
// and to a shoot that is there: neither a move nor a deletion waits for whoever has made them.
func (o *Operation) DeleteBastions(ctx context.Context) error {
	return o.deleteAll(extensionsv1alpha1.BastionResource)(ctx)
}

// destroyInfrastructure first deletes the Bastions that somebody has made in the meantime: they stand in its networks.
func (o *Operation) destroyInfrastructure(ctx context.Context) error {
	if err := o.DeleteBastions(ctx); err != nil {
		return err
	}
	return o.deleteAll(extensionsv1alpha1.InfrastructureResource)(ctx)
}

// deleteObjects deletes extension objects and waits until all are gone.
func (o *Operation) deleteObjects(ctx context.Context, objects []extensionsv1alpha1.Object) error {
	for _, phase := range []func(context.Context, extensionsv1alpha1.Object) error{o.DeleteExtension, o.WaitDeleted} {
		for _, object := range objects {
			if err := phase(ctx, object); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *Operation) deleteBackupEntries(ctx context.Context) error {
	if err := o.DestroySourceBackupEntry(ctx); err != nil {
		return err
	}
	entry, err := o.BackupEntry(ctx)
	if err != nil || entry == nil {
		return err
	}
	if holder := ptr.Deref(entry.Spec.SeedName, o.SeedName); holder != o.SeedName {
		return fmt.Errorf("backup entry %q is seed %q's: it is not deleted from here", entry.Name, holder)
	}
	before := entry.DeepCopy()
	metav1.SetMetaDataAnnotation(&entry.ObjectMeta, constants.ConfirmationDeletion, "true")
	if err := o.Garden.Patch(ctx, entry,
		client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("confirm the deletion of backup entry %q: %w", entry.Name, err)
	}
	if err := remove(ctx, o.Garden, entry); err != nil {
		return err
	}
	return o.waitBackupEntryGone(ctx, entry)
}

// DeleteShootState deletes the shoot's ShootState and its chunks, if the shoot is still in the hands of this run.
func (o *Operation) DeleteShootState(ctx context.Context) error {
	return o.States.Delete(ctx, client.ObjectKeyFromObject(o.Shoot), o.Epoch, o.StillMine)
}

// spendShootState comes before the backups go: from here on their absence is no loss (see NothingToRestore).
func (o *Operation) spendShootState(ctx context.Context) error {
	return o.States.Spend(ctx, client.ObjectKeyFromObject(o.Shoot), o.Epoch, o.StillMine)
}

// StillMine returns why the shoot, read anew, is no longer in the hands of this run.
func (o *Operation) StillMine(ctx context.Context) error {
	shoot := &gardencorev1beta1.Shoot{}
	if err := o.Garden.Get(ctx, client.ObjectKeyFromObject(o.Shoot), shoot); err != nil {
		return err
	}
	return o.mine(shoot)
}

// DeleteCluster deletes the Cluster object.
func (o *Operation) DeleteCluster(ctx context.Context) error {
	cluster := &extensionsv1alpha1.Cluster{}
	cluster.Name = o.Namespace()
	return remove(ctx, o.Seed, cluster)
}

// lastRequestTimeout bounds the request with which the shoot ceases to exist.
const lastRequestTimeout = 30 * time.Second

// RemoveFinalizer lets the shoot go. The shoot is read anew: its status has been written since the flow began.
func (o *Operation) RemoveFinalizer(ctx context.Context) error {
	key := client.ObjectKeyFromObject(o.Shoot)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		shoot := &gardencorev1beta1.Shoot{}
		if err := o.Garden.Get(ctx, key, shoot); err != nil {
			return client.IgnoreNotFound(err)
		}
		if shoot.UID != o.Shoot.UID {
			return nil
		}
		before := shoot.DeepCopy()
		controllerutil.RemoveFinalizer(shoot, constants.GardenerFinalizer)
		// The watch of the run sees that the shoot is gone, perhaps before the answer is here: it must not end the wait.
		answered, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastRequestTimeout)
		defer cancel()
		return client.IgnoreNotFound(o.Garden.Patch(answered, shoot,
			client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
	})
	if err != nil {
		return fmt.Errorf("remove the finalizer of shoot %q: %w", key, err)
	}
	return nil
}
