package controlplane

import (
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/extensions"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/flow"
)

// ReconcileGraph is the graph that creates, reconciles and restores a control plane
// (docs/specification/migration.md#spec-2-9). The three differ only in what the extension objects are asked for, and in
// the tasks that come with a restore. Before any of them the run must hold an ownership epoch, see owner.Ownership.
func (o *Operation) ReconcileGraph() *flow.Graph {
	g := &flow.Graph{}
	awake, workers, restoring := o.Awake(), !o.Workerless(), o.Restoring()
	real := lifecycle.RealNodes(o.Shoot)

	namespace := g.Add(flow.Task{Name: "Deploying control plane namespace", Run: o.ShootNamespace.Deploy})
	credentials := g.Add(flow.Task{Name: "Deploying cloud provider account secret", Run: o.Credentials.Deploy,
		After: after(namespace)})
	services := g.Add(flow.Task{Name: "Deploying services of the control plane", Run: o.APIServer.DeployServices,
		After: after(namespace)})
	secrets := g.Add(flow.Task{Name: "Initializing secrets management", Run: o.Secrets.Initialize, After: after(services)})
	referenced := g.Add(flow.Task{Name: "Deploying referenced resources", Run: o.References.Deploy,
		After: after(namespace)})
	infrastructure := o.addInfrastructure(g, workers, after(credentials, secrets))
	early := o.addExtensionsAt(g, gardencorev1beta1.BeforeKubeAPIServer, o.Hibernated(),
		after(credentials, secrets, referenced, infrastructure))
	dns := g.Add(flow.Task{Name: "Deploying internal domain DNS record", Run: o.DNS.DeployInternal,
		After: after(credentials, secrets, referenced), Skip: !awake})
	g.Add(flow.Task{Name: "Deploying external domain DNS record", Run: o.DNS.DeployExternal,
		After: after(credentials, secrets, referenced), Skip: !awake || !o.ServesDomain()})
	backup := o.addBackup(g, restoring, after(credentials, secrets))
	etcd := g.Add(flow.Task{Name: "Deploying main etcd", Run: o.Etcd.Deploy, After: after(backup, secrets, credentials)})
	etcdReady := g.Add(flow.Task{Name: "Waiting until main etcd reports readiness", Run: o.Etcd.Wait, After: after(etcd),
		Skip: !awake})
	g.Add(flow.Task{Name: "Destroying source backup entry", Run: o.Backups.DestroySource, After: after(etcdReady),
		Skip: !restoring})

	api := g.Add(flow.Task{Name: "Deploying Kubernetes API server", Run: o.APIServer.Deploy,
		After: after(etcdReady, infrastructure, early)})
	apiReady := g.Add(flow.Task{Name: "Waiting until Kubernetes API server rolled out",
		Run: o.Workloads.WaitFor(workload.KubeAPIServer), After: after(api), Skip: !awake})
	exposed := g.Add(flow.Task{Name: "Deploying Kubernetes API server service SNI settings", Run: o.APIServer.Expose,
		After: after(apiReady)})
	published := g.Add(flow.Task{Name: "Publishing the shoot's certificate authority", Run: o.Access.Publish,
		After: after(secrets)})
	reachable := g.Add(flow.Task{Name: "Initializing connection to Shoot", Run: o.Access.WaitReachable,
		After: after(exposed, dns, published), Skip: !awake})
	granted := g.Add(flow.Task{Name: "Granting access to Shoot", Run: o.Access.Grant, After: after(reachable),
		Skip: !awake})
	controllers := g.Add(flow.Task{Name: "Deploying kube-controller-manager and kube-scheduler",
		Run: o.APIServer.DeployControllers, After: after(apiReady)})

	g.Add(flow.Task{Name: "Deploying vpn-seed-server", Run: o.Tunnel.Deploy, After: after(secrets), Skip: !real})
	// One more program that starts must not take the processor from the way to the API server: users wait for that.
	resources := g.Add(flow.Task{Name: "Deploying gardener-resource-manager", Run: o.ResourceManager.Deploy,
		After: after(exposed)})
	// Nobody waits for it but the flow: extensions that need it wait for what it says of their ManagedResources.
	g.Add(flow.Task{Name: "Waiting until gardener-resource-manager rolled out",
		Run:   o.Workloads.WaitFor(workload.ResourceManager),
		After: after(resources), Skip: !awake})

	o.addExtensions(g, workers, awake, after(controllers, granted, infrastructure, resources))
	return g
}

