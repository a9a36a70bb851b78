package maintenance

import (
	"fmt"

	"github.com/Masterminds/semver/v3"

	"github.com/transplant-sim/transplant/controllers/maintenance/version"
)

// kubernetesSwitch is the field that turns automatic updates of Kubernetes on.
const kubernetesSwitch = "spec.maintenance.autoUpdate.kubernetesVersion"

// maintainKubernetes decides about the control plane first, then about the pools with a version of their own, which
// must not get ahead of it.
func (d *decision) maintainKubernetes() {
	wanted := d.kubernetes(d.before.Spec.Kubernetes.Version)
	pools := d.poolVersions(wanted.To)
	if obstacle := d.obstacle(wanted, pools); obstacle != "" {
		// Admission would refuse it, and with it all the rest.
		wanted = wanted.Refused(obstacle)
		pools = d.poolVersions(wanted.To)
	}
	d.plan.ControlPlane = wanted
	d.shoot.Spec.Kubernetes.Version = wanted.To
	for i := range d.shoot.Spec.Provider.Workers {
		worker := &d.shoot.Spec.Provider.Workers[i]
		if pools[i] != nil && pools[i].Changes() {
			worker.Kubernetes.Version = &pools[i].To
		}
		d.plan.Pools = append(d.plan.Pools, Pool{Name: worker.Name, Kubernetes: pools[i]})
	}
}

// kubernetes decides about one Kubernetes version.
func (d *decision) kubernetes(current string) version.Update {
	auto, _ := autoUpdates(d.before)
	component := version.Component{
		Noun: "Kubernetes", Switch: kubernetesSwitch, Current: current,
		Offers: d.kubernetesOffers, Strategy: version.Kubernetes, AutoUpdate: auto,
	}
	if number, err := version.Parse(current); err == nil {
		if known, found := d.kubernetesOffers.Find(number); found {
			component.Known = &known
		}
	}
	return component.Decide()
}

// poolVersions decides about the pools' own versions, by their order; nil for pools that follow the control plane.
func (d *decision) poolVersions(controlPlane string) []*version.Update {
	updates := make([]*version.Update, len(d.before.Spec.Provider.Workers))
	for i := range d.before.Spec.Provider.Workers {
		worker := &d.before.Spec.Provider.Workers[i]
		if worker.Kubernetes == nil || worker.Kubernetes.Version == nil {
			continue
		}
		update := capped(d.kubernetes(*worker.Kubernetes.Version), controlPlane)
		if refusal := d.refusal(worker, update); refusal != "" {
			update = update.Refused(refusal)
		}
		updates[i] = &update
	}
	return updates
}

// capped keeps a pool from getting ahead of the control plane. What leads nowhere then is no update (SPEC 4.11, 6).
func capped(update version.Update, controlPlane string) version.Update {
	limit, err := semver.NewVersion(controlPlane)
	to, toErr := semver.NewVersion(update.To)
	if !update.Changes() || err != nil || toErr != nil || !to.GreaterThan(limit) {
		return update
	}
	update.Held = append([]version.Held{{Version: update.To, Why: fmt.Sprintf("is ahead of the control plane, which is at %s", controlPlane)}}, update.Held...)
	update.To = controlPlane
	if from, err := semver.NewVersion(update.From); err == nil && !from.LessThan(limit) {
		update.Class, update.Cause, update.To = version.None, "", update.From
		update.Reason = fmt.Sprintf("The pool is not behind the control plane, which stays at %s", controlPlane)
	}
	return update
}
