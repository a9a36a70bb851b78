package controlplane

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/flow"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// DeleteGraph is the graph that deletes a control plane and what it stands for in the cloud. Whatever extensions
// still need goes after them. The tasks of the clean-up are done first, one after the other, while everything is awake
// that a shoot needs to release its objects.
func (o *Operation) DeleteGraph(cleanup ...flow.Task) *flow.Graph {
	g := &flow.Graph{}
	workers := !o.Workerless()
	// Extension objects first need the credentials and the secrets again: an earlier run may have stopped half-way.
	namespace := g.Add(flow.Task{Name: "Deploying control plane namespace", Run: o.ShootNamespace.Deploy})
	credentials := g.Add(flow.Task{Name: "Deploying cloud provider account secret", Run: o.Credentials.Deploy,
		After: after(namespace)})
	referenced := g.Add(flow.Task{Name: "Deploying referenced resources", Run: o.References.Deploy,
		After: after(namespace)})
	resources := g.Add(flow.Task{Name: "Deploying gardener-resource-manager", Run: o.wakeResourceManager,
		After: after(credentials, referenced)})
	clean := g.Add(flow.Task{Name: "Initializing connection to Shoot", Run: o.openShoot, After: after(resources)})
	for _, task := range cleanup {
		task.After = after(clean)
		clean = g.Add(task)
	}
	// A way into the machines of a shoot goes before them, while its cloud is whole, and does not wait for who has made
	// it.
	bastions := g.Add(flow.Task{Name: "Deleting Bastions", Run: o.Objects.DeleteAll(extensionsv1alpha1.BastionResource),
		After: after(credentials)})
	worker := g.Add(flow.Task{Name: "Deleting worker pools", Run: o.wakeAndDeleteWorker, After: after(clean),
		Skip: !workers})
	early := g.Add(flow.Task{Name: "Deleting extension resources before kube-apiserver",
		Run: o.Extensions.Delete(gardencorev1beta1.BeforeKubeAPIServer), After: after(clean)})
	late := g.Add(flow.Task{Name: "Deleting extension resources", After: after(worker), Run: o.Objects.DeleteAll(
		extensionsv1alpha1.ContainerRuntimeResource, extensionsv1alpha1.NetworkResource,
		extensionsv1alpha1.OperatingSystemConfigResource, extensionsv1alpha1.WorkerResource)})
	// What they hold in the shoot goes with it.
	managed := g.Add(flow.Task{Name: "Deleting managed resources", Run: o.ResourceManager.DeleteResources,
		After: after(late)})
	controlPlane := g.Add(flow.Task{Name: "Deleting shoot control plane components",
		Run: o.Objects.DeleteAll(extensionsv1alpha1.ControlPlaneResource), After: after(late, early)})
	machineController := g.Add(flow.Task{Name: "Deleting machine-controller-manager",
		Run: o.Workers.DeleteMachineController, After: after(controlPlane)})
	api := g.Add(flow.Task{Name: "Deleting kube-apiserver deployment", After: after(machineController, managed),
		Run: o.APIServer.DeleteAll})
	extensions := g.Add(flow.Task{Name: "Deleting extension resources after kube-apiserver",
		Run: o.Extensions.Delete(gardencorev1beta1.AfterKubeAPIServer), After: after(api)})
	infrastructure := g.Add(flow.Task{Name: "Destroying shoot infrastructure", Run: o.Infrastructure.Destroy,
		After: after(extensions, bastions)})
	dns := g.Add(flow.Task{Name: "Destroying DNS records", Run: o.Objects.DeleteAll(extensionsv1alpha1.DNSRecordResource),
		After: after(api)})
	etcd := g.Add(flow.Task{Name: "Destroying main etcd", Run: o.Etcd.Delete, After: after(infrastructure, dns)})
	spent := g.Add(flow.Task{Name: "Noting that nothing is left to restore", Run: o.spendShootState, After: after(etcd)})
	backup := g.Add(flow.Task{Name: "Deleting BackupEntry", Run: o.Backups.Delete, After: after(spent)})
	state := g.Add(flow.Task{Name: "Deleting ShootState", Run: o.DeleteShootState, After: after(backup)})
	gone := g.Add(flow.Task{Name: "Deleting shoot namespace in Seed", Run: o.ShootNamespace.Delete, After: after(state)})
	cluster := g.Add(flow.Task{Name: "Deleting Cluster resource", Run: o.Cluster.Delete, After: after(gone)})
	g.Add(flow.Task{Name: "Releasing ownership", Run: o.Ownership.Release, After: after(cluster)})
	return g
}

