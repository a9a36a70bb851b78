package extension

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/transplant-sim/transplant/api/cloud"
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
}

// AddToManager lets mgr serve all kinds.
func (p *Provider) AddToManager(mgr manager.Manager, o contract.Options) error {
	return errors.Join(
		contract.Add(mgr, infrastructureKind(), p.infrastructure(), o),
		contract.Add(mgr, dnsRecordKind(), p.dnsRecord(), o),
		contract.Add(mgr, backupBucketKind(), p.backupBucket(), o),
		contract.Add(mgr, backupEntryKind(), p.backupEntry(), o),
		contract.Add(mgr, controlPlaneKind(), p.controlPlane(), o),
		contract.Add(mgr, networkKind(), p.network(), o),
		contract.Add(mgr, operatingSystemConfigKind(), p.operatingSystemConfig(), o),
		contract.Add(mgr, workerKind(), p.worker(), o),
		(&inPlaceProgress{provider: p}).addToManager(mgr),
		contract.Add(mgr, containerRuntimeKind(), p.containerRuntime(), o),
		contract.Add(mgr, extensionKind(), p.extension(), o),
		contract.Add(mgr, bastionKind(), p.bastion(), o),
		contract.Add(mgr, exposureKind(), p.exposure(), o),
	)
}

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
