package sidechange_test

import (
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/sidechange"
)

// everything is a specification with all that some minor version drops, and some that none does.
const everything = `
secretBindingName: account
addons: {nginxIngress: {enabled: true}}
dns: {providers: [{type: a, secretName: one}, {type: b}, {type: c, secretName: two}]}
kubernetes:
  clusterAutoscaler: {maxEmptyBulkDelete: 3, featureGates: {OfItsOwn: true, JobReadyPods: true}}
  kubeAPIServer:
    enableAnonymousAuthentication: true
    watchCacheSizes: {default: 100, resources: [{resource: pods, size: 3}]}
    featureGates: {AllAlpha: false, HPAContainerMetrics: true, PodTopologyLabelsAdmission: true, NoSuchGate: true}
    admissionPlugins: [{name: PodSecurity}, {name: MutatingAdmissionPolicy}, {name: NoSuchPlugin}]
  kubeControllerManager: {podEvictionTimeout: 1m0s, nodeMonitorGracePeriod: 40s,
    featureGates: {JobPodFailurePolicy: true}}
  kubeScheduler: {kubeMaxPDVols: "5", profile: balanced, featureGates: {MinDomainsInPodTopologySpread: true}}
  kubeProxy: {featureGates: {KubeProxyDrainingTerminatingNodes: true}}
  kubelet: {featureGates: {CPUManager: true, EventedPLEG: true}}
provider:
  type: transplant
  workers:
  - {name: a, minimum: 0, maximum: 1, machine: {type: m},
     kubernetes: {version: 1.32.1, kubelet: {featureGates: {CPUManager: true, KMSv2: true}}}}
  - {name: b, minimum: 0, maximum: 1, machine: {type: m},
     kubernetes: {version: x, kubelet: {featureGates: {NoSuchGate: true}}}}
region: here
`

