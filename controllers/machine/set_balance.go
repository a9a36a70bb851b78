package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// balance makes the machines that are missing and deletes those too many. Machines in quarantine fill a gap, but are
// never too many: they, or another for them, go when their quarantine is over.
func (r *Sets) balance(ctx context.Context, set *machinev1alpha1.MachineSet,
	machines []*machinev1alpha1.Machine) (again time.Duration, err error) {
	var active, failed []*machinev1alpha1.Machine
	quarantined := int32(0)
	for _, m := range machines {
		switch left := r.quarantineLeft(m); {
		case m.DeletionTimestamp != nil:
			continue
		case m.Status.CurrentStatus.Phase == machinev1alpha1.MachineFailed:
			failed = append(failed, m)
			continue
		case left > 0:
			quarantined++
			again = max(again, left)
		}
		active = append(active, m)
	}
	if err := errors.Join(r.sync(ctx, set, active), r.replaceFailed(ctx, failed)); err != nil {
		return 0, err
	}
	present := int32(len(active))
	if missing := set.Spec.Replicas - present; missing > 0 {
		return again, r.add(ctx, set, missing)
	}
	return again, r.drop(ctx, active, present-quarantined-set.Spec.Replicas)
}

// sync lets machines that run take over what of the template makes no other machine of them.
func (r *Sets) sync(ctx context.Context, set *machinev1alpha1.MachineSet, active []*machinev1alpha1.Machine) error {
	for _, m := range active {
		if err := client.IgnoreNotFound(patch.LockedObject(ctx, r.Control, m, func() {
			m.Spec.NodeTemplateSpec = *set.Spec.Template.Spec.NodeTemplateSpec.DeepCopy()
			m.Spec.MachineConfiguration = set.Spec.Template.Spec.MachineConfiguration.DeepCopy()
		})); err != nil {
			return err
		}
	}
	return nil
}

// replaceFailed deletes one failed machine at a time; the set then misses it. One at a time, so that whatever makes
// machines fail does not take all of them at once.
func (r *Sets) replaceFailed(ctx context.Context, failed []*machinev1alpha1.Machine) error {
	if len(failed) == 0 {
		return nil
	}
	slices.SortFunc(failed, func(a, b *machinev1alpha1.Machine) int { return cmp.Compare(a.Name, b.Name) })
	return r.delete(ctx, failed[0])
}

// quarantineLeft is how long a machine is not one too many. Where all machines of the shoot go by force, it goes with
// them.
func (r *Sets) quarantineLeft(m *machinev1alpha1.Machine) time.Duration {
	if isForced(m) {
		return 0
	}
	until, err := time.Parse(time.RFC3339, m.Annotations[annotationQuarantine])
	if err != nil {
		return 0
	}
	return max(until.Sub(r.Clock.Now()), 0)
}

// add adopts what machines of the set are there already, and creates the rest.
func (r *Sets) add(ctx context.Context, set *machinev1alpha1.MachineSet, missing int32) error {
	adopted, err := r.Orphans.adoptFor(ctx, set)
	if err != nil {
		return err
	}
	for range missing - adopted {
		m := newMachine(set, set.Name+"-"+rand.String(5))
		if err := r.Control.Create(ctx, m); err != nil {
			return fmt.Errorf("create Machine %q: %w", m.Name, err)
		}
	}
	return nil
}

// newMachine is a Machine of a set that has no machine in the cloud yet.
func newMachine(set *machinev1alpha1.MachineSet, name string) *machinev1alpha1.Machine {
	template := set.Spec.Template.DeepCopy()
	return &machinev1alpha1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: name, Labels: template.Labels, Annotations: template.Annotations,
			Finalizers: []string{constants.FinalizerMachineControllerManager},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set,
				machinev1alpha1.SchemeGroupVersion.WithKind("MachineSet"))},
		},
		Spec: template.Spec,
	}
}

func (r *Sets) drop(ctx context.Context, active []*machinev1alpha1.Machine, surplus int32) error {
	if surplus <= 0 {
		return nil
	}
	candidates := slices.DeleteFunc(slices.Clone(active), func(m *machinev1alpha1.Machine) bool {
		return r.quarantineLeft(m) > 0
	})
	slices.SortStableFunc(candidates, goesBefore)
	for _, m := range candidates[:min(int(surplus), len(candidates))] {
		if err := r.delete(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// goesBefore orders machines by who goes first: lower priority, then what is no healthy node, then the younger.
func goesBefore(a, b *machinev1alpha1.Machine) int {
	return cmp.Or(
		cmp.Compare(priority(a), priority(b)),
		cmp.Compare(health(a), health(b)),
		b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

func priority(m *machinev1alpha1.Machine) int {
	p, err := strconv.Atoi(m.Annotations[annotationPriority])
	if err != nil {
		return 3
	}
	return p
}

func health(m *machinev1alpha1.Machine) int {
	switch m.Status.CurrentStatus.Phase {
	case machinev1alpha1.MachineRunning:
		return 2
	case machinev1alpha1.MachineUnknown, "": // not looked at yet, after a restoration
		return 1
	}
	return 0
}

// delete ends a machine that is as it was looked at: one that has been given to another set meanwhile is not this set's
// to end.
func (r *Sets) delete(ctx context.Context, m *machinev1alpha1.Machine) error {
	if err := client.IgnoreNotFound(r.Control.Delete(ctx, m,
		client.Preconditions{UID: &m.UID, ResourceVersion: &m.ResourceVersion})); err != nil {
		return fmt.Errorf("delete Machine %q: %w", m.Name, err)
	}
	return nil
}
