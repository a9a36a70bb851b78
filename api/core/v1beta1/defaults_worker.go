package v1beta1

import "k8s.io/apimachinery/pkg/util/intstr"

// updatesInPlace is whether the nodes of a pool are kept when they are updated.
func (w *Worker) updatesInPlace() bool {
	return w.UpdateStrategy != nil && (*w.UpdateStrategy == AutoInPlaceUpdate || *w.UpdateStrategy == ManualInPlaceUpdate)
}

func (w *Worker) setDefaults() {
	setDefault(&w.Machine.Architecture, ArchitectureAMD64)
	setDefault(&w.CRI, CRI{Name: CRINameContainerD})
	setDefault(&w.SystemComponents, WorkerSystemComponents{Allow: true})
	setDefault(&w.UpdateStrategy, AutoRollingUpdate)
	if w.updatesInPlace() {
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
