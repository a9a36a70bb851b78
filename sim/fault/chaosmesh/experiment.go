// Package chaosmesh carries out experiments of Chaos Mesh, as they stand in scenario files. A cluster that has Chaos
// Mesh is given the object, if a probe of ours can see whether it bites; elsewhere it is carried out with faults of
// links and pods. What neither can do the backend refuses before the run, by name.
//
// It is not an installation of Chaos Mesh, and it does not know the other faults: package fault has the fault of
// scenarios that holds an Experiment.
package chaosmesh

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/chaos-mesh/chaos-mesh/api/genericwebhook"
	"github.com/chaos-mesh/chaos-mesh/api/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/spelling"
	"github.com/transplant-sim/transplant/sim/fit"
	"github.com/transplant-sim/transplant/sim/world"
)

//go:generate go run ./page ../../../docs/chaos-mesh.md

// Experiment is an object of Chaos Mesh as it stands in a file, read strictly into Chaos Mesh's own Go type.
type Experiment struct {
	object client.Object   // with the defaults of Chaos Mesh
	raw    json.RawMessage // as it was read
}

// UnmarshalJSON reads an object of any kind of Chaos Mesh that harms something: the check says which of them can be
// carried out. Another kind or version, fields that the kind does not have, and values of a wrong type are fit.Misfits.
func (e *Experiment) UnmarshalJSON(data []byte) error {
	var head struct{ APIVersion, Kind string }
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("read an object of Chaos Mesh: %w", err)
	}
	if want := v1alpha1.SchemeGroupVersion.String(); head.APIVersion != want {
		return fit.Misfits{{Path: "apiVersion", Value: head.APIVersion, Remedy: fmt.Sprintf("must be %q", want)}}
	}
	kind, known := v1alpha1.AllKindsIncludeScheduleAndWorkflow()[head.Kind]
	if !known {
		return fit.Misfits{{Path: "kind", Value: head.Kind, Remedy: "must be " + alternatives(Kinds()),
			Meant: spelling.Likeliest(head.Kind, Kinds())}}
	}
	object := kind.SpawnObject()
	var plain any
	if err := json.Unmarshal(data, &plain); err != nil {
		return fmt.Errorf("read the %s: %w", head.Kind, err)
	}
	if misfits := fit.Find(plain, reflect.TypeOf(object)); len(misfits) > 0 {
		return misfits
	}
	if err := json.Unmarshal(data, object); err != nil {
		return fmt.Errorf("read the %s: %s", head.Kind, strings.TrimPrefix(err.Error(), "json: "))
	}
	if object.GetNamespace() == "" { // as kubectl does: its selectors mean pods of its namespace, if they name none
		object.SetNamespace(metav1.NamespaceDefault)
	}
	e.object, e.raw = object, bytes.Clone(data)
	if _, is := seriesOf(object); is || !e.hasSpec() { // which the check misses; a series has its own defaults
		return nil
	}
	if errs := genericwebhook.Default(object); len(errs) > 0 {
		return fmt.Errorf("fill in what the %s leaves out: %w", head.Kind, errs.ToAggregate())
	}
	return nil
}

// MarshalJSON writes the object as it was read.
func (e Experiment) MarshalJSON() ([]byte, error) {
	if e.raw == nil {
		return []byte("null"), nil
	}
	return e.raw, nil
}

// Equal says whether both were read from the same.
func (e Experiment) Equal(other Experiment) bool {
	var one, two any
	return json.Unmarshal(e.raw, &one) == nil && json.Unmarshal(other.raw, &two) == nil &&
		fmt.Sprint(one) == fmt.Sprint(two)
}

// hasSpec distinguishes an experiment that says something from one that is nothing but a name.
func (e Experiment) hasSpec() bool {
	var parts struct{ Spec map[string]any }
	return json.Unmarshal(e.raw, &parts) == nil && parts.Spec != nil
}

func (e Experiment) kind() string {
	if e.object == nil {
		return ""
	}
	return e.object.GetObjectKind().GroupVersionKind().Kind
}

// common is what the specs of all kinds have; nothing in that of a Schedule or a Workflow.
type common struct {
	Duration      *string
	RemoteCluster string
}

func (e Experiment) common() common {
	var parts struct{ Spec common }
	_ = json.Unmarshal(e.raw, &parts) // it was read before
	return parts.Spec
}

// On is the cluster where the experiment is carried out: this one, unless it names another as its remoteCluster.
func (e Experiment) On(cluster string) string { return cmp.Or(e.common().RemoteCluster, cluster) }

// Name of the experiment on a cluster is "chaos(cluster,kind action)".
func (e Experiment) Name(cluster string) string {
	return fmt.Sprintf("chaos(%s,%s)", e.On(cluster), e.what())
}

// what it is: its kind and its action.
func (e Experiment) what() string { return strings.TrimSpace(e.kind() + " " + e.plan().action) }

// Needs what carries the experiment out. One that no fault of ours can be needs Chaos Mesh, and one that it cannot
// prove either an ability of its own name, which no backend has: the check refuses it.
func (e Experiment) Needs() world.Ability {
	p := e.plan()
	switch {
	case len(p.lacks) > 0 && p.mesh != nil:
		return world.RunChaosMesh.For(strings.TrimSuffix(fmt.Sprintf("%s with %s", e.what(), p.words()), " with "))
	case len(p.lacks) > 0:
		return world.Ability(strings.TrimSuffix(fmt.Sprintf("do %s of Chaos Mesh with %s", e.kind(), p.words()),
			" with "))
	}
	return p.needs
}

// Beyond is the field by which the experiment asks for what no fault of ours can do, such as "spec.loss"; empty when it
// does not.
func (e Experiment) Beyond() string {
	if p := e.plan(); len(p.lacks) > 0 && p.lacks[0].field != "" {
		return "spec." + p.lacks[0].field
	}
	return ""
}

// Inject carries the experiment out on a cluster. It ends after its duration, or with the heal.
func (e Experiment) Inject(ctx context.Context, w world.World, cluster string) (world.Injection, error) {
	p, cluster := e.plan(), e.On(cluster)
	if p.mesh != nil {
		begun, injection, err := p.mesh.inject(ctx, w, cluster, e)
		if begun || err != nil {
			return injection, err
		}
	}
	switch {
	case len(p.lacks) > 0:
		return world.Injection{}, fmt.Errorf("%s: this backend cannot %s", e.Name(cluster), e.Needs())
	case p.problem != nil:
		return world.Injection{}, p.problem
	}
	life, err := p.life()
	if err != nil {
		return world.Injection{}, err
	}
	injection, err := p.inject(ctx, w, cluster)
	if err != nil || life == 0 {
		return injection, err
	}
	return lasting(ctx, injection, life), nil
}
