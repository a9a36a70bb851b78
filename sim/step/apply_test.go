package step_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/step"
	"github.com/transplant-sim/transplant/sim/step/manifest"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

func thing(t *testing.T, text string) manifest.Object {
	t.Helper()
	var o manifest.Object
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

const configMap = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"default"`

// The record says which object a step is about.
func TestSpecObject_OfApplyAndRemove(t *testing.T) {
	t.Parallel()
	deployment := thing(t, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","namespace":"default"}}`)
	node := thing(t, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}`)
	for spec, want := range map[*step.Spec]*timeline.ObjectRef{
		{Apply: &step.Apply{Shoot: "alpha", Object: deployment}}: {Group: "apps", Kind: "Deployment", Namespace: "default",
			Name: "d"},
		{Remove: &step.Remove{Shoot: "alpha", Object: node}}: {Kind: "Node", Name: "n"},
		{Delete: &step.Delete{Shoot: "alpha"}}:               nil,
	} {
		if diff := cmp.Diff(want, spec.Object()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestApplyAndRemove(t *testing.T) {
	t.Parallel()
	env, _, _ := newEnvironment(t)
	config, err := env.World.ConnectShoot(t.Context(), "alpha", world.User)
	if err != nil {
		t.Fatal(err)
	}
	shoot, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	seen := func() (map[string]string, []string) {
		c := &corev1.ConfigMap{}
		if err := shoot.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "c"}, c); err != nil {
			t.Fatal(err)
		}
		return c.Data, c.Finalizers
	}
	for _, c := range []struct {
		object     string
		data       map[string]string
		finalizers []string
	}{
		{configMap + `,"finalizers":["a.test/b"],"annotations":null},"data":{"x":"1","y":null,"z":"3"}}`,
			map[string]string{"x": "1", "z": "3"}, []string{"a.test/b"}},
		{configMap + `},"data":{"x":null,"y":"2"}}`, map[string]string{"y": "2", "z": "3"}, []string{"a.test/b"}},
		{configMap + `,"finalizers":null}}`, map[string]string{"y": "2", "z": "3"}, nil},
	} {
		one := &step.Apply{Shoot: "alpha", Object: thing(t, c.object)}
		if err := one.Run(t.Context(), env); err != nil {
			t.Fatalf("%s: %v", one, err)
		}
		data, finalizers := seen()
		if diff := cmp.Diff(c.data, data) + cmp.Diff(c.finalizers, finalizers); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", c.object, diff)
		}
	}
	remove := &step.Remove{Shoot: "alpha", Object: thing(t, configMap+`}}`)}
	for range 2 { // what is gone is no error
		if err := remove.Run(t.Context(), env); err != nil {
			t.Fatal(err)
		}
	}
	if err := shoot.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "c"},
		&corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Errorf("the object: %v", err)
	}
	for _, one := range []step.Step{
		&step.Apply{Shoot: "omega", Object: thing(t, configMap+`}}`)},
		&step.Remove{Shoot: "omega", Object: thing(t, configMap+`}}`)},
	} {
		if err := one.Run(t.Context(), env); err == nil || !strings.Contains(err.Error(), `connect to the shoot "omega"`) {
			t.Errorf("%s: %v", one, err)
		}
	}
}

// served is a world with one shoot, whose API server is a real one.
type served struct {
	world.World
	config *rest.Config
}

func (s served) ConnectShoot(context.Context, string, string) (*rest.Config, error) {
	return s.config, nil
}

// A missing namespace is an error at once.
func TestApply_KindJustDefined_IsWaitedFor(t *testing.T) {
	t.Parallel()
	env := &step.Environment{World: served{config: apiservertest.Start(t, apiservertest.Options{})}}
	const definition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
		"metadata":{"name":"beds.hotel.test"},"spec":{"group":"hotel.test","scope":"Namespaced",
		"names":{"plural":"beds","kind":"Bed"},"versions":[{"name":"v1","served":true,"storage":true,
		"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`
	const bed = `{"apiVersion":"hotel.test/v1","kind":"Bed","metadata":{"name":"b","namespace":%q},"spec":{"soft":true}}`
	for _, text := range []string{definition, fmt.Sprintf(bed, "default"), fmt.Sprintf(bed, "default")} {
		one := &step.Apply{Shoot: "alpha", Object: thing(t, text)}
		if err := one.Run(t.Context(), env); err != nil {
			t.Fatal(err)
		}
	}
	lost := &step.Apply{Shoot: "alpha", Object: thing(t, fmt.Sprintf(bed, "nowhere"))}
	if err := lost.Run(t.Context(), env); err == nil || !strings.Contains(err.Error(),
		`namespaces "nowhere" not found`) {
		t.Errorf("an object in no namespace: %v", err)
	}
}

