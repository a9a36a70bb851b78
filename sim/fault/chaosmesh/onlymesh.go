package chaosmesh

import (
	"github.com/chaos-mesh/chaos-mesh/api/v1alpha1"
)

// planMesh: only Chaos Mesh itself can do it, to any pods, and its records say what it has hit.
func planMesh(e Experiment) plan {
	p := plan{action: actionOf(e.object)}
	selecting, selects := e.object.(v1alpha1.InnerObjectWithSelector)
	if !selects {
		return p // no backend can do it: the check says so
	}
	p.duration = e.common().Duration
	if _, known := supportOf(e.kind(), p.action); !known {
		p.lackAction(p.action, actionsOf(e.kind()))
	} else {
		p.lacks = []lack{{}} // the kind itself
	}
	a := &applied{lasting: true}
	for _, selector := range selecting.GetSelectorSpecs() {
		if pods := podsOf(selector); pods != nil {
			p.mode = pods.Mode
			a.selectors = append(a.selectors, *pods)
		}
	}
	if p.lacks[0].field == "" && len(a.selectors) > 0 {
		p.mesh = a
	}
	return p
}

// actionOf an experiment of a kind of which links and processes do nothing.
func actionOf(object any) string {
	switch o := object.(type) {
	case *v1alpha1.IOChaos:
		return string(o.Spec.Action)
	case *v1alpha1.BlockChaos:
		return string(o.Spec.Action)
	case *v1alpha1.JVMChaos:
		return string(o.Spec.Action)
	case *v1alpha1.StressChaos:
		if s := o.Spec.Stressors; s != nil && s.CPUStressor == nil && s.MemoryStressor != nil {
			return "memory"
		}
		return "cpu"
	}
	return ""
}

// podsOf a selector of Chaos Mesh; nil for those that select something else.
func podsOf(selector any) *v1alpha1.PodSelector {
	switch s := selector.(type) {
	case *v1alpha1.PodSelector:
		return s
	case *v1alpha1.ContainerSelector:
		return &s.PodSelector
	case *v1alpha1.ContainerNodeVolumePathSelector:
		return &s.PodSelector
	}
	return nil
}
