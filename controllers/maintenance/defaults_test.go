package maintenance_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/oracletest"
)

type defaultedQuestion struct {
	ID           string                         `json:"id"`
	CloudProfile gardencorev1beta1.CloudProfile `json:"cloudProfile"`
	Shoot        gardencorev1beta1.Shoot        `json:"shoot"`
}

// TestOracleDefaults: the objects of the known cases have been defaulted by the field's API server. Ours changes
// nothing about them, and brings back what is taken from them.
func TestOracleDefaults(t *testing.T) {
	t.Parallel()
	restored := 0
	for _, c := range oracletest.Read[defaultedQuestion, any](t, "testdata/maintenance.jsonl.gz") {
		profile, shoot := c.In.CloudProfile.DeepCopy(), c.In.Shoot.DeepCopy()
		profile.SetDefaults()
		shoot.SetDefaults()
		if diff := cmp.Diff(c.In.CloudProfile, *profile) + cmp.Diff(c.In.Shoot, *shoot); diff != "" {
			t.Errorf("%s (-field's +ours):\n%s", c.In.ID, diff)
		}
		bare := bareOf(t, shoot)
		if cmp.Equal(*bare, c.In.Shoot) {
			continue
		}
		restored++
		author := authored(&c.In.CloudProfile)
		if author.SetDefaults(); !cmp.Equal(*author, c.In.CloudProfile) {
			t.Errorf("%s, profile as written (-field's +ours):\n%s", c.In.ID, cmp.Diff(c.In.CloudProfile, *author))
		}
		if bare.SetDefaults(); !cmp.Equal(*bare, c.In.Shoot) {
			t.Errorf("%s, taken away and set again (-field's +ours):\n%s", c.In.ID, cmp.Diff(c.In.Shoot, *bare))
		}
	}
	if restored < 300 {
		t.Errorf("only %d shoots had defaults that could be taken away", restored)
	}
}

// bareOf takes from a shoot what the cases have only as defaults.
func bareOf(t *testing.T, shoot *gardencorev1beta1.Shoot) *gardencorev1beta1.Shoot {
	t.Helper()
	bare := shoot.DeepCopy()
	spec := &bare.Spec
	spec.Purpose, spec.SchedulerName, spec.SystemComponents, spec.Provider.WorkersSettings = nil, nil, nil, nil
	spec.Networking.IPFamilies = nil
	kubernetes := &spec.Kubernetes
	kubernetes.KubeControllerManager, kubernetes.KubeScheduler, kubernetes.KubeProxy, kubernetes.Kubelet = nil, nil, nil,
		nil
	api := kubernetes.KubeAPIServer
	api.DefaultNotReadyTolerationSeconds, api.DefaultUnreachableTolerationSeconds = nil, nil
	api.EncryptionConfig, api.EventTTL, api.Logging, api.Requests = nil, nil, nil, nil
	for i := range spec.Provider.Workers {
		worker := &spec.Provider.Workers[i]
		worker.MaxSurge, worker.MaxUnavailable, worker.SystemComponents, worker.MachineControllerManagerSettings = nil, nil,
			nil, nil
		if *worker.UpdateStrategy == gardencorev1beta1.AutoRollingUpdate {
			worker.UpdateStrategy = nil
		}
		if *worker.Machine.Architecture == gardencorev1beta1.ArchitectureAMD64 {
			worker.Machine.Architecture = nil
		}
		if len(worker.CRI.ContainerRuntimes) == 0 {
			worker.CRI = nil
		}
	}
	// As it would come over the wire.
	content, err := json.Marshal(bare)
	if err != nil {
		t.Fatal(err)
	}
	wire := &gardencorev1beta1.Shoot{}
	if err := json.Unmarshal(content, wire); err != nil {
		t.Fatal(err)
	}
	return wire
}

// authored is a profile as its author may have written it.
func authored(profile *gardencorev1beta1.CloudProfile) *gardencorev1beta1.CloudProfile {
	author := profile.DeepCopy()
	for i := range author.Spec.MachineImages {
		image := &author.Spec.MachineImages[i]
		if *image.UpdateStrategy == gardencorev1beta1.UpdateStrategyMajor {
			image.UpdateStrategy = nil
		}
		for j := range image.Versions {
			v := &image.Versions[j]
			if slices.Equal(v.Architectures, []string{"amd64"}) {
				v.Architectures = nil
			}
			if len(v.CRI) == 1 && len(v.CRI[0].ContainerRuntimes) == 0 {
				v.CRI = nil
			}
		}
	}
	for i := range author.Spec.MachineTypes {
		machine := &author.Spec.MachineTypes[i]
		machine.Usable = nil
		if ptr.Deref(machine.Architecture, "") == "amd64" {
			machine.Architecture = nil
		}
	}
	for i := range author.Spec.VolumeTypes {
		author.Spec.VolumeTypes[i].Usable = nil
	}
	return author
}
