package validation

import (
	"fmt"
	"maps"
	"slices"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/sidechange"
)

// kubernetes checks the settings of the Kubernetes components. Versions are package versionrules'.
func kubernetes(shoot *gardencorev1beta1.Shoot) field.ErrorList {
	wanted, path := &shoot.Spec.Kubernetes, field.NewPath("spec", "kubernetes")
	var errs field.ErrorList
	if wanted.Kubelet != nil {
		errs = append(errs, kubelet(path.Child("kubelet"), wanted.Kubelet)...)
	}
	version, err := semver.NewVersion(wanted.Version)
	if err != nil {
		return errs // refused as a version
	}
	errs = append(errs, removedFields(shoot, version)...)
	errs = append(errs, componentGates(path, wanted, version)...)
	if wanted.KubeAPIServer != nil {
		errs = append(errs, admissionPlugins(path.Child("kubeAPIServer", "admissionPlugins"),
			wanted.KubeAPIServer.AdmissionPlugins, version)...)
	}
	return errs
}

func componentGates(path *field.Path, wanted *gardencorev1beta1.Kubernetes, version *semver.Version) field.ErrorList {
	var errs field.ErrorList
	component := func(name string, config gardencorev1beta1.KubernetesConfig) {
		errs = append(errs, featureGates(path.Child(name, "featureGates"), config.FeatureGates, version)...)
	}
	if c := wanted.KubeAPIServer; c != nil {
		component("kubeAPIServer", c.KubernetesConfig)
	}
	if c := wanted.KubeControllerManager; c != nil {
		component("kubeControllerManager", c.KubernetesConfig)
	}
	if c := wanted.KubeScheduler; c != nil {
		component("kubeScheduler", c.KubernetesConfig)
	}
	if c := wanted.KubeProxy; c != nil {
		component("kubeProxy", c.KubernetesConfig)
	}
	if c := wanted.Kubelet; c != nil {
		component("kubelet", c.KubernetesConfig)
	}
	return errs
}

// featureGates wants gates that the version knows: the next maintenance would take others out
// (docs/specification/versions.md#spec-4-5).
func featureGates(path *field.Path, gates map[string]bool, version *semver.Version) field.ErrorList {
	var errs field.ErrorList
	for _, gate := range slices.Sorted(maps.Keys(gates)) {
		if !sidechange.FeatureGateSupported(gate, version) {
			errs = append(errs, field.Forbidden(path.Key(gate),
				fmt.Sprintf("Kubernetes %s does not know this feature gate", version.Original())))
		}
	}
	return errs
}

func admissionPlugins(path *field.Path, plugins []gardencorev1beta1.AdmissionPlugin,
	version *semver.Version) field.ErrorList {
	var errs field.ErrorList
	names := seen{}
	for i, plugin := range plugins {
		at := path.Index(i).Child("name")
		errs = append(errs, names.once(at, plugin.Name)...)
		if !sidechange.AdmissionPluginSupported(plugin.Name, version) {
			errs = append(errs, field.Forbidden(at,
				fmt.Sprintf("Kubernetes %s does not know the admission plugin %q", version.Original(), plugin.Name)))
		}
	}
	return errs
}

// removedField is a field that a minor version of Kubernetes no longer has. A maintenance that gets there takes it out.
// A SecretBinding is none of them: where a maintenance finds none to migrate, the shoot keeps its reference.
type removedField struct {
	minor   uint64
	set     func(*gardencorev1beta1.ShootSpec) []*field.Path
	instead string
}

func removedFieldsList() []removedField {
	spec := field.NewPath("spec")
	kubernetes := spec.Child("kubernetes")
	when := func(set bool, path *field.Path) []*field.Path {
		if set {
			return []*field.Path{path}
		}
		return nil
	}
	type shootSpec = gardencorev1beta1.ShootSpec
	return []removedField{
		{33, func(s *shootSpec) []*field.Path {
			c := ptr.Deref(s.Kubernetes.KubeControllerManager, gardencorev1beta1.KubeControllerManagerConfig{})
			return when(c.PodEvictionTimeout != nil, kubernetes.Child("kubeControllerManager", "podEvictionTimeout"))
		}, "defaultNotReadyTolerationSeconds and defaultUnreachableTolerationSeconds of kubeAPIServer"},
		{33, func(s *shootSpec) []*field.Path {
			c := ptr.Deref(s.Kubernetes.ClusterAutoscaler, gardencorev1beta1.ClusterAutoscaler{})
			return when(c.MaxEmptyBulkDelete != nil, kubernetes.Child("clusterAutoscaler", "maxEmptyBulkDelete"))
		}, "maxScaleDownParallelism"},
		{35, func(s *shootSpec) []*field.Path {
			c := ptr.Deref(s.Kubernetes.KubeAPIServer, gardencorev1beta1.KubeAPIServerConfig{})
			return when(c.EnableAnonymousAuthentication != nil,
				kubernetes.Child("kubeAPIServer", "enableAnonymousAuthentication"))
		}, "structuredAuthentication"},
		{35, func(s *shootSpec) []*field.Path {
			c := ptr.Deref(s.Kubernetes.KubeScheduler, gardencorev1beta1.KubeSchedulerConfig{})
			return when(c.KubeMaxPDVols != nil, kubernetes.Child("kubeScheduler", "kubeMaxPDVols"))
		}, ""},
		{35, func(s *shootSpec) []*field.Path {
			c := ptr.Deref(s.Kubernetes.KubeAPIServer, gardencorev1beta1.KubeAPIServerConfig{})
			return when(c.WatchCacheSizes != nil && c.WatchCacheSizes.Default != nil,
				kubernetes.Child("kubeAPIServer", "watchCacheSizes", "default"))
		}, ""},
		{35, func(s *shootSpec) []*field.Path { return when(s.Addons != nil, spec.Child("addons")) }, ""},
		{35, dnsSecretNames, "credentialsRef"},
	}
}

