package worker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// TestPoolHash: what makes machines be replaced, and what does not (docs/specification/versions.md#spec-4-8).
func TestPoolHash(t *testing.T) {
	t.Parallel()
	base := func() extensionsv1alpha1.WorkerPool {
		return extensionsv1alpha1.WorkerPool{
			Name: "pool", MachineType: "m1", MachineImage: extensionsv1alpha1.MachineImage{Name: "os", Version: "1.0.0"},
			Minimum: 3, Maximum: 5, MaxSurge: intstr.FromInt32(1), Zones: []string{"r-a", "r-b"},
			KubernetesVersion: ptr.To("1.36.3"),
		}
	}
	for _, test := range []struct {
		name   string
		change func(*extensionsv1alpha1.WorkerPool)
		rolls  bool
	}{
		{"nothing", func(*extensionsv1alpha1.WorkerPool) {}, false},
		{"kubernetes patch", func(p *extensionsv1alpha1.WorkerPool) { p.KubernetesVersion = ptr.To("1.36.9") }, false},
		{"kubernetes minor", func(p *extensionsv1alpha1.WorkerPool) { p.KubernetesVersion = ptr.To("1.37.0") }, true},
		{"machine type", func(p *extensionsv1alpha1.WorkerPool) { p.MachineType = "m2" }, true},
		{"image version", func(p *extensionsv1alpha1.WorkerPool) { p.MachineImage.Version = "2.0.0" }, true},
		{"volume", func(p *extensionsv1alpha1.WorkerPool) { p.Volume = &extensionsv1alpha1.Volume{Size: "50Gi"} }, true},
		{"labels", func(p *extensionsv1alpha1.WorkerPool) { p.Labels = map[string]string{"a": "b"} }, false},
		{"taints", func(p *extensionsv1alpha1.WorkerPool) { p.Taints = []corev1.Taint{{Key: "a"}} }, false},
		{"bounds", func(p *extensionsv1alpha1.WorkerPool) {
			p.Minimum, p.Maximum, p.MaxSurge = 1, 9, intstr.FromInt32(3)
		}, false},
		{"node agent secret", func(p *extensionsv1alpha1.WorkerPool) {
			p.NodeAgentSecretName = ptr.To("gardener-node-agent-pool-x")
		}, true},
	} {
		changed := base()
		test.change(&changed)
		if rolls := poolHash(changed, "") != poolHash(base(), ""); rolls != test.rolls {
			t.Errorf("%s: rolls %t, want %t", test.name, rolls, test.rolls)
		}
	}
	withSecret := base()
	withSecret.NodeAgentSecretName = ptr.To("gardener-node-agent-pool-1a2b")
	if hash := poolHash(withSecret, ""); hash != "c78c6" {
		t.Errorf("the hash is %q", hash)
	}
}

// TestShares: machines are spread as evenly as they go.
func TestShares(t *testing.T) {
	t.Parallel()
	var got []int32
	for part := range int32(3) {
		got = append(got, share(part, 5, 3))
	}
	if diff := cmp.Diff([]int32{2, 2, 1}, got); diff != "" {
		t.Error(diff)
	}
	if percent := shareOf(1, intstr.FromString("25%"), 3); percent.StrVal != "25%" {
		t.Errorf("a percentage became %v", percent)
	}
}

// TestMachinesAreTreatedAsTheirPoolSays: each setting of a pool is one of its machines.
func TestMachinesAreTreatedAsTheirPoolSays(t *testing.T) {
	t.Parallel()
	after := func(minutes time.Duration) *metav1.Duration { return &metav1.Duration{Duration: minutes * time.Minute} }
	pool := zonePool{pool: extensionsv1alpha1.WorkerPool{
		MachineControllerManagerSettings: &gardencorev1beta1.MachineControllerManagerSettings{
			MachineDrainTimeout: after(1), MachineHealthTimeout: after(2), MachineCreationTimeout: after(3),
			MachineInPlaceUpdateTimeout: after(4),
			MachinePreserveTimeout:      after(5), MaxEvictRetries: ptr.To[int32](6), NodeConditions: []string{"A", "B"},
			DisableHealthTimeout: ptr.To(true),
		}}}
	want := &machinev1alpha1.MachineConfiguration{
		MachineDrainTimeout: after(1), MachineHealthTimeout: after(2), MachineCreationTimeout: after(3),
		MachineInPlaceUpdateTimeout: after(4),
		MachinePreserveTimeout:      after(5), MaxEvictRetries: ptr.To[int32](6), NodeConditions: ptr.To("A,B"),
		DisableHealthTimeout: ptr.To(true),
	}
	if diff := cmp.Diff(want, pool.deploymentSpec(1).Template.Spec.MachineConfiguration); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestUnhealthyMachinesAreKept where nodes are updated in place, unless the pool says otherwise, and nowhere else.
func TestUnhealthyMachinesAreKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		inPlace  string
		settings *gardencorev1beta1.MachineControllerManagerSettings
		want     *bool
	}{
		"a pool that rolls": {"", nil, nil},
		"a pool that rolls and says so": {"",
			&gardencorev1beta1.MachineControllerManagerSettings{DisableHealthTimeout: ptr.To(true)}, ptr.To(true)},
		"in place": {"hash", nil, ptr.To(true)},
		"in place, with other settings": {"hash",
			&gardencorev1beta1.MachineControllerManagerSettings{MaxEvictRetries: ptr.To[int32](3)}, ptr.To(true)},
		"in place, replaced": {"hash",
			&gardencorev1beta1.MachineControllerManagerSettings{DisableHealthTimeout: ptr.To(false)}, ptr.To(false)},
	} {
		pool := zonePool{inPlace: c.inPlace,
			pool: extensionsv1alpha1.WorkerPool{MachineControllerManagerSettings: c.settings}}
		if diff := cmp.Diff(c.want, pool.machineConfiguration().DisableHealthTimeout); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if c.settings != nil && c.settings.DisableHealthTimeout == nil &&
			pool.pool.MachineControllerManagerSettings.DisableHealthTimeout != nil {
			t.Errorf("%s: the Worker itself was changed", name)
		}
	}
}
