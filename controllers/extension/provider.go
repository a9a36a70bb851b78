package extension

import (
	"errors"
	"slices"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/transplant-sim/transplant/api/cloud"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/backup"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/dnsrecord"
	"github.com/transplant-sim/transplant/controllers/extension/fence"
	"github.com/transplant-sim/transplant/controllers/extension/infrastructure"
	"github.com/transplant-sim/transplant/controllers/extension/managed"
	"github.com/transplant-sim/transplant/controllers/extension/operatingsystem"
	"github.com/transplant-sim/transplant/controllers/extension/worker"
)

// provider looks after all kinds. Seed reads from the API server, not from a cache; Cloud must come from fence.Guarded.
type provider struct {
	Seed client.Client
	// Known has what watches of the seed have shown.
	Known client.Reader
	Cloud *cloud.Client
	Fence fence.Fence
	Clock clock.PassiveClock
	// Except are the kinds that somebody else reconciles.
	Except []string
}

// AddToManager lets mgr serve all kinds, except those that are left to others.
func (p *provider) AddToManager(mgr manager.Manager, o contract.Options) error {
	systems := o
	systems.Type = operatingsystem.Image
	return errors.Join(
		add(p, mgr, p.infrastructure().Kind(), o),
		add(p, mgr, p.dnsRecord().Kind(), o),
		add(p, mgr, p.backup().Bucket(), o),
		add(p, mgr, p.backup().Entry(), o),
		add(p, mgr, p.managed().ControlPlane(), o),
		add(p, mgr, p.managed().Network(), o),
		add(p, mgr, p.operatingSystem().Kind(), systems),
		add(p, mgr, p.worker().Kind(), o),
		p.addInPlaceProgress(mgr),
		add(p, mgr, p.managed().ContainerRuntime(), o),
		add(p, mgr, p.managed().Extension(), o),
		add(p, mgr, p.infrastructure().Bastion(), o),
		add(p, mgr, p.infrastructure().Exposure(), o),
	)
}

func add[T extensionsv1alpha1.Object](p *provider, mgr manager.Manager, kind contract.Kind[T],
	o contract.Options) error {
	if p.leaves(kind.Name) {
		return nil
	}
	return contract.Add(mgr, kind, o)
}

// addInPlaceProgress follows updates in place of the machines of our own Workers.
func (p *provider) addInPlaceProgress(mgr manager.Manager) error {
	if p.leaves(extensionsv1alpha1.WorkerResource) {
		return nil
	}
	return (&worker.InPlaceProgress{Provider: p.worker()}).AddToManager(mgr)
}

// leaves says whether a kind is left to somebody else.
func (p *provider) leaves(kind string) bool { return slices.Contains(p.Except, kind) }

// The parts of the provider, each with what it needs.

func (p *provider) infrastructure() *infrastructure.Provider {
	return &infrastructure.Provider{Seed: p.Seed, Cloud: p.Cloud, Fence: p.Fence}
}

func (p *provider) dnsRecord() *dnsrecord.Provider {
	return &dnsrecord.Provider{Seed: p.Seed, Cloud: p.Cloud, Fence: p.Fence, Clock: p.Clock}
}

func (p *provider) backup() *backup.Provider {
	return &backup.Provider{Seed: p.Seed, Cloud: p.Cloud, Fence: p.Fence}
}

func (p *provider) managed() *managed.Provider {
	return &managed.Provider{Seed: p.Seed, Clock: p.Clock}
}

func (p *provider) operatingSystem() *operatingsystem.Provider {
	return &operatingsystem.Provider{Seed: p.Seed}
}

func (p *provider) worker() *worker.Provider {
	return &worker.Provider{Seed: p.Seed, Cloud: p.Cloud, Clock: p.Clock}
}