func dnsSecretNames(spec *gardencorev1beta1.ShootSpec) []*field.Path {
	var set []*field.Path
	for i, provider := range ptr.Deref(spec.DNS, gardencorev1beta1.DNS{}).Providers {
		if provider.SecretName != nil {
			set = append(set, field.NewPath("spec", "dns", "providers").Index(i).Child("secretName"))
		}
	}
	return set
}

func removedFields(shoot *gardencorev1beta1.Shoot, version *semver.Version) field.ErrorList {
	var errs field.ErrorList
	for _, removed := range removedFieldsList() {
		if version.Major() == 1 && version.Minor() < removed.minor {
			continue
		}
		why := fmt.Sprintf("is not supported with Kubernetes 1.%d and later: leave it out", removed.minor)
		if removed.instead != "" {
			why += ", and use " + removed.instead
		}
		for _, path := range removed.set(&shoot.Spec) {
			errs = append(errs, field.Forbidden(path, why))
		}
	}
	return errs
}

// cpuManagerPolicies are those of the kubelet.
var cpuManagerPolicies = []string{"none", "static"}

// kubelet checks those settings by which nodes roll (docs/specification/versions.md#spec-4-8). Nothing here acts on the
// others.
func kubelet(path *field.Path, config *gardencorev1beta1.KubeletConfig) field.ErrorList {
	var errs field.ErrorList
	if config.CPUManagerPolicy != nil {
		errs = append(errs, oneOf(path.Child("cpuManagerPolicy"), *config.CPUManagerPolicy, cpuManagerPolicies)...)
	}
	if hard := config.EvictionHard; hard != nil {
		errs = append(errs, thresholds(path.Child("evictionHard"), hard)...)
	}
	errs = append(errs, reserved(path.Child("kubeReserved"), config.KubeReserved)...)
	return append(errs, reserved(path.Child("systemReserved"), config.SystemReserved)...)
}

func reserved(path *field.Path, wanted *gardencorev1beta1.KubeletConfigReserved) field.ErrorList {
	if wanted == nil {
		return nil
	}
	errs := amount(path.Child("cpu"), wanted.CPU)
	errs = append(errs, amount(path.Child("memory"), wanted.Memory)...)
	errs = append(errs, amount(path.Child("ephemeralStorage"), wanted.EphemeralStorage)...)
	return append(errs, amount(path.Child("pid"), wanted.PID)...)
}

func thresholds(path *field.Path, wanted *gardencorev1beta1.KubeletConfigEviction) field.ErrorList {
	var errs field.ErrorList
	for _, one := range []struct {
		name  string
		value *string
	}{
		{"imageFSAvailable", wanted.ImageFSAvailable}, {"imageFSInodesFree", wanted.ImageFSInodesFree},
		{"memoryAvailable", wanted.MemoryAvailable}, {"nodeFSAvailable", wanted.NodeFSAvailable},
		{"nodeFSInodesFree", wanted.NodeFSInodesFree},
	} {
		if one.value != nil {
			errs = append(errs, threshold(path.Child(one.name), *one.value)...)
		}
	}
	return errs
}

// threshold wants a quantity, or a share of what there is.
func threshold(path *field.Path, value string) field.ErrorList {
	if share, err := shareOf(value); err == nil {
		if share <= 100 {
			return nil
		}
		return field.ErrorList{field.Invalid(path, value, "must not be more than 100%")}
	}
	if quantity, err := resource.ParseQuantity(value); err == nil && quantity.Sign() >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, "must be a quantity such as 100Mi, or a percentage such as 5%")}
}
