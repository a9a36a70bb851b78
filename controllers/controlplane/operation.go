// Package controlplane holds the tasks of a shoot's control plane: its namespace, secrets, etcd, API server,
// extension objects, and the graph that orders them (docs/specification/migration.md#spec-2-9). The duties shoot and
// migration compose these tasks into their flows.
//
// It decides nothing about when a flow runs, and it keeps no state between runs but how far a
// take-over has come: whatever else a run needs it reads again.
package controlplane

import (
	"github.com/transplant-sim/transplant/controllers/controlplane/backupentry"
	"github.com/transplant-sim/transplant/controllers/controlplane/backups"
	"github.com/transplant-sim/transplant/controllers/controlplane/contract"
	"github.com/transplant-sim/transplant/controllers/controlplane/dns"
	"github.com/transplant-sim/transplant/controllers/controlplane/etcd"
	"github.com/transplant-sim/transplant/controllers/controlplane/extensions"
	"github.com/transplant-sim/transplant/controllers/controlplane/kubeapiserver"
	"github.com/transplant-sim/transplant/controllers/controlplane/leftovers"
	"github.com/transplant-sim/transplant/controllers/controlplane/namespace"
	"github.com/transplant-sim/transplant/controllers/controlplane/owner"
	"github.com/transplant-sim/transplant/controllers/controlplane/resourcemanager"
	"github.com/transplant-sim/transplant/controllers/controlplane/restart"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootaccess"
	"github.com/transplant-sim/transplant/controllers/controlplane/tunnel"
	"github.com/transplant-sim/transplant/controllers/controlplane/workers"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
)

// Operation is one run of a flow for one shoot on one seed, with the components of the control plane.
type Operation struct {
	*scope.Scope
	Workloads       *workload.Workloads
	Secrets         *secrets.Secrets
	Credentials     *namespace.Credentials
	Objects         *contract.Objects
	Access          *shootaccess.Access
	Entries         *backupentry.Entries
	Ownership       *owner.Ownership
	Extensions      *extensions.Extensions
	Runtimes        *extensions.Runtimes
	Infrastructure  *extensions.Infrastructure
	ControlPlane    *extensions.ControlPlane
	Network         *extensions.Network
	Cluster         *extensions.Cluster
	ShootNamespace  *namespace.Namespace
	DNS             *dns.Records
	Backups         *backups.Backups
	Etcd            *etcd.Etcd
	APIServer       *kubeapiserver.APIServer
	ResourceManager *resourcemanager.ResourceManager
	NodeConfigs     *workers.NodeConfigs
	Workers         *workers.Workers
	References      *namespace.References
	Restart         *restart.Restarts
	Tunnel          *tunnel.Tunnel
	Leftovers       *leftovers.Leftovers
	Status          *run.Status
}

// New composes the components over a scope.
func New(s *scope.Scope) *Operation {
	return &Operation{
		Scope: s, Workloads: &workload.Workloads{Scope: s}, Secrets: &secrets.Secrets{Scope: s},
		Credentials: &namespace.Credentials{Scope: s}, Objects: &contract.Objects{Scope: s}, Access: shootaccess.New(s),
		Entries: &backupentry.Entries{Scope: s}, Ownership: owner.New(s), Extensions: extensions.NewExtensions(s),
		Runtimes: extensions.NewRuntimes(s), Infrastructure: extensions.NewInfrastructure(s),
		ControlPlane: extensions.NewControlPlane(s), Network: extensions.NewNetwork(s),
		Cluster: &extensions.Cluster{Scope: s}, ShootNamespace: namespace.New(s), DNS: dns.New(s), Backups: backups.New(s),
		Etcd: etcd.New(s), APIServer: kubeapiserver.New(s), ResourceManager: resourcemanager.New(s),
		NodeConfigs: workers.NewNodeConfigs(s), Workers: workers.NewWorkers(s), References: &namespace.References{Scope: s},
		Restart: restart.New(s), Leftovers: leftovers.New(s), Tunnel: tunnel.New(s),
		Status: &run.Status{Scope: s},
	}
}
