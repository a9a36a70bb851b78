package worker

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"

	"github.com/Masterminds/semver/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/infrastructure"
)

// zonePool is the part of a worker pool in one zone: one MachineDeployment with a MachineClass of its own. Its names
// follow from spec alone, so that they are the same on every seed (docs/specification/extensions.md#spec-3-7).
type zonePool struct {
	name, class    string
	zone           string
	pool           extensionsv1alpha1.WorkerPool
	minimum        int32
	maximum        int32
	maxSurge       intstr.IntOrString
	maxUnavailable intstr.IntOrString
	machine        cloud.Machine
	// inPlace stands for everything to which the machines are updated in place; empty for a pool that rolls
	// (docs/specification/versions.md#spec-4-9).
	inPlace string
}

// zonePools spreads the pools of a Worker over their zones.
func zonePools(worker *extensionsv1alpha1.Worker, given *infrastructure.Status,
	shoot *gardencorev1beta1.Shoot) ([]zonePool, error) {
	var all []zonePool
	for _, pool := range worker.Spec.Pools {
		zones := pool.Zones
		if len(zones) == 0 {
			zones = []string{infrastructure.DefaultZone(worker.Spec.Region)}
		}
		inPlace, err := inPlaceOf(pool, shoot)
		if err != nil {
			return nil, err
		}
		hash := poolHash(pool, inPlace)
		for i, zone := range zones {
			part, of := int32(i), int32(len(zones))
			name := fmt.Sprintf("%s-%s-z%d", worker.Namespace, pool.Name, i+1)
			subnet := subnetOf(given, zone)
			if subnet == "" {
				err := fmt.Errorf("place pool %q: the infrastructure has no subnet in zone %q", pool.Name, zone)
				return nil, contract.WithCodes(err, gardencorev1beta1.ErrorConfigurationProblem)
			}
			all = append(all, zonePool{
				name: name, class: name + "-" + hash, zone: zone, pool: pool, inPlace: inPlace,
				minimum: share(part, pool.Minimum, of), maximum: share(part, pool.Maximum, of),
				maxSurge: shareOf(part, pool.MaxSurge, of), maxUnavailable: shareOf(part, pool.MaxUnavailable, of),
				machine: cloud.Machine{
					Type: pool.MachineType, Zone: zone, Image: pool.MachineImage.Name + "-" + pool.MachineImage.Version,
					SubnetID: subnet, SecurityGroupIDs: []string{given.SecurityGroupID},
					KeyPairName: given.KeyPairName,
				},
			})
		}
	}
	return all, nil
}

func subnetOf(given *infrastructure.Status, zone string) string {
	for _, subnet := range given.Subnets {
		if subnet.Zone == zone {
			return subnet.ID
		}
	}
	return ""
}

// poolHash changes when the machines of a pool must be replaced, and is the same on every seed
// (docs/specification/versions.md#spec-4-8). The gardenlet says so in the name of the node agent's Secret; without it,
// what is known of the pool here decides. What its machines are updated to in place makes another class as well, but no
// other machines.
func poolHash(pool extensionsv1alpha1.WorkerPool, inPlace string) string {
	key := ptr.Deref(pool.NodeAgentSecretName, "")
	if key == "" {
		parts := []string{minor(ptr.Deref(pool.KubernetesVersion, "")), pool.MachineType, pool.MachineImage.Name,
			pool.MachineImage.Version}
		if pool.Volume != nil {
			parts = append(parts, ptr.Deref(pool.Volume.Type, ""), pool.Volume.Size)
		}
		key = strings.Join(parts, "\x00")
	}
	if pool.Volume != nil && pool.Volume.Encrypted != nil {
		key += fmt.Sprintf("\x00encrypted=%t", *pool.Volume.Encrypted)
	}
	if inPlace != "" {
		key += "\x00inPlace=" + inPlace
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])[:5]
}

func minor(version string) string {
	parsed, err := semver.NewVersion(version)
	if err != nil {
		return version
	}
	return fmt.Sprintf("%d.%d", parsed.Major(), parsed.Minor())
}

// share is what falls to one part when a number is split as evenly as it goes, the first parts getting the rest.
func share(part, number, of int32) int32 {
	if part < number%of {
		return number/of + 1
	}
	return number / of
}

// shareOf splits a number; a percentage is the same for every part.
func shareOf(part int32, value intstr.IntOrString, of int32) intstr.IntOrString {
	if value.Type == intstr.String {
		return value
	}
	return intstr.FromInt32(share(part, value.IntVal, of))
}

