package contract

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	gardenlet "github.com/transplant-sim/transplant/controllers/controlplane/contract"
	"github.com/transplant-sim/transplant/controllers/controlplane/workers"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// The networks of all shoots, as in scenarios (docs/third-party-extensions.md#the-networks-of-a-shoot).
const podCIDR, serviceCIDR = "100.96.0.0/11", "100.64.0.0/13"

// specs of the kinds that the kit has objects of.
var specs = map[string]func(*universe, extensionsv1alpha1.DefaultSpec, *gardencorev1beta1.Shoot) any{
	extensionsv1alpha1.ExtensionResource: func(u *universe, s extensionsv1alpha1.DefaultSpec,
		_ *gardencorev1beta1.Shoot) any {
		s.ProviderConfig = u.extension().ProviderConfig
		return &extensionsv1alpha1.ExtensionSpec{DefaultSpec: s}
	},
	extensionsv1alpha1.InfrastructureResource: func(u *universe, s extensionsv1alpha1.DefaultSpec,
		shoot *gardencorev1beta1.Shoot) any {
		s.ProviderConfig = shoot.Spec.Provider.InfrastructureConfig
		return &extensionsv1alpha1.InfrastructureSpec{DefaultSpec: s, Region: shoot.Spec.Region, SecretRef: u.credentials()}
	},
	extensionsv1alpha1.NetworkResource: func(_ *universe, s extensionsv1alpha1.DefaultSpec,
		shoot *gardencorev1beta1.Shoot) any {
		s.ProviderConfig = shoot.Spec.Networking.ProviderConfig
		return &extensionsv1alpha1.NetworkSpec{DefaultSpec: s, PodCIDR: podCIDR, ServiceCIDR: serviceCIDR,
			IPFamilies: []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPFamilyIPv4}}
	},
	extensionsv1alpha1.ContainerRuntimeResource: func(_ *universe, s extensionsv1alpha1.DefaultSpec,
		_ *gardencorev1beta1.Shoot) any {
		return &extensionsv1alpha1.ContainerRuntimeSpec{DefaultSpec: s, BinaryPath: "/usr/local/bin",
			WorkerPool: extensionsv1alpha1.ContainerRuntimeWorkerPool{Name: "pool", Selector: metav1.LabelSelector{
				MatchLabels: map[string]string{"worker.gardener.cloud/pool": "pool"}}}}
	},
	extensionsv1alpha1.OperatingSystemConfigResource: operatingSystemConfigSpec,
	extensionsv1alpha1.ControlPlaneResource: func(u *universe, s extensionsv1alpha1.DefaultSpec,
		shoot *gardencorev1beta1.Shoot) any {
		s.ProviderConfig = shoot.Spec.Provider.ControlPlaneConfig
		return &extensionsv1alpha1.ControlPlaneSpec{DefaultSpec: s, Region: shoot.Spec.Region, SecretRef: u.credentials()}
	},
	extensionsv1alpha1.WorkerResource: workerSpec,
	extensionsv1alpha1.BackupBucketResource: func(u *universe, s extensionsv1alpha1.DefaultSpec,
		shoot *gardencorev1beta1.Shoot) any {
		return &extensionsv1alpha1.BackupBucketSpec{DefaultSpec: s, Region: shoot.Spec.Region, SecretRef: u.credentials()}
	},
	extensionsv1alpha1.BackupEntryResource: func(u *universe, s extensionsv1alpha1.DefaultSpec,
		shoot *gardencorev1beta1.Shoot) any {
		spec := &extensionsv1alpha1.BackupEntrySpec{DefaultSpec: s, Region: shoot.Spec.Region, SecretRef: u.credentials()}
		if u.at != nil {
			spec.BucketName = u.at.backupBucket()
		}
		return spec
	},
	extensionsv1alpha1.DNSRecordResource: func(u *universe, s extensionsv1alpha1.DefaultSpec,
		_ *gardencorev1beta1.Shoot) any {
		return &extensionsv1alpha1.DNSRecordSpec{DefaultSpec: s, SecretRef: u.credentials(),
			Name:       "api." + u.shoot + "." + environment.Project + "." + environment.Domain,
			RecordType: extensionsv1alpha1.DNSRecordTypeA, Values: []string{"192.0.2.1"}, TTL: ptr.To[int64](120)}
	},
}

// object under test, with a request.
func (u *universe) object(operation string) (*unstructured.Unstructured, error) {
	shoot, err := u.environment.ShootManifest(landscape.Shoot{Name: u.shoot, Workers: 1})
	if err != nil {
		return nil, err
	}
	base := extensionsv1alpha1.DefaultSpec{Type: u.resource.Type}
	if u.foreign {
		base.Type += "-of-nobody"
	}
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(specs[u.kind.Name](u, base, shoot))
	if err != nil {
		return nil, fmt.Errorf("encode the spec: %w", err)
	}
	if slices.Contains(needsInfrastructure, u.kind.Name) {
		status, err := u.infrastructureStatus()
		if err != nil {
			return nil, err
		}
		if status != nil {
			var content any
			if err := json.Unmarshal(status.Raw, &content); err != nil {
				return nil, fmt.Errorf("read the status of the Infrastructure: %w", err)
			}
			spec["infrastructureProviderStatus"] = content
		}
	}
	object := u.empty()
	object.Object["spec"] = spec
	object.SetAnnotations(map[string]string{constants.GardenerOperation: operation,
		constants.GardenerTimestamp: timestamp()})
	return object, nil
}