// openShoot makes sure that the API server of a shoot in deletion is reached by its name, and that its controllers run.
// One that slept has no name, and a creation that has failed may not have come so far.
func (o *Operation) openShoot(ctx context.Context) error {
	serves, err := o.APIServer.HasServed(ctx)
	if err != nil || !serves {
		return err
	}
	if err := o.APIServer.Expose(ctx); err != nil {
		return err
	}
	record := o.DNS.Internal()
	if err := o.Seed.Get(ctx, o.Key(record.Name), record); client.IgnoreNotFound(err) != nil {
		return patch.Describe("read", record, o.Seed, err)
	} else if err != nil {
		if err := o.DNS.DeployInternal(ctx); err != nil {
			return err
		}
	}
	// The cloud's controllers run beside the machine controller: Services wait for them to go.
	for _, controllers := range []string{workload.ControllerManager, workload.MachineController} {
		if err := o.Workloads.Scale(ctx, controllers, 1); err != nil {
			return err
		}
	}
	if err := o.Access.WaitReachable(ctx); err != nil {
		return err
	}
	return o.Access.Repair(ctx)
}

// DeleteShootState deletes the shoot's ShootState and its chunks, if the shoot is still in the hands of this run.
func (o *Operation) DeleteShootState(ctx context.Context) error {
	return o.States.Delete(ctx, client.ObjectKeyFromObject(o.Shoot), o.Epoch, o.Status.StillMine)
}

// spendShootState comes before the backups go: from here on their absence is no loss (see NothingToRestore).
func (o *Operation) spendShootState(ctx context.Context) error {
	return o.States.Spend(ctx, client.ObjectKeyFromObject(o.Shoot), o.Epoch, o.Status.StillMine)
}

// NothingToRestore reports whether the deletion of a shoot has come so far that no machine and no control plane is
// left. The DeleteGraph notes that in the state before it confirms and begins the deletion of the backups, and the
// state goes last; the ReconcileGraph makes room for backups before there is a machine. What somebody else has deleted,
// a cascade or a person, says nothing: backups that are gone while a state is there that nobody has noted it in are a
// loss, and machines may run. entry is the shoot's BackupEntry, state its saved state, each nil for none. What may be
// left in the cloud is its infrastructure and its DNS records; a restore is neither possible nor needed
// (docs/ownership.md#spec-9-3).
func NothingToRestore(shoot *gardencorev1beta1.Shoot, entry *gardencorev1beta1.BackupEntry,
	state *shootstate.State) bool {
	switch {
	case shoot.DeletionTimestamp == nil:
		return false
	case entry == nil:
		return state == nil || state.Spent
	}
	return entry.DeletionTimestamp != nil && entry.Annotations[constants.ConfirmationDeletion] == constants.LabelTrue
}

// ReclaimGraph stands for the restore of a shoot that has nothing to restore: what it may still have in the cloud gets
// objects on this seed, so that the DeleteGraph finds and deletes it. Nothing has to become ready: an extension that
// has taken its object up deletes what it finds, by what is left of the state or by the shoot's tag.
func (o *Operation) ReclaimGraph() *flow.Graph {
	g := &flow.Graph{}
	namespace := g.Add(flow.Task{Name: "Deploying control plane namespace", Run: o.ShootNamespace.Deploy})
	credentials := g.Add(flow.Task{Name: "Deploying cloud provider account secret", Run: o.Credentials.Deploy,
		After: after(namespace)})
	g.Add(flow.Task{Name: "Taking up what is left of the infrastructure", Run: o.Infrastructure.Reclaim,
		After: after(credentials), Skip: o.Workerless()})
	g.Add(flow.Task{Name: "Taking up the internal domain DNS record", Run: o.DNS.ReclaimInternal,
		After: after(credentials)})
	g.Add(flow.Task{Name: "Taking up the external domain DNS record", Run: o.DNS.ReclaimExternal,
		After: after(credentials), Skip: !o.ServesDomain()})
	return g
}
