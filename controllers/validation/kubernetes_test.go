package validation_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/sidechange"
	"github.com/transplant-sim/transplant/controllers/validation"
)

// full is a shoot with every setting that some Kubernetes version does not have.
func full(version string) *gardencorev1beta1.Shoot {
	gates := func() gardencorev1beta1.KubernetesConfig {
		return gardencorev1beta1.KubernetesConfig{FeatureGates: map[string]bool{"APIPriorityAndFairness": true,
			"AllAlpha": true}}
	}
	return &gardencorev1beta1.Shoot{Spec: gardencorev1beta1.ShootSpec{
		Addons: &gardencorev1beta1.Addons{},
		DNS: &gardencorev1beta1.DNS{
			Providers: []gardencorev1beta1.DNSProvider{{SecretName: ptr.To("dns")}},
		},
		Kubernetes: gardencorev1beta1.Kubernetes{
			Version:           version,
			ClusterAutoscaler: &gardencorev1beta1.ClusterAutoscaler{MaxEmptyBulkDelete: ptr.To[int32](5)},
			KubeAPIServer: &gardencorev1beta1.KubeAPIServerConfig{
				KubernetesConfig: gates(), EnableAnonymousAuthentication: ptr.To(true),
				AdmissionPlugins: []gardencorev1beta1.AdmissionPlugin{{Name: "PersistentVolumeLabel"},
					{Name: "PodSecurity"}},
				WatchCacheSizes: &gardencorev1beta1.WatchCacheSizes{Default: ptr.To[int32](100)},
			},
			KubeControllerManager: &gardencorev1beta1.KubeControllerManagerConfig{KubernetesConfig: gates(),
				PodEvictionTimeout: &metav1.Duration{}},
			KubeProxy: &gardencorev1beta1.KubeProxyConfig{KubernetesConfig: gates()},
			KubeScheduler: &gardencorev1beta1.KubeSchedulerConfig{KubernetesConfig: gates(),
				KubeMaxPDVols: ptr.To("10")},
			Kubelet: &gardencorev1beta1.KubeletConfig{KubernetesConfig: gates()},
		},
	}}
}

// aboutVersion are the refusals of what a Kubernetes version does not have.
func aboutVersion(shoot *gardencorev1beta1.Shoot) []string {
	var all []string
	for _, err := range validation.Shoot(shoot, validation.Surroundings{}) {
		if strings.Contains(err.Detail, "is not supported with Kubernetes") ||
			strings.Contains(err.Detail, "does not know") {
			all = append(all, err.Error())
		}
	}
	return all
}

// What a maintenance takes out of a shoot on the way to a version is what is refused at that version, and no more.
func TestShoot_SettingsThatAVersionLacks_AreThoseThatMaintenanceRemoves(t *testing.T) {
	t.Parallel()
	refused := map[string]int{}
	for minor := 31; minor <= 36; minor++ {
		shoot, version := full(fmt.Sprintf("1.%d.0", minor)), fmt.Sprintf("1.%d.0", minor)
		before := aboutVersion(shoot)
		removed := sidechange.Apply(&shoot.Spec, "1.30.0")
		if after := aboutVersion(shoot); len(after) > 0 {
			t.Errorf("%s: after a maintenance that says %q, still refused: %q", version, removed, after)
		}
		refused[version] = len(before)
	}
	// Each minor version that drops something refuses more than the one before.
	if refused["1.31.0"] >= refused["1.33.0"] || refused["1.34.0"] >= refused["1.35.0"] {
		t.Errorf("refusals by version: %v", refused)
	}
	if got := aboutVersion(full("1.30.9")); len(got) > 0 {
		t.Errorf("1.30 has it all: %q", got)
	}
}
