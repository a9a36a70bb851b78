package machine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/machine/rollingupdate"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Deployments keeps one MachineSet per class of a MachineDeployment, and moves the machines from old classes to the
// present one.
type Deployments struct {
	Control client.Client
	Target  client.Client // the shoot; for updates in place
	Clock   clock.PassiveClock
}

var _ reconcile.Reconciler = &Deployments{}

// Reconcile implements reconcile.Reconciler.
func (r *Deployments) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	d := &machinev1alpha1.MachineDeployment{}
	if err := r.Control.Get(ctx, req.NamespacedName, d); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	sets, err := r.sets(ctx, d)
	if err != nil {
		return reconcile.Result{}, retryConflict(err)
	}
	if d.DeletionTimestamp != nil {
		return reconcile.Result{}, retryConflict(r.remove(ctx, d, sets))
	}
	err = r.reconcile(ctx, d, sets)
	if apierrors.IsConflict(err) {
		// Nodes are written too, and what others write of them wakes only the machines.
		return reconcile.Result{RequeueAfter: conflictPause}, nil
	}
	return reconcile.Result{}, retryConflict(err)
}

func (r *Deployments) reconcile(ctx context.Context, d *machinev1alpha1.MachineDeployment,
	sets []*machinev1alpha1.MachineSet) error {
	if err := hold(ctx, r.Control, d); err != nil {
		return err
	}
	current, old := split(d, sets)
	if current == nil {
		made, err := r.create(ctx, d)
		if err != nil {
			return err
		}
		current, sets = made, append(sets, made)
	}
	sizes, err := r.sizes(ctx, d.Namespace, sets)
	if err != nil {
		return err
	}
	next := map[string]int32{current.Name: d.Spec.Replicas}
	switch {
	case d.Spec.Paused:
	case rollingupdate.InPlace(d):
		if next, err = r.updateInPlace(ctx, d, current, old); err != nil {
			return err
		}
	default:
		var oldSizes []rollingupdate.Size
		for _, set := range old {
			oldSizes = append(oldSizes, sizes[set.Name])
		}
		next = rollingupdate.Plan(d.Spec.Replicas, d.Spec.Strategy, sizes[current.Name], oldSizes)
	}
	if err := r.scale(ctx, d, current, old, next); err != nil {
		return err
	}
	if err := r.prune(ctx, old, sizes); err != nil {
		return err
	}
	return r.status(ctx, d, current, sets)
}

// sets are the deployment's, by name. Those that were restored name no owner and are adopted by their labels.
func (r *Deployments) sets(ctx context.Context, d *machinev1alpha1.MachineDeployment) ([]*machinev1alpha1.MachineSet,
	error) {
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("read the selector of MachineDeployment %q: %w", d.Name, err)
	}
	all := &machinev1alpha1.MachineSetList{}
	if err := r.Control.List(ctx, all, client.InNamespace(d.Namespace),
		client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("list the sets of MachineDeployment %q: %w", d.Name, err)
	}
	var sets []*machinev1alpha1.MachineSet
	for i := range all.Items {
		set := &all.Items[i]
		mine, err := claim(ctx, r.Control, set, d, "MachineDeployment")
		if err != nil {
			return nil, err
		}
		if mine {
			sets = append(sets, set)
		}
	}
	slices.SortFunc(sets, func(a, b *machinev1alpha1.MachineSet) int { return strings.Compare(a.Name, b.Name) })
	return sets, nil
}

