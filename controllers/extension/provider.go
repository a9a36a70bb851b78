package extension

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/transplant-sim/transplant/api/cloud"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
)

// Type is the provider type whose objects the reference provider looks after.
const Type = "transplant"

// configVersion is the API version of the provider's own documents: configurations, states and statuses.
const configVersion = "transplant.provider.extensions.gardener.cloud/v1alpha1"

// Provider is what the actuators of all kinds share. Seed reads from the API server, not from a cache; Cloud must come
// from Guarded.
type Provider struct {
	Seed  client.Client
	Cloud *cloud.Client
	Fence Fence
	Clock clock.PassiveClock
	// Except are the kinds that somebody else reconciles.
	Except []string
}

// AddToManager lets mgr serve all kinds, except those that are left to others.
func (p *Provider) AddToManager(mgr manager.Manager, o contract.Options) error {
	return errors.Join(
		add(p, mgr, infrastructureKind(), p.infrastructure(), o),
		add(p, mgr, dnsRecordKind(), p.dnsRecord(), o),
		add(p, mgr, backupBucketKind(), p.backupBucket(), o),
		add(p, mgr, backupEntryKind(), p.backupEntry(), o),
		add(p, mgr, controlPlaneKind(), p.controlPlane(), o),
		add(p, mgr, networkKind(), p.network(), o),
		add(p, mgr, operatingSystemConfigKind(), p.operatingSystemConfig(), o),
		add(p, mgr, workerKind(), p.worker(), o),
		p.addInPlaceProgress(mgr),
		add(p, mgr, containerRuntimeKind(), p.containerRuntime(), o),
		add(p, mgr, extensionKind(), p.extension(), o),
		add(p, mgr, bastionKind(), p.bastion(), o),
		add(p, mgr, exposureKind(), p.exposure(), o),
	)
}

func add[T extensionsv1alpha1.Object](p *Provider, mgr manager.Manager, kind contract.Kind[T],
	actuator contract.Actuator[T], o contract.Options) error {
	if p.leaves(kind.Name) {
		return nil
	}
	return contract.Add(mgr, kind, actuator, o)
}

// addInPlaceProgress follows updates in place of the machines of our own Workers.
func (p *Provider) addInPlaceProgress(mgr manager.Manager) error {
	if p.leaves(extensionsv1alpha1.WorkerResource) {
		return nil
	}
	return (&inPlaceProgress{provider: p}).addToManager(mgr)
}

// leaves says whether a kind is left to somebody else.
func (p *Provider) leaves(kind string) bool { return slices.Contains(p.Except, kind) }

// encode makes a raw document; the provider's own types always marshal.
func encode(document any) *runtime.RawExtension {
	data, err := json.Marshal(document)
	if err != nil {
		panic(fmt.Sprintf("extension: marshal %T: %v", document, err))
	}
	return &runtime.RawExtension{Raw: data}
}

// decode reads a raw document into a value of the provider's own types; an absent one leaves the value as it is.
func decode(raw *runtime.RawExtension, into any) error {
	if raw == nil || len(raw.Raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw.Raw, into); err != nil {
		return fmt.Errorf("decode %T: %w", into, err)
	}
	return nil
}