// deploymentSpec is the MachineDeployment of a zone's part of a pool. Only the class makes machines be replaced; the
// rest is taken over by those that run.
func (z zonePool) deploymentSpec(replicas int32) machinev1alpha1.MachineDeploymentSpec {
	labels := map[string]string{labelName: z.name}
	return machinev1alpha1.MachineDeploymentSpec{
		Replicas: replicas,
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Strategy: z.strategy(),
		Template: machinev1alpha1.MachineTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: machinev1alpha1.MachineSpec{
				Class: machinev1alpha1.ClassSpec{APIGroup: machinev1alpha1.GroupName, Kind: machinev1alpha1.MachineClassKind,
					Name: z.class},
				NodeTemplateSpec: machinev1alpha1.NodeTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: z.nodeLabels(), Annotations: z.pool.Annotations},
					Spec:       corev1.NodeSpec{Taints: z.pool.Taints},
				},
				MachineConfiguration: z.machineConfiguration(),
			},
		},
	}
}

// labelName is the label by which a MachineDeployment selects its machines.
const labelName = "name"

func (z zonePool) nodeLabels() map[string]string {
	labels := maps.Clone(z.pool.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[constants.WorkerPool] = z.pool.Name
	labels[corev1.LabelTopologyZone] = z.zone
	labels[corev1.LabelInstanceTypeStable] = z.pool.MachineType
	return labels
}

func (z zonePool) strategy() machinev1alpha1.MachineDeploymentStrategy {
	update := machinev1alpha1.UpdateConfiguration{MaxSurge: &z.maxSurge, MaxUnavailable: &z.maxUnavailable}
	inPlace := map[gardencorev1beta1.MachineUpdateStrategy]machinev1alpha1.OrchestrationType{
		gardencorev1beta1.AutoInPlaceUpdate:   machinev1alpha1.OrchestrationTypeAuto,
		gardencorev1beta1.ManualInPlaceUpdate: machinev1alpha1.OrchestrationTypeManual,
	}
	if orchestration, is := inPlace[ptr.Deref(z.pool.UpdateStrategy, "")]; is {
		return machinev1alpha1.MachineDeploymentStrategy{
			Type: machinev1alpha1.InPlaceUpdateMachineDeploymentStrategyType,
			InPlaceUpdate: &machinev1alpha1.InPlaceUpdateMachineDeployment{
				UpdateConfiguration: update, OrchestrationType: orchestration,
			},
		}
	}
	return machinev1alpha1.MachineDeploymentStrategy{
		Type:          machinev1alpha1.RollingUpdateMachineDeploymentStrategyType,
		RollingUpdate: &machinev1alpha1.RollingUpdateMachineDeployment{UpdateConfiguration: update},
	}
}

// machineConfiguration is how the machine controller treats the pool's machines. Those that are updated in place are
// kept when they are unhealthy, unless the pool says otherwise: their users mend them (docs/specification/README.md#s2,
// docs/specification/versions.md#spec-4-9).
func (z zonePool) machineConfiguration() *machinev1alpha1.MachineConfiguration {
	settings := ptr.Deref(z.pool.MachineControllerManagerSettings, gardencorev1beta1.MachineControllerManagerSettings{})
	if settings.DisableHealthTimeout == nil && z.inPlace != "" {
		settings.DisableHealthTimeout = ptr.To(true)
	}
	configuration := &machinev1alpha1.MachineConfiguration{
		MachineDrainTimeout:         settings.MachineDrainTimeout,
		MachineHealthTimeout:        settings.MachineHealthTimeout,
		MachineCreationTimeout:      settings.MachineCreationTimeout,
		MachineInPlaceUpdateTimeout: settings.MachineInPlaceUpdateTimeout,
		MachinePreserveTimeout:      settings.MachinePreserveTimeout,
		DisableHealthTimeout:        settings.DisableHealthTimeout,
		MaxEvictRetries:             settings.MaxEvictRetries,
	}
	if len(settings.NodeConditions) > 0 {
		configuration.NodeConditions = ptr.To(strings.Join(settings.NodeConditions, ","))
	}
	return configuration
}

// replicas keeps the number of machines that somebody else may have chosen, within the pool's bounds.
func (z zonePool) replicas(current *int32, hibernated bool) int32 {
	switch {
	case hibernated:
		return 0
	case ptr.Deref(current, 0) == 0:
		return z.minimum
	}
	return min(max(*current, z.minimum), max(z.maximum, z.minimum))
}

func (z zonePool) architecture() *string {
	return ptr.To(cmp.Or(ptr.Deref(z.pool.Architecture, ""), "amd64"))
}