// addRestarts adds the tasks of what the shoot's annotation asks to restart. The pods of the control plane are
// restarted as they are deployed, before anything else needs them.
func (o *Operation) addRestarts(g *flow.Graph, controlPlane, addons []flow.TaskID) {
	g.Add(flow.Task{
		Name: "Waiting until control plane pods have restarted", Run: o.Restart.WaitControlPlane, After: controlPlane,
		Skip: !o.Restarts(constants.ShootTaskRestartControlPlanePods),
	})
	g.Add(flow.Task{Name: "Restarting core addons", Run: o.Restart.RestartCoreAddons, After: addons,
		Skip: !o.Restarts(constants.ShootTaskRestartCoreAddons)})
}

// moments are how tasks say when in a flow their Extensions are dealt with.
var moments = map[extensions.Moment]string{
	gardencorev1beta1.BeforeKubeAPIServer: "before kube-apiserver",
	gardencorev1beta1.AfterKubeAPIServer:  "after kube-apiserver",
	gardencorev1beta1.AfterWorker:         "after workers",
}

// addExtensionsAt adds the tasks of the Extensions that are reconciled at a moment
// (docs/specification/api.md#spec-1-8).
func (o *Operation) addExtensionsAt(g *flow.Graph, moment extensions.Moment, skip bool,
	before []flow.TaskID) flow.TaskID {
	deployed := g.Add(flow.Task{Name: flow.TaskID("Deploying extension resources " + moments[moment]),
		Run: o.Extensions.Deploy(moment), After: before, Skip: skip})
	return g.Add(flow.Task{Name: flow.TaskID("Waiting until extension resources handled " +
		moments[moment] + " are ready"), Run: o.Extensions.Wait(moment), After: after(deployed), Skip: skip})
}

// addInfrastructure adds the tasks of the Infrastructure.
func (o *Operation) addInfrastructure(g *flow.Graph, workers bool, before []flow.TaskID) flow.TaskID {
	deployed := g.Add(flow.Task{Name: "Deploying Shoot infrastructure", Run: o.Infrastructure.Deploy, After: before,
		Skip: !workers})
	return g.Add(flow.Task{Name: "Waiting until Shoot infrastructure has been reconciled", Run: o.Infrastructure.Wait,
		After: after(deployed), Skip: !workers || o.SkipReadiness()})
}

// addBackup adds the tasks that make the shoot's backups available to its etcd; while restoring they are copied from
// the bucket of the seed the shoot comes from (docs/specification/migration.md#spec-2-7).
func (o *Operation) addBackup(g *flow.Graph, restoring bool, before []flow.TaskID) flow.TaskID {
	source := g.Add(flow.Task{Name: "Deploying source backup entry", Run: o.Backups.DeploySource, After: before,
		Skip: !restoring})
	entry := g.Add(flow.Task{Name: "Deploying BackupEntry for ETCD data", Run: o.Backups.DeployEntry,
		After: after(source)})
	ready := g.Add(flow.Task{Name: "Waiting until the BackupEntry has been reconciled", Run: o.Backups.WaitEntry,
		After: after(entry)})
	return g.Add(flow.Task{Name: "Copying etcd backups to new seed's backup bucket", Run: o.Backups.Copy,
		After: after(ready), Skip: !restoring})
}

