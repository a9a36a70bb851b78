package machine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/machine/rollingupdate"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// annotationMoving is on two sets, with the name of the machine that is going from one to the other.
const annotationMoving = "transplant.dev/moving-machine"

// annotationCandidateFor is on nodes that are candidates, with the class that they are to be updated to.
const annotationCandidateFor = "transplant.dev/candidate-for"

// candidate is a machine of an older class, with its node.
type candidate struct {
	machine *machinev1alpha1.Machine
	set     *machinev1alpha1.MachineSet
	node    *corev1.Node
}

// updateInPlace takes machines that were updated over into the current set, and, unless users do, selects those that
// are next (docs/specification/versions.md#spec-4-9). It says how many machines each set should have.
func (r *Deployments) updateInPlace(ctx context.Context, d *machinev1alpha1.MachineDeployment,
	current *machinev1alpha1.MachineSet, old []*machinev1alpha1.MachineSet) (map[string]int32, error) {
	machines := &machinev1alpha1.MachineList{}
	if err := r.Control.List(ctx, machines, client.InNamespace(d.Namespace)); err != nil {
		return nil, fmt.Errorf("list the machines: %w", err)
	}
	if err := r.endMoves(ctx, current, old, machines); err != nil {
		return nil, err
	}
	if d.Spec.Replicas == 0 {
		return none(current, old), nil // nothing is left to update: the shoot, which may not answer, is not asked
	}
	candidates, nodes, err := r.candidates(ctx, current, old, machines)
	if err != nil {
		return nil, err
	}
	for _, c := range candidates {
		if c.node.Labels[machinev1alpha1.LabelUpdateResult] == machinev1alpha1.UpdateSuccessful && chosen(c.node) {
			if err := r.move(ctx, c.machine, c.set, current); err != nil {
				return nil, err
			}
			nodes = append(nodes, c.node)
		}
	}
	for _, node := range nodes {
		if err := r.release(ctx, node); err != nil {
			return nil, err
		}
	}
	sizes, err := r.sizes(ctx, d.Namespace, append([]*machinev1alpha1.MachineSet{current}, old...))
	if err != nil {
		return nil, err
	}
	var oldSizes []rollingupdate.Size
	for _, set := range old {
		oldSizes = append(oldSizes, sizes[set.Name])
	}
	next, take := rollingupdate.PlanInPlace(d, sizes[current.Name], oldSizes, underWay(candidates))
	return next, r.choose(ctx, candidates, take)
}

// none is the plan of a deployment that wants no machines.
func none(current *machinev1alpha1.MachineSet, old []*machinev1alpha1.MachineSet) map[string]int32 {
	next := map[string]int32{current.Name: 0}
	for _, set := range old {
		next[set.Name] = 0
	}
	return next
}

// candidates are the machines of older classes whose nodes are there, by name, each labelled as one; and the nodes of
// machines of the current class that still carry labels of an update.
func (r *Deployments) candidates(ctx context.Context, current *machinev1alpha1.MachineSet,
	old []*machinev1alpha1.MachineSet, machines *machinev1alpha1.MachineList) (candidates []candidate, done []*corev1.Node,
	err error) {
	all := &corev1.NodeList{}
	if err := r.Target.List(ctx, all); err != nil {
		return nil, nil, fmt.Errorf("list the nodes of the shoot: %w", err)
	}
	nodes := map[string]*corev1.Node{}
	for i := range all.Items {
		nodes[all.Items[i].Name] = &all.Items[i]
	}
	for i := range machines.Items {
		m := &machines.Items[i]
		node := nodes[m.Labels[machinev1alpha1.LabelNode]]
		if m.DeletionTimestamp != nil || node == nil {
			continue
		}
		if belongs(m, current) && node.Labels[machinev1alpha1.LabelCandidateForUpdate] != "" {
			done = append(done, node)
		}
		for _, set := range old {
			if belongs(m, set) {
				candidates = append(candidates, candidate{m, set, node})
			}
		}
	}
	slices.SortFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.machine.Name, b.machine.Name) })
	for _, c := range candidates {
		if err := r.nominate(ctx, c.node, current.Spec.Template.Spec.Class.Name); err != nil {
			return nil, nil, err
		}
	}
	return candidates, done, nil
}

// nominate a node for its update to a class. That it could not be updated to another one is forgotten: users mend an
// update that fails by a further one, with force (docs/specification/README.md#s2).
func (r *Deployments) nominate(ctx context.Context, node *corev1.Node, class string) error {
	return client.IgnoreNotFound(patch.LockedObject(ctx, r.Target, node, func() {
		metav1.SetMetaDataLabel(&node.ObjectMeta, machinev1alpha1.LabelCandidateForUpdate, machinev1alpha1.LabelTrue)
		if before := node.Annotations[annotationCandidateFor]; before != "" && before != class &&
			node.Labels[machinev1alpha1.LabelUpdateResult] == machinev1alpha1.UpdateFailed {
			delete(node.Labels, machinev1alpha1.LabelUpdateResult)
		}
		metav1.SetMetaDataAnnotation(&node.ObjectMeta, annotationCandidateFor, class)
	}))
}

