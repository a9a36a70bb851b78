package operatingsystem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
)

// ExtensionConfig is the providerConfig of an Extension of this type in a Shoot: the mirrors of registries that its new
// nodes are to use.
type ExtensionConfig struct {
	Mirrors []Mirror `json:"mirrors,omitempty"`
}

// Mirror is what an upstream registry is mirrored by, as the extension registry-cache has it.
type Mirror struct {
	Upstream string       `json:"upstream"` // e.g. "docker.io"
	Hosts    []MirrorHost `json:"hosts"`    // tried in this order
}

// MirrorHost is one mirror.
type MirrorHost struct {
	Host         string                                  `json:"host"` // with its scheme
	Capabilities []extensionsv1alpha1.RegistryCapability `json:"capabilities,omitempty"`
}

// upstreamServers are the servers of upstreams whose address is not their name.
var upstreamServers = map[string]string{"docker.io": "https://registry-1.docker.io"}

// mirrors answers what an OperatingSystemConfig becomes as it is written: it adds the mirrors that the shoot asks for
// to the registries of containerd, by the contract that registry-cache uses
// (docs/specification/nodes-and-seeds.md#spec-7-3). Whatever else is in the object stays.
type mirrors struct {
	seed client.Reader
}

var _ admission.Handler = &mirrors{}

// Handle is the webhook.
func (m *mirrors) Handle(ctx context.Context, request admission.Request) admission.Response {
	object := map[string]any{}
	config := &extensionsv1alpha1.OperatingSystemConfig{}
	if err := errors.Join(json.Unmarshal(request.Object.Raw, config),
		json.Unmarshal(request.Object.Raw, &object)); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	cri := config.Spec.CRIConfig
	if config.Spec.Purpose != extensionsv1alpha1.OperatingSystemConfigPurposeReconcile ||
		config.DeletionTimestamp != nil ||
		cri == nil || cri.Containerd == nil {
		return admission.Allowed("")
	}
	wanted, err := m.wanted(ctx, request.Namespace)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	registries := withMirrors(cri.Containerd.Registries, wanted)
	if len(registries) == 0 {
		return admission.Allowed("")
	}
	table(object, "spec", "criConfig", "containerd")["registries"] = registries
	changed, err := json.Marshal(object)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, changed)
}

// wanted are the mirrors that the shoot of a namespace asks for.
func (m *mirrors) wanted(ctx context.Context, namespace string) ([]Mirror, error) {
	cluster, err := contract.GetCluster(ctx, m.seed, namespace)
	if err != nil {
		return nil, err
	}
	for _, extension := range cluster.Shoot.Spec.Extensions {
		if extension.Type != reference.Type || ptr.Deref(extension.Disabled, false) {
			continue
		}
		config := ExtensionConfig{}
		if err := reference.Decode(extension.ProviderConfig, &config); err != nil {
			return nil, fmt.Errorf("read the mirrors of shoot %q: %w", cluster.Shoot.Name, err)
		}
		return config.Mirrors, nil
	}
	return nil, nil
}

// withMirrors puts the mirrors beside registries of other upstreams, and in the place of those of the same.
func withMirrors(registries []extensionsv1alpha1.RegistryConfig, mirrors []Mirror) []extensionsv1alpha1.RegistryConfig {
	own := map[string]bool{}
	var added []extensionsv1alpha1.RegistryConfig
	for _, mirror := range mirrors {
		own[mirror.Upstream] = true
		registry := extensionsv1alpha1.RegistryConfig{Upstream: mirror.Upstream}
		if server, known := upstreamServers[mirror.Upstream]; known {
			registry.Server = &server
		}
		for _, host := range mirror.Hosts {
			registry.Hosts = append(registry.Hosts, extensionsv1alpha1.RegistryHost{URL: host.Host,
				Capabilities: host.Capabilities})
		}
		added = append(added, registry)
	}
	var all []extensionsv1alpha1.RegistryConfig
	for _, registry := range registries {
		if !own[registry.Upstream] {
			all = append(all, registry)
		}
	}
	return append(all, added...)
}
