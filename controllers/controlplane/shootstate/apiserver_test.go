package shootstate

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/crds"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
)

// TestOnARealAPIServer: chunks are mended under the rule that they never change, and versions are those of a real
// store.
func TestOnARealAPIServer(t *testing.T) {
	garden, err := client.New(apiservertest.Start(t, apiservertest.Options{CRDs: crds.All()}),
		client.Options{Scheme: testScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := garden.Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shootKey.Namespace}}); err != nil {
		t.Fatal(err)
	}
	store := &Store{Garden: garden, Clock: clock.RealClock{}}
	state := sampleState()
	slices.Reverse(state.Extensions) // what is mended comes last
	infrastructure := state.Extensions[1].State
	state.Epoch, infrastructure.Raw = 3, noise(1, 2<<20)
	save := func(what string, save func(*Store, context.Context, client.ObjectKey, Source) error, source Source,
		chunks int) {
		t.Helper()
		if err := save(store, t.Context(), shootKey, source); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		got, err := store.Load(t.Context(), shootKey)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if !reflect.DeepEqual(state, got) { // cmp.Diff takes a second for some MB
			t.Errorf("%s: state (-want +got):\n%s", what, cmp.Diff(state, got))
		}
		if err := store.Prune(t.Context(), shootKey); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if left := len(listChunks(t, store)); left != chunks {
			t.Errorf("%s: there are %d chunks, want %d", what, left, chunks)
		}
	}
	save("first", (*Store).Save, of(state), 3)
	for _, harm := range []string{"missing", "damaged", "are damaged"} {
		for name, by := range map[string]func(*Store, context.Context, client.ObjectKey, Source) error{
			"Save": (*Store).Save, "Add": add,
		} {
			chunk := listChunks(t, store)[1]
			harms[harm](t, store, &chunk)
			save(harm+", and then "+name, by, of(state), 3)
		}
	}
	state.Epoch = 4
	save("another epoch", (*Store).Save, of(state), 3)

	overtaken := func(by func() error) Source {
		return func(context.Context) (*State, error) { return state, by() }
	}
	infrastructure.Raw = noise(2, 2<<20)
	late := store.Save(t.Context(), shootKey, overtaken(func() error {
		return add(store, t.Context(), shootKey, of(state))
	}))
	if !apierrors.IsConflict(late) {
		t.Errorf("overtaken by one who adds: %v, want a conflict", late)
	}
	save("who was overtaken, again", (*Store).Save, of(state), 3)
	infrastructure.Raw = noise(3, 100)
	late = store.Save(t.Context(), shootKey, overtaken(func() error {
		return store.Delete(t.Context(), shootKey, 4, owner)
	}))
	if !apierrors.IsConflict(late) {
		t.Errorf("overtaken by who deletes: %v, want a conflict", late)
	}
	infrastructure.Raw = []byte(`{"small":true}`)
	late = store.Save(t.Context(), shootKey, overtaken(func() error {
		return store.Save(t.Context(), shootKey, of(state))
	}))
	if !apierrors.IsConflict(late) {
		t.Errorf("overtaken by the first: %v, want a conflict", late)
	}
	save("at last", (*Store).Save, of(state), 0)
}