func spec(t *testing.T, text, version string) *gardencorev1beta1.ShootSpec {
	t.Helper()
	var s gardencorev1beta1.ShootSpec
	if err := yaml.UnmarshalStrict([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	s.Kubernetes.Version = version
	return &s
}

const (
	ofAPIServer = `Removed feature gates from "spec.kubernetes.kubeAPIServer.featureGates" because they are not ` +
		`supported in Kubernetes version `
	ofPlugins = `Removed admission plugins from "spec.kubernetes.kubeAPIServer.admissionPlugins" because they are ` +
		`not supported in Kubernetes version `
)

func TestFieldsGoWithTheMinorVersionThatDropsThem(t *testing.T) {
	t.Parallel()
	paths := func(said []string) (found []string) {
		for _, sentence := range said {
			if path, _, isField := strings.Cut(sentence, " was "); isField {
				found = append(found, path)
			}
		}
		return found
	}
	at133 := []string{".spec.kubernetes.kubeControllerManager.podEvictionTimeout",
		".spec.kubernetes.clusterAutoscaler.maxEmptyBulkDelete"}
	at134 := []string{".spec.secretBindingName"}
	at135 := []string{
		".spec.kubernetes.kubeAPIServer.enableAnonymousAuthentication", ".spec.kubernetes.kubeScheduler.kubeMaxPDVols",
		".spec.kubernetes.kubeAPIServer.watchCacheSizes.default", ".spec.addons", ".spec.dns.providers[0].secretName",
		".spec.dns.providers[2].secretName",
	}
	for _, c := range []struct {
		from, to string
		want     []string
	}{
		{"1.32.9", "1.32.10", nil},
		{"1.32.9", "1.33.0", at133},
		{"1.33.0", "1.33.5", nil},
		{"1.33.5", "1.34.1", at134},
		{"1.34.1", "1.35.0", at135},
		{"1.35.0", "1.36.0", nil},
		{"1.32.0", "1.36.0", append(append(at133[:2:2], at134...), at135...)},
		{"latest", "1.35.0", nil},
		{"1.34.0", "latest", nil},
	} {
		s := spec(t, everything, c.to)
		if diff := cmp.Diff(c.want, paths(sidechange.Apply(s, c.from))); diff != "" {
			t.Errorf("%s to %s (-want +got):\n%s", c.from, c.to, diff)
		}
	}
}

func TestWhatIsLeft(t *testing.T) {
	t.Parallel()
	s := spec(t, everything, "1.35.1")
	want := spec(t, `
credentialsBindingName: force-migrated-account
dns: {providers: [{type: a}, {type: b}, {type: c}]}
kubernetes:
  clusterAutoscaler: {featureGates: {OfItsOwn: true}}
  kubeAPIServer:
    watchCacheSizes: {resources: [{resource: pods, size: 3}]}
    featureGates: {AllAlpha: false, PodTopologyLabelsAdmission: true}
    admissionPlugins: [{name: PodSecurity}, {name: MutatingAdmissionPolicy}]
  kubeControllerManager: {nodeMonitorGracePeriod: 40s, featureGates: {}}
  kubeScheduler: {profile: balanced, featureGates: {}}
  kubeProxy: {featureGates: {}}
  kubelet: {featureGates: {EventedPLEG: true}}
provider:
  type: transplant
  workers:
  - {name: a, minimum: 0, maximum: 1, machine: {type: m},
     kubernetes: {version: 1.32.1, kubelet: {featureGates: {CPUManager: true}}}}
  - {name: b, minimum: 0, maximum: 1, machine: {type: m},
     kubernetes: {version: x, kubelet: {featureGates: {NoSuchGate: true}}}}
region: here
`, "1.35.1")
	said := sidechange.Apply(s, "1.32.9")
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, sentence := range []string{
		ofAPIServer + `"1.35.1": HPAContainerMetrics, NoSuchGate`,
		ofPlugins + `"1.35.1": NoSuchPlugin`,
		`.spec.secretBindingName was migrated to .spec.credentialsBindingName "force-migrated-account". Reason: ` +
			`SecretBindings cannot be used with Kubernetes 1.34 and later`,
		`Removed feature gates from "spec.provider.workers[0].kubernetes.kubelet.featureGates" because they are not ` +
			`supported in Kubernetes version "1.32.1": KMSv2`,
		`Removed feature gates from "spec.kubernetes.clusterAutoscaler.featureGates" because they are not supported in ` +
			`Kubernetes version "1.35.1": JobReadyPods`,
	} {
		if !strings.Contains(strings.Join(said, "\n"), sentence) {
			t.Errorf("not said: %s\nbut:\n%s", sentence, strings.Join(said, "\n"))
		}
	}
	if again := sidechange.Apply(s, "1.35.1"); again != nil {
		t.Errorf("there is more to do the second time: %v", again)
	}
}

// TestABindingIsNotMigratedTwice leaves a shoot alone that has a CredentialsBinding.
func TestABindingIsNotMigratedTwice(t *testing.T) {
	t.Parallel()
	s := spec(t, "secretBindingName: old\ncredentialsBindingName: new\nprovider: {type: x}\nregion: here\n", "1.34.0")
	if said := sidechange.Apply(s, "1.33.0"); said != nil || *s.SecretBindingName != "old" ||
		*s.CredentialsBindingName != "new" {
		t.Errorf("%v: %+v", said, s)
	}
}

func TestSupport(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		supported     func(string, *semver.Version) bool
		name, version string
		want          bool
	}{
		{sidechange.FeatureGateSupported, "AllAlpha", "1.30.0", true},
		{sidechange.FeatureGateSupported, "HPAContainerMetrics", "1.31.9", true},
		{sidechange.FeatureGateSupported, "HPAContainerMetrics", "1.32.0", false},
		{sidechange.FeatureGateSupported, "CBORServingAndStorage", "1.31.9", false},
		{sidechange.FeatureGateSupported, "CBORServingAndStorage", "1.32.0", true},
		{sidechange.FeatureGateSupported, "NoSuchGate", "1.33.0", false},
		{sidechange.FeatureGateSupported, "NoSuchGate", "1.29.9", true},
		{sidechange.FeatureGateSupported, "CBORServingAndStorage", "1.99.0", true},
		{sidechange.AdmissionPluginSupported, "PersistentVolumeLabel", "1.30.0", true},
		{sidechange.AdmissionPluginSupported, "PersistentVolumeLabel", "1.31.0", false},
		{sidechange.AdmissionPluginSupported, "PodTopologyLabels", "1.32.0", false},
		{sidechange.AdmissionPluginSupported, "PodTopologyLabels", "1.33.0", true},
		{sidechange.AdmissionPluginSupported, "NoSuchPlugin", "1.33.0", false},
	} {
		if got := c.supported(c.name, semver.MustParse(c.version)); got != c.want {
			t.Errorf("%s in %s: %t", c.name, c.version, got)
		}
	}
}

func TestDisableNginxIngress(t *testing.T) {
	t.Parallel()
	s := spec(t, everything, "1.34.0")
	if said := sidechange.DisableNginxIngress(s); len(said) != 1 || s.Addons.NginxIngress.Enabled {
		t.Errorf("%v: %+v", said, s.Addons)
	}
	if said := sidechange.DisableNginxIngress(s); said != nil {
		t.Errorf("said again: %v", said)
	}
	s.Addons, s.SecretBindingName = nil, ptr.To("x")
	if said := sidechange.DisableNginxIngress(s); said != nil {
		t.Errorf("said without addons: %v", said)
	}
}
