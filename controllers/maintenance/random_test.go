package maintenance_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

var noon = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

// dice roll shoots and profiles that are dense enough for rules to meet.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 4))} }

func (d dice) oneOf(texts ...string) string { return texts[d.IntN(len(texts))] }

// life is the class of a version, in either form.
func (d dice) life(v string) gardencorev1beta1.ExpirableVersion {
	classes := []gardencorev1beta1.VersionClassification{
		gardencorev1beta1.ClassificationPreview, gardencorev1beta1.ClassificationSupported,
		gardencorev1beta1.ClassificationDeprecated, gardencorev1beta1.ClassificationExpired,
	}
	out := gardencorev1beta1.ExpirableVersion{Version: v}
	if d.IntN(4) == 0 {
		start := noon.Add(time.Duration(d.IntN(7)-4) * time.Hour)
		for _, class := range classes {
			if d.IntN(2) == 0 {
				out.Lifecycle = append(out.Lifecycle, gardencorev1beta1.LifecycleStage{Classification: class,
					StartTime: ptr.To(metav1.NewTime(start))})
				start = start.Add(time.Duration(d.IntN(3)) * time.Hour)
			}
		}
		return out
	}
	if d.IntN(2) == 0 {
		out.Classification = ptr.To(classes[d.IntN(3)])
	}
	if d.IntN(3) == 0 {
		out.ExpirationDate = ptr.To(metav1.NewTime(noon.Add(time.Duration(d.IntN(3)-1) * time.Hour)))
	}
	return out
}

func (d dice) kubernetes() string { return fmt.Sprintf("1.%d.%d", 30+d.IntN(7), d.IntN(4)) }

func (d dice) imageVersion() string {
	return fmt.Sprintf("%d.%d.%d%s", 1+d.IntN(3), d.IntN(3), d.IntN(3), d.oneOf("", "", "", "-foo"))
}

// distinct rolls up to n different texts.
func distinct(n int, roll func() string) []string {
	var all []string
	seen := map[string]bool{}
	for range n {
		if text := roll(); !seen[text] {
			seen[text] = true
			all = append(all, text)
		}
	}
	return all
}

func (d dice) profile() *gardencorev1beta1.CloudProfile {
	profile := &gardencorev1beta1.CloudProfile{}
	for _, v := range distinct(4+d.IntN(12), d.kubernetes) {
		profile.Spec.Kubernetes.Versions = append(profile.Spec.Kubernetes.Versions, d.life(v))
	}
	profile.Spec.MachineTypes = []gardencorev1beta1.MachineType{{Name: "m"}}
	for _, name := range []string{"linux", "flat"} {
		image := gardencorev1beta1.MachineImage{Name: name}
		if strategy := d.oneOf("", "patch", "minor", "major"); strategy != "" {
			image.UpdateStrategy = ptr.To(gardencorev1beta1.MachineImageUpdateStrategy(strategy))
		}
		for _, v := range distinct(3+d.IntN(8), d.imageVersion) {
			image.Versions = append(image.Versions, d.image(v))
		}
		profile.Spec.MachineImages = append(profile.Spec.MachineImages, image)
	}
	return profile
}

func (d dice) image(v string) gardencorev1beta1.MachineImageVersion {
	image := gardencorev1beta1.MachineImageVersion{
		ExpirableVersion: d.life(v), Architectures: []string{"amd64"},
		CRI: []gardencorev1beta1.CRI{{Name: gardencorev1beta1.CRINameContainerD}},
	}
	if d.IntN(8) == 0 {
		image.Architectures = []string{"arm64"}
	}
	if d.IntN(4) == 0 {
		image.KubeletVersionConstraint = ptr.To(d.oneOf("< 1.33", ">= 1.32", "~1.34", ">= 1.31, < 1.35"))
	}
	if d.IntN(2) == 0 {
		image.InPlaceUpdates = &gardencorev1beta1.InPlaceUpdates{Supported: d.IntN(4) > 0,
			MinVersionForUpdate: ptr.To(d.imageVersion())}
	}
	return image
}

// listed is a version of the profile most of the time, so that not every update is forced.
func (d dice) listed(profile *gardencorev1beta1.CloudProfile) string {
	if d.IntN(4) == 0 {
		return d.kubernetes()
	}
	return profile.Spec.Kubernetes.Versions[d.IntN(len(profile.Spec.Kubernetes.Versions))].Version
}

func (d dice) shoot(profile *gardencorev1beta1.CloudProfile) *gardencorev1beta1.Shoot {
	shoot := &gardencorev1beta1.Shoot{}
	shoot.Spec.Kubernetes.Version = d.listed(profile)
	shoot.Spec.Maintenance = &gardencorev1beta1.Maintenance{AutoUpdate: &gardencorev1beta1.MaintenanceAutoUpdate{
		KubernetesVersion: d.IntN(2) == 0, MachineImageVersion: ptr.To(d.IntN(2) == 0),
	}}
	for i := range d.IntN(4) {
		offered := profile.Spec.MachineImages[d.IntN(2)]
		version := offered.Versions[d.IntN(len(offered.Versions))].Version
		if d.IntN(4) == 0 {
			version = d.imageVersion()
		}
		worker := gardencorev1beta1.Worker{
			Name: fmt.Sprint("pool-", i),
			Machine: gardencorev1beta1.Machine{Type: d.oneOf("m", "m", "m", "m", "gone"),
				Image: &gardencorev1beta1.ShootMachineImage{Name: offered.Name, Version: &version}},
		}
		if d.IntN(2) == 0 {
			worker.Kubernetes = &gardencorev1beta1.WorkerKubernetes{Version: ptr.To(d.listed(profile))}
		}
		if d.IntN(4) == 0 {
			worker.UpdateStrategy = ptr.To(gardencorev1beta1.MachineUpdateStrategy(d.oneOf("AutoInPlaceUpdate",
				"ManualInPlaceUpdate", "AutoRollingUpdate")))
		}
		shoot.Spec.Provider.Workers = append(shoot.Spec.Provider.Workers, worker)
	}
	return shoot
}