// claim makes owner the controller of an object that has none, unless either is going; it says whether owner is.
func claim[T client.Object](ctx context.Context, c client.Client, obj T, owner client.Object, kind string) (bool,
	error) {
	if ref := metav1.GetControllerOf(obj); ref != nil {
		return ref.UID == owner.GetUID(), nil
	}
	if obj.GetDeletionTimestamp() != nil || owner.GetDeletionTimestamp() != nil {
		return owner.GetDeletionTimestamp() != nil, nil
	}
	err := patch.LockedObject(ctx, c, obj, func() {
		ref := *metav1.NewControllerRef(owner, machinev1alpha1.SchemeGroupVersion.WithKind(kind))
		obj.SetOwnerReferences(append(obj.GetOwnerReferences(), ref))
	})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// split distinguishes the set of the deployment's class from the older ones. Only the class counts: everything else in
// the template is taken over by machines that run (docs/specification/versions.md#spec-4-8).
func split(d *machinev1alpha1.MachineDeployment,
	sets []*machinev1alpha1.MachineSet) (current *machinev1alpha1.MachineSet, old []*machinev1alpha1.MachineSet) {
	for _, set := range sets {
		if current == nil && set.DeletionTimestamp == nil &&
			set.Spec.Template.Spec.Class.Name == d.Spec.Template.Spec.Class.Name {
			current = set
			continue
		}
		old = append(old, set)
	}
	return current, old
}

// create makes the set of the deployment's class, empty at first. Its name follows from the class, so that a set that
// was made already is met again.
func (r *Deployments) create(ctx context.Context, d *machinev1alpha1.MachineDeployment) (*machinev1alpha1.MachineSet,
	error) {
	sum := sha256.Sum256([]byte(d.Spec.Template.Spec.Class.Name))
	hash := hex.EncodeToString(sum[:])[:5]
	set := &machinev1alpha1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: d.Name + "-" + hash,
			Labels:     labels.Merge(d.Spec.Template.Labels, labels.Set{machinev1alpha1.LabelMachineTemplateHash: hash}),
			Finalizers: []string{constants.FinalizerMachineControllerManager},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d,
				machinev1alpha1.SchemeGroupVersion.WithKind("MachineDeployment"))},
		},
		Spec: machinev1alpha1.MachineSetSpec{
			Selector: metav1.AddLabelToSelector(d.Spec.Selector.DeepCopy(), machinev1alpha1.LabelMachineTemplateHash, hash),
			Template: *d.Spec.Template.DeepCopy(), MinReadySeconds: d.Spec.MinReadySeconds,
		},
	}
	set.Spec.Template.Labels = labels.Merge(set.Spec.Template.Labels,
		labels.Set{machinev1alpha1.LabelMachineTemplateHash: hash})
	if err := r.Control.Create(ctx, set); err != nil {
		return nil, fmt.Errorf("create MachineSet %q: %w", set.Name, err)
	}
	return set, nil
}

// scale writes the planned sizes, and what of the template the machines take over as they are.
func (r *Deployments) scale(ctx context.Context, d *machinev1alpha1.MachineDeployment,
	current *machinev1alpha1.MachineSet, old []*machinev1alpha1.MachineSet, next map[string]int32) error {
	for _, set := range append([]*machinev1alpha1.MachineSet{current}, old...) {
		if set.DeletionTimestamp != nil {
			continue
		}
		if err := patch.LockedObject(ctx, r.Control, set, func() {
			if size, planned := next[set.Name]; planned {
				set.Spec.Replicas = size
			}
			set.Spec.Template.Spec.NodeTemplateSpec = *d.Spec.Template.Spec.NodeTemplateSpec.DeepCopy()
			set.Spec.Template.Spec.MachineConfiguration = d.Spec.Template.Spec.MachineConfiguration.DeepCopy()
			set.Spec.MinReadySeconds = d.Spec.MinReadySeconds
		}); err != nil {
			return err
		}
	}
	return nil
}

// prune deletes old sets that are empty.
func (r *Deployments) prune(ctx context.Context, old []*machinev1alpha1.MachineSet,
	sizes map[string]rollingupdate.Size) error {
	for _, set := range old {
		if set.Spec.Replicas > 0 || sizes[set.Name].Actual > 0 || set.DeletionTimestamp != nil {
			continue
		}
		if err := client.IgnoreNotFound(r.Control.Delete(ctx, set)); err != nil {
			return fmt.Errorf("delete MachineSet %q: %w", set.Name, err)
		}
	}
	return nil
}

func (r *Deployments) remove(ctx context.Context, d *machinev1alpha1.MachineDeployment,
	sets []*machinev1alpha1.MachineSet) error {
	if !hasFinalizer(d) {
		return nil
	}
	for _, set := range sets {
		if set.DeletionTimestamp == nil {
			if err := client.IgnoreNotFound(r.Control.Delete(ctx, set)); err != nil {
				return fmt.Errorf("delete MachineSet %q: %w", set.Name, err)
			}
		}
	}
	if len(sets) > 0 {
		return nil // the end of the last set wakes
	}
	return removeFinalizers(ctx, r.Control, d)
}
