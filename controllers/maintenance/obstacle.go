package maintenance

import (
	"fmt"
	"slices"

	"github.com/Masterminds/semver/v3"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/maintenance/image"
	"github.com/transplant-sim/transplant/controllers/maintenance/version"
	"github.com/transplant-sim/transplant/controllers/maintenance/versionrules"
)

// obstacle is why admission would refuse an update of the control plane, and with it the whole maintenance; "" if it
// would not (docs/specification/versions.md#spec-4-11-2).
func (d *decision) obstacle(update version.Update, pools []*version.Update) string {
	to, err := semver.NewVersion(update.To)
	if err != nil || !update.Changes() {
		return ""
	}
	for i := range d.before.Spec.Provider.Workers {
		worker := &d.before.Spec.Provider.Workers[i]
		if pools[i] == nil {
			if refusal := d.refusal(worker, update); refusal != "" {
				return refusal
			}
			continue
		}
		own, err := semver.NewVersion(pools[i].To)
		if err == nil && own.Major() == to.Major() && own.Minor()+versionrules.MaxSkew < to.Minor() {
			return fmt.Sprintf("worker pool %q would stay at %s, more than %d minor versions behind %s: update the pool first",
				worker.Name, pools[i].To, versionrules.MaxSkew, update.To)
		}
	}
	return ""
}

// refusal is why a pool cannot follow an update of its Kubernetes version; "" if it can.
func (d *decision) refusal(worker *gardencorev1beta1.Worker, update version.Update) string {
	from, fromErr := semver.NewVersion(update.From)
	to, err := semver.NewVersion(update.To)
	if fromErr != nil || err != nil || !update.Changes() {
		return ""
	}
	if pendingInPlace(d.before, worker) && (from.Major() != to.Major() || from.Minor() != to.Minor()) {
		return fmt.Sprintf("worker pool %q cannot go to %s before its in-place update is over", worker.Name, update.To)
	}
	if !d.outgrown(worker, from, to) {
		return ""
	}
	if next, judged := d.imageFor(worker, from, to); judged && next.Changes() {
		return ""
	}
	return fmt.Sprintf("worker pool %q cannot go to %s: its machine image %q %s does not fit that kubelet version, and "+
		"there is none to update to",
		worker.Name, update.To, worker.Machine.Image.Name, *worker.Machine.Image.Version)
}

// outgrown is whether a pool's image is offered and fits the kubelet version before, but not the one after.
func (d *decision) outgrown(worker *gardencorev1beta1.Worker, before, after *semver.Version) bool {
	if worker.Machine.Image == nil || worker.Machine.Image.Version == nil || before == nil || after == nil {
		return false
	}
	offered, found := findImage(d.profile, worker.Machine.Image.Name)
	machineType, typeFound := findMachineType(d.profile, worker.Machine.Type)
	if !found || !typeFound {
		return false
	}
	i := slices.IndexFunc(offered.Versions, func(v gardencorev1beta1.MachineImageVersion) bool {
		return v.Version == *worker.Machine.Image.Version
	})
	if i < 0 {
		return false
	}
	pool := image.Pool{Worker: worker, MachineType: machineType, Capabilities: d.profile.Spec.MachineCapabilities,
		Kubelet: before}
	if pool.Misfit(offered.Versions[i]) != "" {
		return false
	}
	pool.Kubelet = after
	return pool.Misfit(offered.Versions[i]) != ""
}

// pendingInPlace is whether a pool's in-place update is still going on. Until it is over, admission lets nothing change
// that would need another one, unless the shoot asks for it to be forced.
func pendingInPlace(shoot *gardencorev1beta1.Shoot, worker *gardencorev1beta1.Worker) bool {
	if !worker.UpdatesInPlace() || shoot.Status.InPlaceUpdates == nil ||
		shoot.Status.InPlaceUpdates.PendingWorkerUpdates == nil ||
		slices.Contains(operations(shoot, constants.GardenerOperation), constants.ShootOperationForceInPlaceUpdate) {
		return false
	}
	pending := shoot.Status.InPlaceUpdates.PendingWorkerUpdates
	return slices.Contains(pending.AutoInPlaceUpdate, worker.Name) || slices.Contains(pending.ManualInPlaceUpdate,
		worker.Name)
}
