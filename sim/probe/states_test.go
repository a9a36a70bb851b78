package probe_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

func TestStates_ThirdPartyExtensions_AreFollowed(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := extensionsv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	extension := func(name, kind, uid string) *extensionsv1alpha1.Extension {
		e := &extensionsv1alpha1.Extension{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: name,
			UID: types.UID(uid)}}
		e.Spec.Type = kind
		return e
	}
	vault := extension("vault", "vault", "u")
	seed := fake.NewClientBuilder().WithScheme(scheme).WithObjects(vault, extension("other", "transplant", "o")).Build()
	kind, _ := extensionsv1alpha1.KindByName("Extension")
	j := journal()
	states := &probe.States{Shoot: "alpha", Namespace: "shoot--p--alpha", SeedName: "a", Seed: seed, Kind: kind,
		Type: "vault"}
	if err := states.Sample(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	seen := func() (all []timeline.ExtensionStateSeen) {
		for _, s := range timeline.Of[timeline.ExtensionStateSeen](j.Events()) {
			all = append(all, s)
		}
		return all
	}
	bare := timeline.ExtensionStateSeen{Seed: "a", Object: "Extension vault", UID: "u"}
	if diff := cmp.Diff([]timeline.ExtensionStateSeen{bare}, seen()); diff != "" {
		t.Fatalf("at the first look (-want +got):\n%s", diff)
	}
	// Whatever was written between the look and the watch is listed.
	before := vault.DeepCopy()
	vault.Status.State = &runtime.RawExtension{Raw: []byte(`{"vault":"7"}`)}
	vault.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Create", State: "Succeeded"}
	if err := seed.Patch(t.Context(), vault, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- states.Follow(ctx, j) }()
	worldtest.Until(t, func() bool { return len(seen()) == 2 })
	full := seen()[1]
	if full.Holds == "" || full.Operation.Type != "Create" || full.Operation.State != "Succeeded" || full.UID != "u" {
		t.Errorf("with a state it is seen as %+v", full)
	}
	// The watch may not have begun yet; what it misses the next list says.
	if err := seed.Delete(t.Context(), vault); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := states.Sample(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	if all := seen(); len(all) != 3 || all[2] != (timeline.ExtensionStateSeen{Seed: "a", Object: "Extension vault",
		Gone: true}) {
		t.Errorf("once it is gone there are %+v", all)
	}
}

// What goes wrong with an object is noted, and its state only where that must stay what it is.
func TestStates_Failing_HasItsError(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := extensionsv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	worker := &extensionsv1alpha1.Worker{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: "alpha",
		UID: "u"}}
	worker.Spec.Type = "metal"
	worker.Status.State = &runtime.RawExtension{Raw: []byte(`{"machines":"7"}`)}
	worker.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Restore", State: "Error"}
	worker.Status.LastError = &gardencorev1beta1.LastError{Description: "no quota"}
	seed := fake.NewClientBuilder().WithScheme(scheme).WithObjects(worker).Build()
	kind, _ := extensionsv1alpha1.KindByName("Worker")
	states := &probe.States{Shoot: "alpha", Namespace: "shoot--p--alpha", SeedName: "a", Seed: seed, Kind: kind,
		Type: "metal", Uncompared: true}
	j := journal()
	look := func(want ...timeline.ExtensionStateSeen) {
		t.Helper()
		if err := states.Sample(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		var got []timeline.ExtensionStateSeen
		for _, s := range timeline.Of[timeline.ExtensionStateSeen](j.Events()) {
			got = append(got, s)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("noted (-want +got):\n%s", diff)
		}
	}
	failing := timeline.ExtensionStateSeen{Seed: "a", Object: "Worker alpha", UID: "u", Error: "no quota",
		Operation: timeline.Operation{Type: "Restore", State: "Error"}, Uncompared: true}
	look(failing)
	says := func(problem *gardencorev1beta1.LastError) {
		t.Helper()
		before := worker.DeepCopy()
		worker.Status.LastError, worker.Annotations = problem, map[string]string{"gardener.cloud/operation": "restore"}
		if err := seed.Patch(t.Context(), worker, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("machine ", 100)
	says(&gardencorev1beta1.LastError{Description: "request 3f-1a:\nno " + long})
	asked := failing
	asked.Asked, asked.Error = "restore", ("request 3f-1a: no " + long)[:499]+"…"
	look(failing, asked)
	says(&gardencorev1beta1.LastError{Description: "request 77-b0: no " + long}) // only the id is another one
	look(failing, asked)
	says(&gardencorev1beta1.LastError{Description: "8of9"})
	counted, well := asked, asked
	counted.Error, well.Error = "8of9", ""
	look(failing, asked, counted)
	says(nil) // an error that has only fleeting words is one, too
	look(failing, asked, counted, well)
	if err := seed.Delete(t.Context(), worker); err != nil {
		t.Fatal(err)
	}
	look(failing, asked, counted, well, timeline.ExtensionStateSeen{Seed: "a", Object: "Worker alpha", Gone: true,
		Uncompared: true})
}
