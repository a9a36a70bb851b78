package v1beta1

import "k8s.io/apimachinery/pkg/util/intstr"

func (w *Worker) setDefaults() {
	setDefault(&w.Machine.Architecture, ArchitectureAMD64)
	setDefault(&w.CRI, CRI{Name: CRINameContainerD})
	setDefault(&w.SystemComponents, WorkerSystemComponents{Allow: true})
	setDefault(&w.UpdateStrategy, AutoRollingUpdate)
	if w.UpdatesInPlace() {
		setDefault(&section(&w.MachineControllerManagerSettings).DisableHealthTimeout, true)
	}
	switch *w.UpdateStrategy {
	case AutoRollingUpdate:
		setDefault(&w.MaxSurge, intstr.FromInt32(1))
		setDefault(&w.MaxUnavailable, intstr.FromInt32(0))
	case AutoInPlaceUpdate:
		setDefault(&w.MaxSurge, intstr.FromInt32(0))
		setDefault(&w.MaxUnavailable, intstr.FromInt32(1))
	case ManualInPlaceUpdate: // its user decides how many at a time
	}
}
