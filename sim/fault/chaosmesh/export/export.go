// Package export writes faults of scenarios as objects of Chaos Mesh, which can be pasted into a chaos fault again.
//
// It carries nothing out, and leaves out what has no such form: it says why.
package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/chaos-mesh/chaos-mesh/api/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/clusters/link/wire"
	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// Object of Chaos Mesh that does what a fault does, in a cluster of the landscape. What has no such form is an error
// that says why.
func Object(of *fault.Spec, on landscape.Landscape) (object any, cluster string, err error) {
	switch kind, f := of.Fault(); f := f.(type) {
	case *fault.Chaos:
		return f.Object, f.Object.On(f.Cluster.Cluster), nil
	case *fault.Cut:
		behavior := v1alpha1.DropPartitionBehavior
		if f.Refuse {
			behavior = v1alpha1.RejectPartitionBehavior
		}
		return network(of.Name, f.Link, on, v1alpha1.NetworkChaosSpec{Action: v1alpha1.PartitionAction,
			PartitionBehavior: behavior})
	case *fault.Latency:
		delay := &v1alpha1.DelaySpec{Latency: f.Delay.Duration.String()}
		if f.Jitter.Duration != 0 {
			delay.Jitter = f.Jitter.Duration.String()
		}
		return network(of.Name, f.Link, on, v1alpha1.NetworkChaosSpec{Action: v1alpha1.DelayAction,
			TcParameter: v1alpha1.TcParameter{Delay: delay}})
	case *fault.Bandwidth:
		rate := fmt.Sprintf("%dbps", f.BytesPerSecond.Value()) // which are bytes to the traffic control of Linux
		return network(of.Name, f.Link, on, v1alpha1.NetworkChaosSpec{Action: v1alpha1.NetemAction,
			TcParameter: v1alpha1.TcParameter{Rate: &v1alpha1.RateSpec{Rate: rate}}})
	case *fault.Kill:
		return kill(of.Name, f, on)
	default:
		return nil, "", fmt.Errorf("no kind of Chaos Mesh does what %s does", kind)
	}
}

func network(name string, l fault.Link, on landscape.Landscape, spec v1alpha1.NetworkChaosSpec) (any, string, error) {
	a, err := actorOn(l.Actor, on)
	if err != nil {
		return nil, "", err
	}
	if spec.Action != v1alpha1.PartitionAction && l.Direction != wire.ToServer {
		return nil, "", errors.New("towards what is outside of the cluster Chaos Mesh slows only what is sent: give " +
			"direction ToServer")
	}
	spec.Direction = map[wire.Direction]v1alpha1.Direction{"": v1alpha1.Both, wire.Both: v1alpha1.Both,
		wire.ToServer: v1alpha1.To, wire.ToClient: v1alpha1.From}[l.Direction]
	spec.PodSelector, spec.ExternalTargets = a.pods(), []string{l.Target}
	return &v1alpha1.NetworkChaos{TypeMeta: typeOf(v1alpha1.KindNetworkChaos), ObjectMeta: a.object(name), Spec: spec},
		a.cluster, nil
}

func kill(name string, f *fault.Kill, on landscape.Landscape) (any, string, error) {
	if f.Actor == "" {
		return nil, "", errors.New("a program of a cluster or of a control plane has no form there: only actors are exported")
	}
	a, err := actorOn(f.Actor, on)
	if err != nil {
		return nil, "", err
	}
	selector := v1alpha1.ContainerSelector{PodSelector: a.pods()}
	spec := v1alpha1.PodChaosSpec{Action: v1alpha1.ContainerKillAction, ContainerSelector: selector}
	if delay := f.RestartDelay.Duration; delay != 0 {
		spec.Action, spec.Duration = v1alpha1.PodFailureAction, ptr.To(delay.String())
	} else {
		spec.ContainerNames = []string{a.container}
	}
	return &v1alpha1.PodChaos{TypeMeta: typeOf(v1alpha1.KindPodChaos), ObjectMeta: a.object(name), Spec: spec},
		a.cluster, nil
}

func typeOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: kind}
}

// actor is where the pods of an actor are, and how they are known there.
type actor struct{ cluster, namespace, app, container string }

func actorOn(name string, on landscape.Landscape) (actor, error) {
	role := on.RoleOf(name)
	found, known := map[string]actor{
		"garden-controller-manager": {namespace: "garden", app: role, container: role},
		"gardenlet":                 {namespace: "garden", app: role, container: role},
		"extensions": {namespace: "extensions", app: "provider-transplant",
			container: "provider-transplant"},
		"gateway":          {namespace: "istio-ingress", app: "istio-ingressgateway", container: "gateway"},
		"resource-manager": {namespace: role, app: role, container: role},
	}[role]
	found.cluster = on.HomeOf(name)
	for _, e := range on.Extensions {
		if e.ActorOn(found.cluster) == name {
			found.namespace, found.app, found.container, known = e.Namespace(), e.Name, e.Name, true
		}
	}
	if !known {
		return actor{}, fmt.Errorf("no pods of one label are %s", name)
	}
	return found, nil
}

func (a actor) pods() v1alpha1.PodSelector {
	var selector v1alpha1.PodSelectorSpec
	selector.Namespaces, selector.LabelSelectors = []string{a.namespace}, map[string]string{"app": a.app}
	return v1alpha1.PodSelector{Selector: selector, Mode: v1alpha1.AllMode}
}

func (a actor) object(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: a.namespace}
}

// Faults of a scenario as a stream of YAML: their objects, each with the name of its fault and its cluster in a
// comment, and comments about those that have none.
func Faults(all []*fault.Spec, on landscape.Landscape) (string, error) {
	var out strings.Builder
	for _, f := range all {
		kind, _ := f.Fault()
		object, cluster, err := Object(f, on)
		if err != nil {
			fmt.Fprintf(&out, "# %s (%s) is left out: %v\n", f.Name, kind, err)
			continue
		}
		text, err := write(object)
		if err != nil {
			return "", fmt.Errorf("write the fault %q: %w", f.Name, err)
		}
		fmt.Fprintf(&out, "---\n# %s (%s), in cluster %q\n%s", f.Name, kind, cluster, text)
	}
	return out.String(), nil
}

// write an object without what is empty because nobody has carried it out yet.
func write(object any) ([]byte, error) {
	if o, is := object.(client.Object); is {
		content, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		plain := map[string]any{}
		if err := json.Unmarshal(content, &plain); err != nil {
			return nil, err
		}
		delete(plain, "status")
		object = plain
	}
	return yaml.Marshal(object)
}
