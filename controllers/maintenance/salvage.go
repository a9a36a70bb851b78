package maintenance

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/version"
)

// part is something that a plan changes and that can be left out.
type part struct {
	// apply makes the change to a shoot, refuse notes in the plan why it was not made.
	apply  func(*gardencorev1beta1.Shoot)
	refuse func(why string)
}

// salvage carries out what it can of a plan that the API server refuses as a whole: one part after the other, so that
// the refusal of one does not undo the others (docs/specification/versions.md#spec-4-11-2). It returns the plan without
// what was refused, and whether anything of it is left. accepted asks about a shoot without writing it; it returns why
// not, or "".
func salvage(ctx context.Context, before *gardencorev1beta1.Shoot, plan Plan,
	accepted func(context.Context, *gardencorev1beta1.Shoot) (string, error)) (Plan, bool, error) {
	wanted := plan.Shoot
	plan.Pools = slices.Clone(plan.Pools)
	reached := wanted.DeepCopy()
	before.Spec.DeepCopyInto(&reached.Spec)
	some := false
	for _, p := range parts(before, wanted, &plan) {
		attempt := reached.DeepCopy()
		p.apply(attempt)
		if equality.Semantic.DeepEqual(attempt.Spec, reached.Spec) {
			continue
		}
		why, err := accepted(ctx, attempt)
		if err != nil {
			return plan, false, err
		}
		if why != "" {
			p.refuse("the API server refuses it: " + why)
			continue
		}
		reached, some = attempt, true
	}
	plan.Shoot = reached
	return plan, some, nil
}

func parts(before, wanted *gardencorev1beta1.Shoot, plan *Plan) []part {
	all := []part{{
		apply: func(shoot *gardencorev1beta1.Shoot) { controlPlanePart(shoot, before, wanted) },
		refuse: func(why string) {
			if plan.ControlPlane.Changes() {
				plan.ControlPlane = turnedDown(plan.ControlPlane, why)
				plan.SideChanges = nil
				return
			}
			for i := range plan.SideChanges {
				plan.SideChanges[i] = "Not done: " + plan.SideChanges[i] + ". " + why
			}
		},
	}}
	for i := range plan.Pools {
		pool := &plan.Pools[i]
		if pool.Kubernetes != nil && pool.Kubernetes.Changes() {
			all = append(all, part{
				apply: func(shoot *gardencorev1beta1.Shoot) {
					shoot.Spec.Provider.Workers[i].Kubernetes.Version = &pool.Kubernetes.To
				},
				refuse: func(why string) { pool.Kubernetes = refused(pool.Kubernetes, why) },
			})
		}
		if pool.MachineImage != nil && pool.MachineImage.Changes() {
			all = append(all, part{
				apply: func(shoot *gardencorev1beta1.Shoot) {
					shoot.Spec.Provider.Workers[i].Machine.Image.Version = &pool.MachineImage.To
				},
				refuse: func(why string) { pool.MachineImage = refused(pool.MachineImage, why) },
			})
		}
	}
	return all
}

// controlPlanePart is everything but the versions of the pools: side changes go with the control plane's version.
func controlPlanePart(shoot, before, wanted *gardencorev1beta1.Shoot) {
	wanted.Spec.DeepCopyInto(&shoot.Spec)
	for i := range shoot.Spec.Provider.Workers {
		worker, was := &shoot.Spec.Provider.Workers[i], before.Spec.Provider.Workers[i].DeepCopy()
		if worker.Kubernetes != nil && was.Kubernetes != nil {
			worker.Kubernetes.Version = was.Kubernetes.Version
		}
		if worker.Machine.Image != nil && was.Machine.Image != nil {
			worker.Machine.Image.Version = was.Machine.Image.Version
		}
	}
}

func refused(update *version.Update, why string) *version.Update {
	down := turnedDown(*update, why)
	return &down
}

func turnedDown(update version.Update, why string) version.Update {
	unchosen := version.Unchosen{Version: update.To, Why: why}
	update.To, update.Class, update.Failure = update.From, version.Failed, why
	update.Unchosen = append([]version.Unchosen{unchosen}, update.Unchosen...)
	return update
}
