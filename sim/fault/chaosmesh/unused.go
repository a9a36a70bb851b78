package chaosmesh

import (
	"fmt"

	"github.com/chaos-mesh/chaos-mesh/api/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// unused is a field that is given although nothing comes of it: Chaos Mesh takes the object, and does not look at it.
type unused struct {
	path   []string // in the spec
	by     string   // what does not use it
	remedy string
}

const leaveOut = "leave it out"

func (u unused) mistake(spec *field.Path) *field.Error {
	return field.Forbidden(spec.Child(u.path[0], u.path[1:]...), fmt.Sprintf("%s does not use it; %s", u.by, u.remedy))
}

// unusedOf a kind are its fields that the action, or the target, does not use.
func unusedOf(object any) (all []unused) {
	add := func(given bool, by, remedy string, path ...string) {
		if given {
			all = append(all, unused{path, by, remedy})
		}
	}
	switch o := object.(type) {
	case *v1alpha1.PodChaos:
		by := fmt.Sprintf("action %q", o.Spec.Action)
		add(len(o.Spec.ContainerNames) > 0 && o.Spec.Action != v1alpha1.ContainerKillAction, by,
			"leave it out, or take action container-kill", "containerNames")
		add(o.Spec.GracePeriod != 0 && o.Spec.Action != v1alpha1.PodKillAction, by,
			"leave it out, or take action pod-kill", "gracePeriod")
	case *v1alpha1.NetworkChaos:
		unusedOfNetwork(&o.Spec, add)
	case *v1alpha1.HTTPChaos:
		unusedOfHTTP(&o.Spec, add)
	}
	return all
}

func unusedOfNetwork(spec *v1alpha1.NetworkChaosSpec, add func(given bool, by, remedy string, path ...string)) {
	by := fmt.Sprintf("action %q", spec.Action)
	partition, bandwidth := spec.Action == v1alpha1.PartitionAction, spec.Action == v1alpha1.BandwidthAction
	for _, block := range []struct {
		name  string
		given bool
	}{
		{"delay", spec.Delay != nil}, {"loss", spec.Loss != nil}, {"duplicate", spec.Duplicate != nil},
		{"corrupt", spec.Corrupt != nil}, {"rate", spec.Rate != nil},
	} {
		add(block.given && (partition || bandwidth), by, "give it a fault of its own, with action netem", block.name)
	}
	add(spec.Bandwidth != nil && !bandwidth, by, "give it a fault of its own, with action bandwidth", "bandwidth")
	add(spec.PartitionBehavior == v1alpha1.RejectPartitionBehavior && !partition, by,
		"leave it out, or take action partition", "partitionBehavior")
}

func unusedOfHTTP(spec *v1alpha1.HTTPChaosSpec, add func(given bool, by, remedy string, path ...string)) {
	if ptr.Deref(spec.Abort, false) {
		const by = "abort"
		add(spec.Delay != nil, by, "give it a fault of its own", "delay")
		add(spec.Replace != nil, by, leaveOut, "replace")
		add(spec.Patch != nil, by, leaveOut, "patch")
	}
	replace, patch := ptr.Deref(spec.Replace, v1alpha1.PodHttpChaosReplaceActions{}),
		ptr.Deref(spec.Patch, v1alpha1.PodHttpChaosPatchActions{})
	switch spec.Target {
	case v1alpha1.PodHttpRequest:
		const by, remedy = "target Request", "leave it out, or take target Response"
		add(spec.Code != nil, by, remedy, "code")
		add(len(spec.ResponseHeaders) > 0, by, remedy, "response_headers")
		add(replace.Code != nil, by, remedy, "replace", "code")
	case v1alpha1.PodHttpResponse:
		const by, remedy = "target Response", "leave it out, or take target Request"
		add(replace.Path != nil, by, remedy, "replace", "path")
		add(replace.Method != nil, by, remedy, "replace", "method")
		add(len(replace.Queries) > 0, by, remedy, "replace", "queries")
		add(len(patch.Queries) > 0, by, remedy, "patch", "queries")
	}
}