// addExtensions adds the tasks of the extension objects that need the shoot's API server.
func (o *Operation) addExtensions(g *flow.Graph, workers, awake bool, before []flow.TaskID) {
	controlPlane := g.Add(flow.Task{Name: "Deploying shoot control plane components", Run: o.ControlPlane.Deploy,
		After: before, Skip: !workers})
	controlPlaneReady := g.Add(flow.Task{Name: "Waiting until shoot control plane has been reconciled",
		Run: o.ControlPlane.Wait, After: after(controlPlane), Skip: !workers})
	extensions := o.addExtensionsAt(g, gardencorev1beta1.AfterKubeAPIServer, false, before)
	osc := g.Add(flow.Task{Name: "Deploying OperatingSystemConfig resources", Run: o.NodeConfigs.Deploy,
		After: before, Skip: !workers})
	oscReady := g.Add(flow.Task{Name: "Waiting until OperatingSystemConfig resources are ready",
		Run: o.NodeConfigs.Wait, After: after(osc), Skip: !workers})
	agents := g.Add(flow.Task{Name: "Deploying the configuration of node agents", Run: o.NodeConfigs.DeployAgentSecrets,
		After: after(oscReady), Skip: !workers || !awake})
	network := g.Add(flow.Task{Name: "Deploying shoot network plugin", Run: o.Network.Deploy, After: before,
		Skip: !workers})
	networkReady := g.Add(flow.Task{Name: "Waiting until shoot network plugin has been reconciled",
		Run: o.Network.Wait, After: after(network), Skip: !workers})
	// Nobody takes them on or off a shoot that sleeps: it gets them as it wakes.
	g.Add(flow.Task{Name: "Deploying system components on nodes", Run: o.ResourceManager.DeployNodeComponents,
		After: before,
		Skip:  !workers || !awake})
	machines := g.Add(flow.Task{Name: "Deploying machine-controller-manager", Run: o.Workers.DeployMachineController,
		After: before, Skip: !workers})
	o.addRestarts(g, append(after(machines), before...), append(after(networkReady, controlPlaneReady), before...))
	noted := g.Add(flow.Task{Name: "Noting worker pools to be updated in place", Run: o.Workers.NotePendingInPlace,
		After: before,
		Skip:  !workers})
	worker := g.Add(flow.Task{Name: "Configuring worker pools", Run: o.Workers.Deploy,
		After: after(machines, oscReady, agents, networkReady, noted), Skip: !workers})
	workerReady := g.Add(flow.Task{Name: "Waiting until worker pools have been reconciled", Run: o.Workers.Wait,
		After: after(worker), Skip: !workers})
	g.Add(flow.Task{Name: "Waiting until the Kubernetes API server can connect to the Shoot workers", Run: o.Tunnel.Wait,
		After: after(workerReady),
		Skip:  !lifecycle.RealNodes(o.Shoot) || o.Hibernated() || o.SkipReadiness()})
	late := o.addExtensionsAt(g, gardencorev1beta1.AfterWorker, false,
		after(append([]flow.TaskID{workerReady}, before...)...))
	g.Add(flow.Task{Name: "Noting worker pools that were updated in place", Run: o.Workers.SettlePendingInPlace,
		After: after(workerReady), Skip: !workers || o.SkipReadiness()})
	stale := g.Add(flow.Task{Name: "Deleting stale OperatingSystemConfig resources", Run: o.NodeConfigs.DeleteStale,
		After: after(workerReady), Skip: !workers || !awake || o.SkipReadiness()})
	runtimes := g.Add(flow.Task{Name: "Deploying container runtime resources", Run: o.Runtimes.Deploy,
		After: before, Skip: !workers})
	runtimesReady := g.Add(flow.Task{Name: "Waiting until container runtime resources are ready",
		Run: o.Runtimes.Wait, After: after(runtimes), Skip: !workers})
	// While the shoot sleeps nobody takes an extension's objects off it: it keeps what it does not want until it wakes.
	noExtensions := g.Add(flow.Task{Name: "Deleting stale extensions", Run: o.Extensions.DeleteStale,
		After: after(extensions), Skip: !awake})
	// What the shoot no longer refers to goes after whoever may have needed it.
	g.Add(flow.Task{Name: "Deleting resources that are no longer referenced", Run: o.References.DeleteStale,
		After: after(noExtensions, late, controlPlaneReady, networkReady, runtimesReady), Skip: !awake})
	// A runtime goes after the nodes that use it.
	noRuntimes := g.Add(flow.Task{Name: "Deleting stale container runtime resources", Run: o.Runtimes.DeleteStale,
		After: after(runtimesReady, workerReady), Skip: !workers || !awake || o.SkipReadiness()})
	asleep := g.Add(flow.Task{Name: "Hibernating control plane", Run: o.Hibernate,
		After: after(workerReady, stale, controlPlaneReady, noRuntimes, noExtensions, late), Skip: !o.Hibernated()})
	g.Add(flow.Task{Name: "Hibernating extension resources before kube-apiserver", Run: o.Extensions.DeployAsleep,
		After: after(asleep), Skip: !o.Hibernated()})
}

func after(tasks ...flow.TaskID) []flow.TaskID { return tasks }