// underWay counts candidates that are selected and not moved yet.
func underWay(candidates []candidate) rollingupdate.Selected {
	u := rollingupdate.Selected{}
	for _, c := range candidates {
		if !chosen(c.node) || c.node.Labels[machinev1alpha1.LabelUpdateResult] == machinev1alpha1.UpdateSuccessful {
			continue
		}
		u.All++
		if available(c.machine) {
			u.Available++
		}
	}
	return u
}

// choose selects so many more candidates; healthy ones only, of which the bounds of the update speak.
func (r *Deployments) choose(ctx context.Context, candidates []candidate, number int32) error {
	for _, c := range candidates {
		if number <= 0 {
			return nil
		}
		if chosen(c.node) || !available(c.machine) {
			continue
		}
		err := patch.LockedObject(ctx, r.Target, c.node, func() {
			metav1.SetMetaDataLabel(&c.node.ObjectMeta, machinev1alpha1.LabelSelectedForUpdate, machinev1alpha1.LabelTrue)
		})
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		number--
	}
	return nil
}

// release makes a node that was updated one like any other.
func (r *Deployments) release(ctx context.Context, node *corev1.Node) error {
	if err := client.IgnoreNotFound(patchConditions(ctx, r.Target, node, func() {
		node.Status.Conditions = withoutUpdate(node.Status.Conditions)
	})); err != nil {
		return err
	}
	return client.IgnoreNotFound(patch.LockedObject(ctx, r.Target, node, func() {
		for _, label := range []string{machinev1alpha1.LabelCandidateForUpdate, machinev1alpha1.LabelSelectedForUpdate,
			machinev1alpha1.LabelUpdateResult} {
			delete(node.Labels, label)
		}
		delete(node.Annotations, annotationCandidateFor)
		node.Spec.Unschedulable = false
	}))
}

// move takes a machine from one set to another: it becomes of the other's class. Both sets say which machine is under
// way until it has arrived, and are left alone as long; so a crash between any two writes makes or deletes no machine,
// and endMoves finishes what was begun. Nothing is locked: who compares a set with its machines looks whether the set
// is still the same afterwards (Sets.moving).
func (r *Deployments) move(ctx context.Context, m *machinev1alpha1.Machine, from,
	to *machinev1alpha1.MachineSet) error {
	for _, step := range []struct {
		set   *machinev1alpha1.MachineSet
		delta int32
	}{{from, -1}, {to, +1}} {
		if err := r.Control.Get(ctx, client.ObjectKeyFromObject(step.set), step.set); err != nil {
			return fmt.Errorf("read MachineSet %q: %w", step.set.Name, err)
		}
		if step.set.Annotations[annotationMoving] == m.Name {
			continue
		}
		if err := patch.LockedObject(ctx, r.Control, step.set, func() {
			metav1.SetMetaDataAnnotation(&step.set.ObjectMeta, annotationMoving, m.Name)
			step.set.Spec.Replicas = max(step.set.Spec.Replicas+step.delta, 0)
		}); err != nil {
			return err
		}
	}
	hash := to.Spec.Template.Labels[machinev1alpha1.LabelMachineTemplateHash]
	if err := patch.LockedObject(ctx, r.Control, m, func() {
		metav1.SetMetaDataLabel(&m.ObjectMeta, machinev1alpha1.LabelMachineTemplateHash, hash)
		m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(to,
			machinev1alpha1.SchemeGroupVersion.WithKind("MachineSet"))}
		m.Spec.Class = to.Spec.Template.Spec.Class
	}); client.IgnoreNotFound(err) != nil {
		return err
	}
	return r.arrived(ctx, to, from)
}

// arrived lets the sets be looked at again.
func (r *Deployments) arrived(ctx context.Context, sets ...*machinev1alpha1.MachineSet) error {
	for _, set := range sets {
		if err := client.IgnoreNotFound(patch.LockedObject(ctx, r.Control, set, func() {
			delete(set.Annotations, annotationMoving)
		})); err != nil {
			return err
		}
	}
	return nil
}

// endMoves finishes moves that were interrupted.
func (r *Deployments) endMoves(ctx context.Context, current *machinev1alpha1.MachineSet,
	old []*machinev1alpha1.MachineSet, machines *machinev1alpha1.MachineList) error {
	for _, set := range append([]*machinev1alpha1.MachineSet{current}, old...) {
		name := set.Annotations[annotationMoving]
		if name == "" {
			continue
		}
		from, m := whose(name, old, machines)
		if from == nil { // it has arrived, or is gone
			if err := r.arrived(ctx, set); err != nil {
				return err
			}
			continue
		}
		if err := r.move(ctx, m, from, current); err != nil {
			return err
		}
		delete(set.Annotations, annotationMoving)
	}
	return nil
}

// whose finds the old set that still has the machine.
func whose(name string, old []*machinev1alpha1.MachineSet,
	machines *machinev1alpha1.MachineList) (*machinev1alpha1.MachineSet, *machinev1alpha1.Machine) {
	for i := range machines.Items {
		m := &machines.Items[i]
		for _, set := range old {
			if m.Name == name && belongs(m, set) {
				return set, m
			}
		}
	}
	return nil, nil
}
