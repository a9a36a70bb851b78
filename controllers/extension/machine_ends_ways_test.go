package extension

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// orphanName is the name of a machine that no Machine stands for.
const orphanName = "lost"

func eachObject(list client.ObjectList, do func(client.Object)) error {
	return meta.EachListItem(list, func(o runtime.Object) error {
		do(o.(client.Object))
		return nil
	})
}

func (w *shootWithMachines) hasEnded() bool {
	w.t.Helper()
	if w.way.hasEnded != nil {
		return w.way.hasEnded(w)
	}
	return slices.ContainsFunc(w.victims, func(m machinev1alpha1.Machine) bool { return !w.isInCloud(m) })
}

// hasLostMachine says whether a Machine is gone.
func (w *shootWithMachines) hasLostMachine() bool {
	return slices.ContainsFunc(w.victims, func(m machinev1alpha1.Machine) bool { return !w.isThere(m) })
}

func (w *shootWithMachines) isEndedNode(node corev1.Node) bool {
	return slices.ContainsFunc(w.victims, func(m machinev1alpha1.Machine) bool {
		return m.Name == node.Name && !w.isThere(m)
	})
}

// isReadyForUpdate says whether a node is drained for its update in place.
func (w *shootWithMachines) isReadyForUpdate() bool {
	return slices.ContainsFunc(w.nodes(), func(node corev1.Node) bool {
		return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == machinev1alpha1.ConditionInPlaceUpdate && c.Status == corev1.ConditionTrue
		})
	})
}

// quarantineAll lets all machines be adopted ones.
func (w *shootWithMachines) quarantineAll() {
	w.quarantined = true
	until := w.clock.Now().Add(quarantineTime).UTC().Format(time.RFC3339)
	for _, m := range w.all() {
		w.patchMachine(m.Name, func(m *machinev1alpha1.Machine) {
			metav1.SetMetaDataAnnotation(&m.ObjectMeta, "transplant.dev/quarantine-until", until)
		})
	}
}

// failHealth lets a node fall silent until its machine has failed.
func (w *shootWithMachines) failHealth() {
	w.t.Helper()
	node := &corev1.Node{}
	w.must(w.target.Get(w.t.Context(), client.ObjectKey{Name: w.victims[0].Name}, node))
	before := node.DeepCopy()
	node.Status.Conditions[0].Status = corev1.ConditionUnknown
	w.must(w.target.Status().Patch(w.t.Context(), node, client.MergeFrom(before)))
	w.untilFailed()
}

// failCreation lets a new machine be no node until it has failed.
func (w *shootWithMachines) failCreation() {
	w.t.Helper()
	w.noNodes = true
	w.reconcile(func(o *extensionsv1alpha1.Worker) { o.Spec.Pools[0].Minimum++ })
	w.untilFailed()
}

// untilFailed lets machines be looked at until one has failed, and makes that one the victim.
func (w *shootWithMachines) untilFailed() {
	w.t.Helper()
	for range 20 {
		for _, m := range w.all() {
			if m.Status.CurrentStatus.Phase == machinev1alpha1.MachineFailed {
				w.victims = []machinev1alpha1.Machine{m}
				return
			}
		}
		w.pass(1)
		w.clock.Step(time.Minute)
	}
	w.t.Fatal("no machine has failed")
}

// terminateOne ends a machine in the cloud, as its owner or the provider may.
func (w *shootWithMachines) terminateOne() {
	w.t.Helper()
	w.victims = w.victims[:1]
	for _, vm := range w.vms() {
		if vm.Name == w.victims[0].Name {
			w.cloud.Terminate(vm.ID)
		}
	}
	w.failHealth()
}

func (w *shootWithMachines) deleteOne(labels map[string]string) {
	w.t.Helper()
	w.victims = w.victims[:1]
	w.patchMachine(w.victims[0].Name, func(m *machinev1alpha1.Machine) {
		for key, value := range labels {
			metav1.SetMetaDataLabel(&m.ObjectMeta, key, value)
		}
	})
	w.must(w.base.Delete(w.t.Context(), w.victims[0].DeepCopy()))
}

// createOrphan lets there be a machine of the shoot in the cloud, and a node with a pod, that no Machine stands for.
func (w *shootWithMachines) createOrphan() {
	w.t.Helper()
	tags := map[string]string{"transplant.dev/machine": orphanName, "transplant.dev/machine-class": "class-of-no-pool"}
	_, err := w.owner.Create(w.t.Context(), &cloud.Machine{Name: orphanName, Tags: tags}, "")
	w.must(err)
	w.boot()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: orphanName},
		Spec: corev1.PodSpec{NodeName: orphanName}}
	w.must(w.target.Create(w.t.Context(), pod))
	w.must(w.orphans.Sweep(w.t.Context()))
	w.victims = []machinev1alpha1.Machine{{ObjectMeta: metav1.ObjectMeta{Name: orphanName, UID: orphanName}}}
}

// outliveQuarantine lets an orphan be there for its whole quarantine, unless that is asked for.
func (w *shootWithMachines) outliveQuarantine() {
	w.t.Helper()
	w.createOrphan()
	if !w.quarantined {
		w.clock.Step(quarantineTime)
	}
}
