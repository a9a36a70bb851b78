package maintenance

import (
	"slices"
	"time"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/maintenance/sidechange"
	"github.com/transplant-sim/transplant/controllers/maintenance/version"
	"github.com/transplant-sim/transplant/controllers/maintenance/window"
)

// Config is what the operators of a landscape decide about maintenance.
type Config struct {
	// RestartControlPlane restarts the pods of the control plane in every maintenance, RestartCoreAddons the system
	// components.
	RestartControlPlane, RestartCoreAddons bool
	// DisableNginxIngress switches the nginx addon off.
	DisableNginxIngress bool
}

// Plan is what a maintenance does.
type Plan struct {
	// ControlPlane is about the Kubernetes version of the control plane.
	ControlPlane version.Update
	// Pools are about the worker pools, in their order.
	Pools []Pool
	// Rotations are the credentials whose rotation is due.
	Rotations []Rotation
	// SideChanges are sentences, without a full stop, about what else changes in the specification.
	SideChanges []string
	// Operation is what the annotation gardener.cloud/operation asks for afterwards; "" if for nothing.
	Operation string
	// Shoot is the shoot as it shall be: specification, annotations and status.lastMaintenance. State Succeeded there
	// holds once the rest has been written.
	Shoot *gardencorev1beta1.Shoot
}

// Pool is what a maintenance does to a worker pool.
type Pool struct {
	// Name is the pool's name.
	Name string
	// Kubernetes is about the pool's own Kubernetes version; nil if it follows the control plane.
	Kubernetes *version.Update
	// MachineImage is about the version of the pool's image; nil if the pool names none.
	MachineImage *version.Update
}

// Due is whether a shoot is maintained now: in its effective window, or because it is asked for
// (docs/specification/versions.md#spec-4-6).
func Due(shoot *gardencorev1beta1.Shoot, now time.Time) bool {
	return shoot.DeletionTimestamp == nil && (AskedFor(shoot) || window.EffectiveOf(shoot).Contains(now))
}

// AskedFor is whether the operation annotation asks for maintenance.
func AskedFor(shoot *gardencorev1beta1.Shoot) bool {
	return slices.Contains(operations(shoot, constants.GardenerOperation), constants.ShootOperationMaintain)
}

// Decide says what the maintenance of a shoot does at a moment, due or not. It changes neither shoot nor profile.
func Decide(shoot *gardencorev1beta1.Shoot, profile *gardencorev1beta1.CloudProfile, now time.Time,
	config Config) Plan {
	d := &decision{before: shoot, shoot: shoot.DeepCopy(), profile: profile, now: now}
	d.kubernetesOffers, _ = version.OffersAt(profile.Spec.Kubernetes.Versions, now)
	d.maintainKubernetes()
	d.maintainImages()
	d.plan.SideChanges = sidechange.Apply(&d.shoot.Spec, shoot.Spec.Kubernetes.Version)
	if config.DisableNginxIngress {
		d.plan.SideChanges = append(d.plan.SideChanges, sidechange.DisableNginxIngress(&d.shoot.Spec)...)
	}
	d.plan.Rotations = dueRotations(shoot, now)
	d.plan.Operation = operate(d.shoot, d.plan.Rotations)
	addTasks(d.shoot, config)
	d.plan.Shoot = d.shoot
	d.shoot.Status.LastMaintenance = outcome(d.plan, shoot.Status.LastMaintenance, now)
	return d.plan
}

// decision is the work on one plan.
type decision struct {
	before, shoot    *gardencorev1beta1.Shoot
	profile          *gardencorev1beta1.CloudProfile
	now              time.Time
	kubernetesOffers version.Offers
	plan             Plan
}

// autoUpdates says which automatic updates are on; where nothing is said, all are.
func autoUpdates(shoot *gardencorev1beta1.Shoot) (kubernetes, images bool) {
	if shoot.Spec.Maintenance == nil || shoot.Spec.Maintenance.AutoUpdate == nil {
		return true, true
	}
	update := shoot.Spec.Maintenance.AutoUpdate
	return update.KubernetesVersion, update.MachineImageVersion == nil || *update.MachineImageVersion
}