// operatingSystemConfigSpec is for new machines. It has the file by which they join a shoot, as in scenarios.
func operatingSystemConfigSpec(u *universe, s extensionsv1alpha1.DefaultSpec, _ *gardencorev1beta1.Shoot) any {
	join := fmt.Sprintf(`{"shoot": %q, "server": "https://api.%s.%s.%s", "token": "contract-kit"}`, u.namespace, u.shoot,
		environment.Project, environment.Domain)
	file := func(path, content string) extensionsv1alpha1.File {
		return extensionsv1alpha1.File{Path: path, Permissions: ptr.To[uint32](0o644),
			Content: extensionsv1alpha1.FileContent{Inline: &extensionsv1alpha1.FileContentInline{Data: content}}}
	}
	return &extensionsv1alpha1.OperatingSystemConfigSpec{DefaultSpec: s,
		Purpose:   extensionsv1alpha1.OperatingSystemConfigPurposeProvision,
		CRIConfig: &extensionsv1alpha1.CRIConfig{Name: extensionsv1alpha1.CRINameContainerD},
		Units: []extensionsv1alpha1.Unit{{Name: "contract-kit.service", Enable: ptr.To(true),
			Content: ptr.To("[Service]\nExecStart=/bin/true\n")}},
		Files: []extensionsv1alpha1.File{file("/etc/contract-kit", "kit\n"), file(workers.NodeFile, join)}}
}

// workerSpec has the pools of the shoot.
func workerSpec(u *universe, s extensionsv1alpha1.DefaultSpec, shoot *gardencorev1beta1.Shoot) any {
	spec := &extensionsv1alpha1.WorkerSpec{DefaultSpec: s, Region: shoot.Spec.Region, SecretRef: u.credentials(),
		SSHPublicKey: []byte("ssh-rsa AAAA contract-kit")}
	for _, worker := range shoot.Spec.Provider.Workers {
		pool := extensionsv1alpha1.WorkerPool{Name: worker.Name, MachineType: worker.Machine.Type,
			Architecture: worker.Machine.Architecture, Minimum: worker.Minimum, Maximum: worker.Maximum,
			MaxSurge: intstr.FromInt32(1), MaxUnavailable: intstr.FromInt32(0), Zones: worker.Zones,
			Labels: map[string]string{constants.WorkerPool: worker.Name, constants.NodeAgentSecretName: agentKey},
			UserDataSecretRef: corev1.SecretKeySelector{Key: userDataKey,
				LocalObjectReference: corev1.LocalObjectReference{Name: userDataName}},
			ProviderConfig: worker.ProviderConfig, KubernetesVersion: &shoot.Spec.Kubernetes.Version,
			NodeAgentSecretName: ptr.To(agentKey)}
		if image := worker.Machine.Image; image != nil {
			pool.MachineImage = extensionsv1alpha1.MachineImage{Name: image.Name, Version: ptr.Deref(image.Version, "")}
		}
		spec.Pools = append(spec.Pools, pool)
	}
	return spec
}

func (u *universe) credentials() corev1.SecretReference {
	return corev1.SecretReference{Namespace: u.namespace, Name: gardenlet.SecretCloudProvider}
}

func seedManifest(name string) *gardencorev1beta1.Seed {
	return &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: gardencorev1beta1.SeedSpec{
		Provider: gardencorev1beta1.SeedProvider{Type: landscape.ProviderType, Region: landscape.Home},
	}}
}

func cloudProfileManifest() *gardencorev1beta1.CloudProfile {
	return &gardencorev1beta1.CloudProfile{ObjectMeta: metav1.ObjectMeta{Name: landscape.CloudProfile},
		Spec: gardencorev1beta1.CloudProfileSpec{Type: landscape.ProviderType,
			Regions: []gardencorev1beta1.Region{{Name: landscape.Home}}}}
}

// withKind writes the kind of an object of the garden into its document.
func withKind(kind string, content []byte) ([]byte, error) {
	object := map[string]any{}
	if err := json.Unmarshal(content, &object); err != nil {
		return nil, fmt.Errorf("read the %s: %w", kind, err)
	}
	object["apiVersion"], object["kind"] = gardencorev1beta1.SchemeGroupVersion.String(), kind
	return json.Marshal(object)
}

func timestamp() string { return time.Now().UTC().Format(time.RFC3339Nano) }

func numberOf(object *unstructured.Unstructured) (int64, error) {
	number, err := strconv.ParseInt(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the resource version: %w", err)
	}
	return number, nil
}
