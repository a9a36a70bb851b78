package rollout_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/rollout"
)

// shoot has one pool, a, which is updated by the given strategy.
func shoot(strategy gardencorev1beta1.MachineUpdateStrategy) *gardencorev1beta1.Shoot {
	return &gardencorev1beta1.Shoot{Spec: gardencorev1beta1.ShootSpec{
		Kubernetes: gardencorev1beta1.Kubernetes{Version: "1.33.5", Kubelet: &gardencorev1beta1.KubeletConfig{
			KubeReserved: &gardencorev1beta1.KubeletConfigReserved{CPU: ptr.To(resource.MustParse("100m")),
				Memory: ptr.To(resource.MustParse("1Gi"))},
		}},
		Provider: gardencorev1beta1.Provider{Workers: []gardencorev1beta1.Worker{{
			Name: "a", UpdateStrategy: &strategy, CRI: &gardencorev1beta1.CRI{Name: "containerd"},
			Machine: gardencorev1beta1.Machine{Type: "m", Image: &gardencorev1beta1.ShootMachineImage{Name: "os",
				Version: ptr.To("1.0.0")}},
			Volume: &gardencorev1beta1.Volume{Type: ptr.To("ssd"), VolumeSize: "50Gi"},
		}}},
	}}
}

func reserve(cpu, memory string) *gardencorev1beta1.KubeletConfigReserved {
	return &gardencorev1beta1.KubeletConfigReserved{CPU: ptr.To(resource.MustParse(cpu)),
		Memory: ptr.To(resource.MustParse(memory))}
}

func rotation(at string, pending ...string) *gardencorev1beta1.ShootCredentials {
	var stamp metav1.Time
	if err := stamp.UnmarshalQueryParameter(at); err != nil {
		panic(err)
	}
	r := &gardencorev1beta1.CARotation{LastInitiationTime: &stamp}
	for _, pool := range pending {
		r.PendingWorkersRollouts = append(r.PendingWorkersRollouts, gardencorev1beta1.PendingWorkersRollout{Name: pool})
	}
	return &gardencorev1beta1.ShootCredentials{Rotation: &gardencorev1beta1.ShootCredentialsRotation{
		CertificateAuthorities: r}}
}

