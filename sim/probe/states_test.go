package probe_test

import (
	"context"
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
