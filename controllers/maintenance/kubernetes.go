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
func (d *decision) kubernetes(current string) version.Update { return d.component(current).Decide() }

func (d *decision) component(current string) version.Component {
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
	return component
}

// poolVersions decides about the pools' own versions, by their order; nil for pools that follow the control plane.
func (d *decision) poolVersions(controlPlane string) []*version.Update {
	updates := make([]*version.Update, len(d.before.Spec.Provider.Workers))
	for i := range d.before.Spec.Provider.Workers {
		worker := &d.before.Spec.Provider.Workers[i]
		if worker.Kubernetes == nil || worker.Kubernetes.Version == nil {
			continue
		}
		update := d.poolVersion(*worker.Kubernetes.Version, controlPlane)
		if refusal := d.refusal(worker, update); refusal != "" {
			update = update.Refused(refusal)
		}
		updates[i] = &update
	}
	return updates
}

// poolVersion keeps a pool from getting ahead of the control plane: it goes to the control plane's version instead
// (docs/specification/versions.md#spec-4-11-6). An automatic update that may not go there, because it is a preview or
// has expired, goes to one below.
func (d *decision) poolVersion(current, controlPlane string) version.Update {
	component := d.component(current)
	update := component.Decide()
	limit, err := semver.NewVersion(controlPlane)
	to, toErr := semver.NewVersion(update.To)
	if !update.Changes() || err != nil || toErr != nil || !to.GreaterThan(limit) {
		return update
	}
	ahead := version.Unchosen{Version: update.To, Why: fmt.Sprintf("is ahead of the control plane, which is at %s",
		controlPlane)}
	from, err := semver.NewVersion(current)
	switch own, offered := d.kubernetesOffers.Find(limit); {
	case err == nil && !from.LessThan(limit):
		update.Class, update.Cause, update.To = version.None, "", current
		update.Reason = fmt.Sprintf("The pool is not behind the control plane, which stays at %s", controlPlane)
	case !offered || update.Class == version.Forced || own.Qualifies():
		update.To = controlPlane
	default:
		component.Offers = component.Offers.UpTo(limit)
		component.Limit = fmt.Sprintf(
			"the control plane stays at %s, which is no version to update to automatically (it is %s), and the pool must not "+
				"get ahead of it", controlPlane, own.Class)
		update = component.Decide()
	}
	update.Unchosen = append([]version.Unchosen{ahead}, update.Unchosen...)
	return update
}