// triggers is every change that the document lists, and some that it does not.
var triggers = []struct {
	name           string
	change         func(*gardencorev1beta1.Shoot, *gardencorev1beta1.Worker)
	rolls, inPlace string // the field that is blamed; "" if the nodes stay
}{
	{"nothing", func(*gardencorev1beta1.Shoot, *gardencorev1beta1.Worker) {}, "", ""},
	{"Kubernetes patch", func(s *gardencorev1beta1.Shoot, _ *gardencorev1beta1.Worker) {
		s.Spec.Kubernetes.Version = "1.33.6"
	}, "", ""},
	{"Kubernetes minor", func(s *gardencorev1beta1.Shoot, _ *gardencorev1beta1.Worker) {
		s.Spec.Kubernetes.Version = "1.34.0"
	}, "spec.kubernetes.version", "spec.kubernetes.version"},
	{"pool's Kubernetes minor", func(_ *gardencorev1beta1.Shoot, w *gardencorev1beta1.Worker) {
		w.Kubernetes = &gardencorev1beta1.WorkerKubernetes{Version: ptr.To("1.32.1")}
	}, "spec.provider.workers[a].kubernetes.version", "spec.provider.workers[a].kubernetes.version"},
	{"pool's Kubernetes as before", func(_ *gardencorev1beta1.Shoot, w *gardencorev1beta1.Worker) {
		w.Kubernetes = &gardencorev1beta1.WorkerKubernetes{Version: ptr.To("1.33.9")}
	}, "", ""},
	{"image name", func(_ *gardencorev1beta1.Shoot, w *gardencorev1beta1.Worker) {
		w.Machine.Image.Name = "other"
	}, "spec.provider.workers[a].machine.image.name", ""},
	{"image version", func(_ *gardencorev1beta1.Shoot, w *gardencorev1beta1.Worker) {
		w.Machine.Image.Version = ptr.To("1.0.1")
	}, "spec.provider.workers[a].machine.image.version", "spec.provider.workers[a].machine.image.version"},
	{"machine type", func(_ *gardencorev1beta1.Shoot, w *gardencorev1beta1.Worker) {
		w.Machine.Type = "l"
	}, "spec.provider.workers[a].machine.type", ""},
	{"volume type", func(_ *gardencorev1beta1.Shoot, w *gardencorev1beta1.Worker) {
		w.Volume.Type = ptr.To("hdd")
	}, "spec.provider.workers[a].volume.type", ""},
	{"volume size", func(_ *gardencorev1beta1.Shoot, w *gardencorev1beta1.Worker) {
		w.Volume.VolumeSize = "60Gi"
	}, "spec.provider.workers[a].volume.size", ""},
	{"container runtime interface", func(_ *gardencorev1beta1.Shoot, w *gardencorev1beta1.Worker) {
		w.CRI.Name = "crio"
	}, "spec.provider.workers[a].cri.name", ""},
	{"node-local DNS", func(s *gardencorev1beta1.Shoot, _ *gardencorev1beta1.Worker) {
		s.Spec.SystemComponents = &gardencorev1beta1.SystemComponents{NodeLocalDNS: &gardencorev1beta1.NodeLocalDNS{
			Enabled: true}}
	}, "spec.systemComponents.nodeLocalDNS.enabled", ""},
	{"certificate authorities", func(s *gardencorev1beta1.Shoot, _ *gardencorev1beta1.Worker) {
		s.Status.Credentials = rotation("2026-11-01T08:00:00Z")
	}, "status.credentials.rotation.certificateAuthorities.lastInitiationTime",
		"status.credentials.rotation.certificateAuthorities.lastInitiationTime"},
	{"certificate authorities, pool pending", func(s *gardencorev1beta1.Shoot, _ *gardencorev1beta1.Worker) {
		s.Status.Credentials = rotation("2026-11-01T08:00:00Z", "a")
	}, "", ""},
	{"service account key", func(s *gardencorev1beta1.Shoot, _ *gardencorev1beta1.Worker) {
		ca := rotation("2026-11-01T08:00:00Z").Rotation.CertificateAuthorities
		s.Status.Credentials = &gardencorev1beta1.ShootCredentials{Rotation: &gardencorev1beta1.ShootCredentialsRotation{
			ServiceAccountKey: &gardencorev1beta1.ServiceAccountKeyRotation{LastInitiationTime: ca.LastInitiationTime},
		}}
	}, "status.credentials.rotation.serviceAccountKey.lastInitiationTime",
		"status.credentials.rotation.serviceAccountKey.lastInitiationTime"},
	{"kubeReserved", func(s *gardencorev1beta1.Shoot, _ *gardencorev1beta1.Worker) {
		s.Spec.Kubernetes.Kubelet.KubeReserved = reserve("100m", "2Gi")
	}, "spec.kubernetes.kubelet.kubeReserved", "spec.kubernetes.kubelet.kubeReserved"},
	{"kubeReserved, written otherwise", func(s *gardencorev1beta1.Shoot, _ *gardencorev1beta1.Worker) {
		s.Spec.Kubernetes.Kubelet.KubeReserved = reserve("0.1", "1048576Ki")
	}, "", ""},
	{"kubeReserved and systemReserved of the same sum", func(s *gardencorev1beta1.Shoot, _ *gardencorev1beta1.Worker) {
		s.Spec.Kubernetes.Kubelet.KubeReserved = reserve("60m", "512Mi")
		s.Spec.Kubernetes.Kubelet.SystemReserved = reserve("40m", "512Mi")
	}, "", ""},
	{"systemReserved", func(s *gardencorev1beta1.Shoot, _ *gardencorev1beta1.Worker) {
		s.Spec.Kubernetes.Kubelet.SystemReserved = reserve("40m", "512Mi")
	}, "spec.kubernetes.kubelet.kubeReserved", "spec.kubernetes.kubelet.kubeReserved"},
	{"evictionHard", func(s *gardencorev1beta1.Shoot, _ *gardencorev1beta1.Worker) {
		s.Spec.Kubernetes.Kubelet.EvictionHard = &gardencorev1beta1.KubeletConfigEviction{}
	}, "spec.kubernetes.kubelet.evictionHard", "spec.kubernetes.kubelet.evictionHard"},
	{"cpuManagerPolicy", func(s *gardencorev1beta1.Shoot, _ *gardencorev1beta1.Worker) {
		s.Spec.Kubernetes.Kubelet.CPUManagerPolicy = ptr.To("none")
	}, "spec.kubernetes.kubelet.cpuManagerPolicy", "spec.kubernetes.kubelet.cpuManagerPolicy"},
	{"pool's kubelet without the shoot's settings", func(_ *gardencorev1beta1.Shoot, w *gardencorev1beta1.Worker) {
		w.Kubernetes = &gardencorev1beta1.WorkerKubernetes{Kubelet: &gardencorev1beta1.KubeletConfig{
			MaxPods: ptr.To(int32(50))}}
	}, "spec.provider.workers[a].kubernetes.kubelet.kubeReserved",
		"spec.provider.workers[a].kubernetes.kubelet.kubeReserved"},
	{"a threshold of evictionHard", func(s *gardencorev1beta1.Shoot, _ *gardencorev1beta1.Worker) {
		s.Spec.Kubernetes.Kubelet.EvictionHard = &gardencorev1beta1.KubeletConfigEviction{MemoryAvailable: ptr.To("5%")}
	}, "spec.kubernetes.kubelet.evictionHard", "spec.kubernetes.kubelet.evictionHard"},
	{"asked for", func(s *gardencorev1beta1.Shoot, _ *gardencorev1beta1.Worker) {
		s.Annotations = map[string]string{"rollout.transplant.dev/workers": `{"a":"2026-11-01T08:00:00Z"}`}
	}, "metadata.annotations[rollout.transplant.dev/workers]", ""},
	{"asked for, of another pool", func(s *gardencorev1beta1.Shoot, _ *gardencorev1beta1.Worker) {
		s.Annotations = map[string]string{"rollout.transplant.dev/workers": `{"b":"2026-11-01T08:00:00Z"}`}
	}, "", ""},
	{"asked for, in a note that cannot be read", func(s *gardencorev1beta1.Shoot, _ *gardencorev1beta1.Worker) {
		s.Annotations = map[string]string{"rollout.transplant.dev/workers": "now"}
	}, "", ""},
	{"maxPods, labels, numbers", func(s *gardencorev1beta1.Shoot, w *gardencorev1beta1.Worker) {
		s.Spec.Kubernetes.Kubelet.MaxPods = ptr.To(int32(50))
		w.Labels, w.Maximum = map[string]string{"a": "b"}, 7
	}, "", ""},
}

