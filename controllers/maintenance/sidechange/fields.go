package sidechange

import (
	"fmt"
	"slices"

	"github.com/Masterminds/semver/v3"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// MigratedBindingPrefix begins the name of the CredentialsBinding that stands for a SecretBinding after its migration.
const MigratedBindingPrefix = "force-migrated-"

// fieldChange removes a field that a Kubernetes minor version no longer has, when the shoot gets there.
type fieldChange struct {
	minor uint64
	// apply changes the specification and says what it did; nothing, if the field is not set.
	apply func(*gardencorev1beta1.ShootSpec) []string
}

// fieldChanges lists what goes, in the order in which it is reported.
var fieldChanges = []fieldChange{
	{33, removePodEvictionTimeout},
	{33, removeMaxEmptyBulkDelete},
	{34, migrateSecretBinding},
	{35, removeAnonymousAuthentication},
	{35, removeKubeMaxPDVols},
	{35, removeDefaultWatchCacheSize},
	{35, removeAddons},
	{35, removeDNSSecretNames},
}

// crosses is whether an update leads from below a minor version to it or beyond.
func crosses(from, to *semver.Version, minor uint64) bool {
	border := semver.New(1, minor, 0, "", "")
	return from.LessThan(border) && !to.LessThan(border)
}

func removed(path, why string) []string {
	return []string{fmt.Sprintf("%s was removed. Reason: %s", path, why)}
}

func removePodEvictionTimeout(spec *gardencorev1beta1.ShootSpec) []string {
	config := spec.Kubernetes.KubeControllerManager
	if config == nil || config.PodEvictionTimeout == nil {
		return nil
	}
	config.PodEvictionTimeout = nil
	return removed(".spec.kubernetes.kubeControllerManager.podEvictionTimeout",
		"Kubernetes 1.33 and later take defaultNotReadyTolerationSeconds and defaultUnreachableTolerationSeconds of "+
			".spec.kubernetes.kubeAPIServer instead")
}

func removeMaxEmptyBulkDelete(spec *gardencorev1beta1.ShootSpec) []string {
	config := spec.Kubernetes.ClusterAutoscaler
	if config == nil || config.MaxEmptyBulkDelete == nil {
		return nil
	}
	config.MaxEmptyBulkDelete = nil
	return removed(".spec.kubernetes.clusterAutoscaler.maxEmptyBulkDelete",
		"with Kubernetes 1.33 and later, maxScaleDownParallelism takes its place")
}

// migrateSecretBinding changes the reference only. Whoever writes the shoot creates the CredentialsBinding before.
func migrateSecretBinding(spec *gardencorev1beta1.ShootSpec) []string {
	if spec.SecretBindingName == nil || spec.CredentialsBindingName != nil {
		return nil
	}
	name := MigratedBindingPrefix + *spec.SecretBindingName
	spec.SecretBindingName, spec.CredentialsBindingName = nil, &name
	return []string{fmt.Sprintf(".spec.secretBindingName was migrated to .spec.credentialsBindingName %q. "+
		"Reason: SecretBindings cannot be used with Kubernetes 1.34 and later", name)}
}

func removeAnonymousAuthentication(spec *gardencorev1beta1.ShootSpec) []string {
	config := spec.Kubernetes.KubeAPIServer
	if config == nil || config.EnableAnonymousAuthentication == nil {
		return nil
	}
	config.EnableAnonymousAuthentication = nil
	return removed(".spec.kubernetes.kubeAPIServer.enableAnonymousAuthentication",
		"it is not supported with Kubernetes 1.35 and later")
}

func removeKubeMaxPDVols(spec *gardencorev1beta1.ShootSpec) []string {
	config := spec.Kubernetes.KubeScheduler
	if config == nil || config.KubeMaxPDVols == nil {
		return nil
	}
	config.KubeMaxPDVols = nil
	return removed(".spec.kubernetes.kubeScheduler.kubeMaxPDVols", "the kube-scheduler does not respect it any more")
}

func removeDefaultWatchCacheSize(spec *gardencorev1beta1.ShootSpec) []string {
	config := spec.Kubernetes.KubeAPIServer
	if config == nil || config.WatchCacheSizes == nil || config.WatchCacheSizes.Default == nil {
		return nil
	}
	config.WatchCacheSizes.Default = nil
	return removed(".spec.kubernetes.kubeAPIServer.watchCacheSizes.default",
		"the kube-apiserver does not respect it any more")
}

func removeAddons(spec *gardencorev1beta1.ShootSpec) []string {
	if spec.Addons == nil {
		return nil
	}
	spec.Addons = nil
	return removed(".spec.addons", "addons are not supported with Kubernetes 1.35 and later")
}

func removeDNSSecretNames(spec *gardencorev1beta1.ShootSpec) []string {
	if spec.DNS == nil {
		return nil
	}
	var said []string
	for i := range spec.DNS.Providers {
		if spec.DNS.Providers[i].SecretName != nil {
			spec.DNS.Providers[i].SecretName = nil
			said = append(said, removed(fmt.Sprintf(".spec.dns.providers[%d].secretName", i),
				"it is not supported with Kubernetes 1.35 and later")...)
		}
	}
	return slices.Clip(said)
}
