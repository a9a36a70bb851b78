// Package sidechange takes out of a shoot's specification what does not go with its Kubernetes version after a
// maintenance (docs/specification/versions.md#spec-4-5): fields that a minor version dropped, feature gates and
// admission plugins that its components do not know. It decides about no version and writes no object.
package sidechange

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Apply changes a specification whose versions have been maintained already, and says what it did, a sentence each
// without a full stop. before is the control plane's version before the maintenance. What cannot be read is left alone.
func Apply(spec *gardencorev1beta1.ShootSpec, before string) []string {
	from, fromErr := semver.NewVersion(before)
	to, err := semver.NewVersion(spec.Kubernetes.Version)
	if err != nil {
		return nil
	}
	var said []string
	for _, change := range fieldChanges {
		if fromErr == nil && crosses(from, to, change.minor) {
			said = append(said, change.apply(spec)...)
		}
	}
	said = append(said, pruneFeatureGates(spec, to)...)
	return append(said, pruneAdmissionPlugins(spec, to)...)
}

// DisableNginxIngress switches the nginx addon off where the operators do not allow it.
func DisableNginxIngress(spec *gardencorev1beta1.ShootSpec) []string {
	if spec.Addons == nil || spec.Addons.NginxIngress == nil || !spec.Addons.NginxIngress.Enabled {
		return nil
	}
	spec.Addons.NginxIngress.Enabled = false
	return []string{".spec.addons.nginxIngress was disabled. Reason: the operators of the landscape do not allow it"}
}

// gates are the feature gates of one component.
type gates struct {
	path      string
	gates     map[string]bool
	version   *semver.Version
	supported func(string, *semver.Version) bool
}

func pruneFeatureGates(spec *gardencorev1beta1.ShootSpec, v *semver.Version) []string {
	var said []string
	for _, component := range componentsWithGates(spec, v) {
		unknown := slices.Sorted(maps.Keys(component.gates))
		unknown = slices.DeleteFunc(unknown, func(gate string) bool { return component.supported(gate, component.version) })
		for _, gate := range unknown {
			delete(component.gates, gate)
		}
		if len(unknown) > 0 {
			said = append(said, fmt.Sprintf(
				"Removed feature gates from %q because they are not supported in Kubernetes version %q: %s",
				component.path, component.version.Original(), strings.Join(unknown, ", ")))
		}
	}
	return said
}

func componentsWithGates(spec *gardencorev1beta1.ShootSpec, v *semver.Version) []gates {
	var all []gates
	k := &spec.Kubernetes
	add := func(name string, config *gardencorev1beta1.KubernetesConfig) {
		all = append(all, gates{"spec.kubernetes." + name + ".featureGates", config.FeatureGates, v, FeatureGateSupported})
	}
	if k.KubeAPIServer != nil {
		add("kubeAPIServer", &k.KubeAPIServer.KubernetesConfig)
	}
	if k.KubeControllerManager != nil {
		add("kubeControllerManager", &k.KubeControllerManager.KubernetesConfig)
	}
	if k.KubeScheduler != nil {
		add("kubeScheduler", &k.KubeScheduler.KubernetesConfig)
	}
	if k.KubeProxy != nil {
		add("kubeProxy", &k.KubeProxy.KubernetesConfig)
	}
	if k.Kubelet != nil {
		add("kubelet", &k.Kubelet.KubernetesConfig)
	}
	if k.ClusterAutoscaler != nil {
		all = append(all, gates{"spec.kubernetes.clusterAutoscaler.featureGates", k.ClusterAutoscaler.FeatureGates, v,
			notKnownToBeGone})
	}
	return append(all, poolsWithGates(spec, v)...)
}

// poolsWithGates are pools with a kubelet configuration of their own; the pool's version counts, if it has one.
func poolsWithGates(spec *gardencorev1beta1.ShootSpec, v *semver.Version) []gates {
	var all []gates
	for i := range spec.Provider.Workers {
		worker := spec.Provider.Workers[i].Kubernetes
		if worker == nil || worker.Kubelet == nil {
			continue
		}
		kubelet := v
		if worker.Version != nil {
			own, err := semver.NewVersion(*worker.Version)
			if err != nil {
				continue
			}
			kubelet = own
		}
		all = append(all, gates{fmt.Sprintf("spec.provider.workers[%d].kubernetes.kubelet.featureGates", i),
			worker.Kubelet.FeatureGates, kubelet, FeatureGateSupported})
	}
	return all
}

func pruneAdmissionPlugins(spec *gardencorev1beta1.ShootSpec, v *semver.Version) []string {
	server := spec.Kubernetes.KubeAPIServer
	if server == nil {
		return nil
	}
	var kept []gardencorev1beta1.AdmissionPlugin
	var unknown []string
	for _, plugin := range server.AdmissionPlugins {
		if AdmissionPluginSupported(plugin.Name, v) {
			kept = append(kept, plugin)
		} else {
			unknown = append(unknown, plugin.Name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	server.AdmissionPlugins = kept
	slices.Sort(unknown)
	return []string{fmt.Sprintf(
		"Removed admission plugins from %q because they are not supported in Kubernetes version %q: %s",
		"spec.kubernetes.kubeAPIServer.admissionPlugins", v.Original(), strings.Join(unknown, ", "))}
}
