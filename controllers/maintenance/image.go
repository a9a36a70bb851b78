package maintenance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/image"
	"github.com/transplant-sim/transplant/controllers/maintenance/version"
)

// imageSwitch is the field that turns automatic updates of machine images on.
const imageSwitch = "spec.maintenance.autoUpdate.machineImageVersion"

// maintainImages decides about the pools' images once the Kubernetes versions are known that they must fit
// (docs/specification/versions.md#spec-4-11-3). Every pool is decided about by itself
// (docs/specification/versions.md#spec-4-11-4).
func (d *decision) maintainImages() {
	for i := range d.shoot.Spec.Provider.Workers {
		worker := &d.shoot.Spec.Provider.Workers[i]
		if worker.Machine.Image == nil || worker.Machine.Image.Version == nil {
			continue
		}
		before := kubelet(d.before, &d.before.Spec.Provider.Workers[i])
		update, _ := d.imageFor(worker, before, kubelet(d.shoot, worker))
		if update.Changes() && pendingInPlace(d.before, worker) {
			update = update.Refused("the pool's in-place update is still going on")
		}
		if update.Changes() {
			worker.Machine.Image.Version = &update.To
		}
		d.plan.Pools[i].MachineImage = &update
	}
}

// imageFor decides about one pool's image, between two versions of its kubelets. It is false if the profile does not
// know enough about the pool to judge.
func (d *decision) imageFor(worker *gardencorev1beta1.Worker, before, after *semver.Version) (version.Update, bool) {
	current := *worker.Machine.Image.Version
	stays := version.Update{From: current, To: current, Class: version.None}
	offered, found := findImage(d.profile, worker.Machine.Image.Name)
	if !found {
		stays.Class, stays.Cause = version.Failed, version.BecauseUnknown
		stays.Reason = fmt.Sprintf("Machine image %q does not exist in CloudProfile", worker.Machine.Image.Name)
		stays.Failure = fmt.Sprintf("the CloudProfile has no machine image %q: move the pool to another image",
			worker.Machine.Image.Name)
		return stays, false
	}
	machineType, found := findMachineType(d.profile, worker.Machine.Type)
	if !found {
		stays.Reason = fmt.Sprintf(
			"The machine type %q does not exist in CloudProfile, so that nothing is known about which images fit it",
			worker.Machine.Type)
		return stays, false
	}
	pool := image.Pool{Worker: worker, Kubelet: after, MachineType: machineType,
		Capabilities: d.profile.Spec.MachineCapabilities}
	component := d.imageComponent(offered, pool)
	if d.outgrown(worker, before, after) {
		component.Misfit = fmt.Sprintf("it does not fit the kubelet version %s that the pool gets", after)
	}
	return component.Decide(), true
}

// imageComponent puts the question about one pool's image.
func (d *decision) imageComponent(offered *gardencorev1beta1.MachineImage, pool image.Pool) version.Component {
	_, auto := autoUpdates(d.before)
	component := version.Component{
		Noun: fmt.Sprintf("machine image %q", offered.Name), Switch: imageSwitch,
		Current: *pool.Worker.Machine.Image.Version, Strategy: version.ImageStrategy(offered), AutoUpdate: auto,
	}
	var all, fitting []gardencorev1beta1.ExpirableVersion
	for _, v := range offered.Versions {
		all = append(all, v.ExpirableVersion)
		if why := pool.Misfit(v); why != "" {
			component.Unfit = append(component.Unfit, version.Unchosen{Version: v.Version, Why: why})
			continue
		}
		fitting = append(fitting, v.ExpirableVersion)
	}
	component.Offers, _ = version.OffersAt(fitting, d.now)
	offers, _ := version.OffersAt(all, d.now)
	if known, found := offers.FindText(component.Current); found {
		component.Known = &known
	}
	return component
}

// kubelet is the version of a pool's kubelets; nil if it cannot be read.
func kubelet(shoot *gardencorev1beta1.Shoot, worker *gardencorev1beta1.Worker) *semver.Version {
	number, err := semver.NewVersion(worker.KubernetesVersion(shoot))
	if err != nil {
		return nil
	}
	return number
}

// findImage does not look at the case of a name, as in Gardener. Admission does, so it matters only to explain.
func findImage(profile *gardencorev1beta1.CloudProfile, name string) (*gardencorev1beta1.MachineImage, bool) {
	images := profile.Spec.MachineImages
	i := slices.IndexFunc(images, func(offered gardencorev1beta1.MachineImage) bool {
		return strings.EqualFold(offered.Name, name)
	})
	if i < 0 {
		return nil, false
	}
	return &images[i], true
}

func findMachineType(profile *gardencorev1beta1.CloudProfile, name string) (*gardencorev1beta1.MachineType, bool) {
	types := profile.Spec.MachineTypes
	i := slices.IndexFunc(types, func(offered gardencorev1beta1.MachineType) bool { return offered.Name == name })
	if i < 0 {
		return nil, false
	}
	return &types[i], true
}