// TestTriggers holds both the comparison and the fingerprints to the list.
func TestTriggers(t *testing.T) {
	t.Parallel()
	for _, c := range triggers {
		for _, s := range []struct {
			strategy gardencorev1beta1.MachineUpdateStrategy
			kind     rollout.Kind
			field    string
		}{
			{gardencorev1beta1.AutoRollingUpdate, rollout.Rolls, c.rolls},
			{gardencorev1beta1.AutoInPlaceUpdate, rollout.InPlace, c.inPlace},
			{gardencorev1beta1.ManualInPlaceUpdate, rollout.InPlace, c.inPlace},
		} {
			t.Run(c.name+"/"+string(s.strategy), func(t *testing.T) {
				t.Parallel()
				before, after := shoot(s.strategy), shoot(s.strategy)
				c.change(after, &after.Spec.Provider.Workers[0])
				want := rollout.Verdict{Pool: "a", Kind: rollout.Stays}
				if s.field != "" {
					want.Kind = s.kind
				}
				verdicts, err := rollout.Compare(before, after)
				if err != nil {
					t.Fatal(err)
				}
				var fields []string
				for _, trigger := range verdicts[0].Triggers {
					fields = append(fields, trigger.Field)
				}
				if got := strings.Join(fields, " "); got != s.field || verdicts[0].Kind != want.Kind ||
					verdicts[0].Due() != (s.field != "") {
					t.Errorf("%+v, want %s because of %q", verdicts[0], want.Kind, s.field)
				}
				fingerprint := rollout.Fingerprint
				if before.Spec.Provider.Workers[0].UpdatesInPlace() {
					fingerprint = rollout.InPlaceFingerprint
				}
				was, err := fingerprint(before, &before.Spec.Provider.Workers[0])
				if err != nil {
					t.Fatal(err)
				}
				is, err := fingerprint(after, &after.Spec.Provider.Workers[0])
				if err != nil {
					t.Fatal(err)
				}
				if (was != is) != (s.field != "") || len(is) != 16 {
					t.Errorf("fingerprints %s and %s", was, is)
				}
			})
		}
	}
}

func TestStrategyMayOnlyChangeInPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to gardencorev1beta1.MachineUpdateStrategy
		want     rollout.Kind
	}{
		{gardencorev1beta1.AutoInPlaceUpdate, gardencorev1beta1.ManualInPlaceUpdate, rollout.Stays},
		{gardencorev1beta1.AutoRollingUpdate, gardencorev1beta1.AutoInPlaceUpdate, rollout.Rolls},
		{gardencorev1beta1.ManualInPlaceUpdate, gardencorev1beta1.AutoRollingUpdate, rollout.Rolls},
	} {
		verdicts, err := rollout.Compare(shoot(c.from), shoot(c.to))
		if err != nil || verdicts[0].Kind != c.want {
			t.Errorf("%s to %s: %v, %v, want %s", c.from, c.to, verdicts, err, c.want)
		}
	}
}

func TestPoolsAreFoundByName(t *testing.T) {
	t.Parallel()
	before, after := shoot(gardencorev1beta1.AutoRollingUpdate), shoot(gardencorev1beta1.AutoRollingUpdate)
	b := before.Spec.Provider.Workers[0]
	b.Name = "b"
	before.Spec.Provider.Workers = append(before.Spec.Provider.Workers, b)
	c := b
	c.Name = "c"
	after.Spec.Provider.Workers = append([]gardencorev1beta1.Worker{c}, after.Spec.Provider.Workers...)
	verdicts, err := rollout.Compare(before, after)
	if err != nil {
		t.Fatal(err)
	}
	want := []rollout.Verdict{{Pool: "a", Kind: rollout.Stays}, {Pool: "b", Kind: rollout.Removed},
		{Pool: "c", Kind: rollout.Added}}
	if diff := cmp.Diff(want, verdicts); diff != "" {
		t.Error(diff)
	}
}

func TestAVersionThatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	before, after := shoot(gardencorev1beta1.AutoRollingUpdate), shoot(gardencorev1beta1.AutoRollingUpdate)
	after.Spec.Kubernetes.Version = "latest"
	if _, err := rollout.Compare(before, after); err == nil || !strings.HasPrefix(err.Error(),
		`read the Kubernetes version "latest" (spec.kubernetes.version): `) {
		t.Errorf("error %v", err)
	}
}
