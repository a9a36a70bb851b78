package worker

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// What is asked of the API server has every field of what was saved, of our types or not; it belongs to this seed's
// namespace, and its status and what another seed has made of it stay behind.
func TestASavedMachineIsRestoredWithEveryField(t *testing.T) {
	t.Parallel()
	var made []map[string]any
	seed := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			made = append(made, object.(*unstructured.Unstructured).Object)
			return nil
		},
	}).Build()
	saved := `{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":"Machine","top":"level","status":{"phase":"Running"},
		"metadata":{"name":"m","namespace":"elsewhere","uid":"u","ownerReferences":[{"uid":"o"}],"labels":{"node":"n"},
			"annotations":{"a":"b"}},
		"spec":{"providerID":"x:///1","ofTheDay":{"after":["tomorrow"]},"count":7}}`
	if err := (&Provider{Seed: seed}).restoreMachineObject(t.Context(), "here", json.RawMessage(saved)); err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := json.Unmarshal([]byte(`{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":"Machine","top":"level",
		"metadata":{"name":"m","namespace":"here","labels":{"node":"n"},"annotations":{"a":"b"}},
		"spec":{"providerID":"x:///1","ofTheDay":{"after":["tomorrow"]},"count":7}}`), &want); err != nil {
		t.Fatal(err)
	}
	for _, object := range made {
		delete(object["metadata"].(map[string]any), "creationTimestamp") // a null
	}
	if diff := cmp.Diff([]map[string]any{want}, made); diff != "" {
		t.Errorf("made (-want +got):\n%s", diff)
	}
}

// A state makes no objects but those of machines, and what their classes refer to.
func TestRestoreMachineObject_OtherObjects_AreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		saved   string
		refused bool
	}{
		"user data": {
			`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x","labels":{"gardener.cloud/purpose":"machineclass"}}}`,
			false},
		"any secret": {`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}`, true},
		"another kind": {
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","labels":{"gardener.cloud/purpose":"machineclass"}}}`, true},
		"a machine class": {`{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":"MachineClass","metadata":{"name":"x"}}`,
			false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithInterceptorFuncs(interceptor.Funcs{
				Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return nil },
			}).Build()
			err := (&Provider{Seed: seed}).restoreMachineObject(t.Context(), "here", json.RawMessage(c.saved))
			if refused := err != nil; refused != c.refused {
				t.Errorf("error %v, want one: %t", err, c.refused)
			}
		})
	}
}