func TestCheckApplyAndRemove(t *testing.T) {
	t.Parallel()
	on := landscape.Landscape{Seeds: []landscape.Seed{{Name: "a"}}, Shoots: []landscape.Shoot{{Name: "alpha", Seed: "a"},
		{Name: "beta", Seed: "a", Hibernated: true}}}
	for name, c := range map[string]struct {
		step step.Step
		want []string
	}{
		"fine": {&step.Apply{Shoot: "alpha",
			Object: thing(t, configMap+`,"finalizers":null},"data":{"x":null}}`)}, nil},
		"a webhook": {&step.Apply{Shoot: "alpha",
			Object: thing(t, `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration",`+
				`"metadata":{"name":"x"},"webhooks":[{"name":"a"}]}`)}, nil},
		"a kind of the scenario's own": {&step.Apply{Shoot: "alpha",
			Object: thing(t, `{"apiVersion":"hotel.test/v1","kind":"Bed","metadata":{"name":"x"},"spec":{"soft":true}}`)}, nil},
		"a misspelt field": {&step.Apply{Shoot: "alpha",
			Object: thing(t, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"ports":[{"prot":80}]}}`)},
			[]string{"object.spec.ports[0].prot"}},
		"a wrong type": {&step.Apply{Shoot: "alpha",
			Object: thing(t, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"type":1}}`)},
			[]string{"object.spec.type"}},
		"no such kind": {&step.Apply{Shoot: "alpha",
			Object: thing(t, `{"apiVersion":"apps/v1","kind":"Deplyoment","metadata":{"name":"x"}}`)}, []string{"object.kind"}},
		"no such group": {&step.Apply{Shoot: "alpha",
			Object: thing(t, `{"apiVersion":"aps/v1","kind":"Deployment","metadata":{"name":"x"}}`)}, []string{"object.kind"}},
		"nobody": {&step.Apply{Shoot: "alpha", Object: thing(t, `{"data":{}}`)},
			[]string{"object.apiVersion", "object.kind", "object.metadata.name"}},
		"a status": {&step.Apply{Shoot: "alpha", Object: thing(t, configMap+`},"status":{}}`)},
			[]string{"object.status"}},
		"of an unknown shoot": {&step.Apply{Shoot: "omega", Object: thing(t, configMap+`}}`)}, []string{"shoot"}},
		"of one that sleeps":  {&step.Apply{Shoot: "beta", Object: thing(t, configMap+`}}`)}, []string{"shoot"}},
		"removal":             {&step.Remove{Shoot: "alpha", Object: thing(t, configMap+`}}`)}, nil},
		"removal says more": {&step.Remove{Shoot: "alpha",
			Object: thing(t, configMap+`,"labels":{"a":"b"}},"data":{}}`)}, []string{"object.data", "object.metadata.labels"}},
		"removal of one that sleeps": {&step.Remove{Shoot: "beta", Object: thing(t, configMap+`}}`)}, []string{"shoot"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, err := range c.step.Check(nil, step.NewState(on, nil)) {
				got = append(got, err.Field)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	// One in deletion is awake until it is gone.
	state := step.NewState(on, nil)
	if errs := (&step.Delete{Shoot: "beta"}).Check(field.NewPath("delete"), state); len(errs) > 0 {
		t.Fatal(errs)
	}
	if errs := (&step.Apply{Shoot: "beta", Object: thing(t, configMap+`}}`)}).Check(field.NewPath("apply"),
		state); len(errs) > 0 {
		t.Error(errs)
	}
}
