package shootstate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
)

var shootKey = client.ObjectKey{Namespace: "garden-p", Name: "alpha"}

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	return schemeOf(t, clientgoscheme.AddToScheme, gardencorev1beta1.AddToScheme, extensionsv1alpha1.AddToScheme,
		machinev1alpha1.AddToScheme, transplantv1alpha1.AddToScheme)
}

func schemeOf(t *testing.T, kinds ...func(*runtime.Scheme) error) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range kinds {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// shootUID is the UID of the shoot in the garden of newStore.
const shootUID = "uid-of-alpha"

// newStore gives a store on a fake garden with a shoot, and a counter of its writes.
func newStore(t *testing.T) (*Store, *int) {
	t.Helper()
	writes := 0
	shoot := &gardencorev1beta1.Shoot{}
	shoot.Namespace, shoot.Name, shoot.UID = shootKey.Namespace, shootKey.Name, shootUID
	// No other kinds: at each write the fake client makes a list of all that there are.
	kinds := schemeOf(t, gardencorev1beta1.AddToScheme, transplantv1alpha1.AddToScheme)
	whole := fake.NewClientBuilder().WithScheme(kinds).WithObjects(shoot).Build()
	garden := interceptor.NewClient(whole, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			writes++
			return c.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch,
			opts ...client.PatchOption) error {
			writes++
			return c.Patch(ctx, o, p, opts...)
		},
	})
	return &Store{Garden: garden, Clock: clock.RealClock{}}, &writes
}

// noise is JSON of about n bytes that no compression makes smaller.
func noise(seed uint64, n int) []byte {
	dice := rand.New(rand.NewPCG(seed, seed))
	var text strings.Builder
	for text.Len() < n {
		text.WriteByte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[dice.IntN(64)])
	}
	return fmt.Appendf(nil, `{"terraform":%q}`, text.String())
}

func sampleState() *State {
	config := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "tls"},
		"data": map[string]any{"key": "c2VjcmV0"},
	}}
	reference := gardencorev1beta1.NamedResourceReference{Name: "tls"}
	reference.ResourceRef.APIVersion, reference.ResourceRef.Kind, reference.ResourceRef.Name = "v1", "Secret", "tls"
	return &State{
		Secrets: []*corev1.Secret{{
			ObjectMeta: metav1.ObjectMeta{Name: "ca", Labels: map[string]string{"persist": "true"}},
			Data:       map[string][]byte{"ca.crt": []byte("certificate")}, Type: corev1.SecretTypeOpaque,
		}},
		Extensions: []ExtensionState{
			{Kind: "Infrastructure", Name: "alpha", State: &runtime.RawExtension{Raw: []byte(`{"network":"n-1"}`)}},
			{Kind: "Extension", Name: "certs", Resources: []gardencorev1beta1.NamedResourceReference{reference},
				Objects: []*unstructured.Unstructured{config}},
		},
		Machines: &runtime.RawExtension{Raw: []byte(`{"machineDeployments":{"d":{"replicas":1}}}`)},
	}
}

// of is a source of which everything is known already.
func of(state *State) Source {
	return func(context.Context) (*State, error) { return state, nil }
}

// add is for who does not ask what was left out.
func add(s *Store, ctx context.Context, shoot client.ObjectKey, source Source) error {
	_, err := s.Add(ctx, shoot, source, nil)
	return err
}

func TestWhatIsSavedIsLoaded(t *testing.T) {
	t.Parallel()
	store, _ := newStore(t)
	if err := store.Save(t.Context(), shootKey, of(sampleState())); err != nil {
		t.Fatal(err)
	}
	got, err := store.Load(t.Context(), shootKey)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sampleState(), got); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

func TestNothingIsWrittenWhenNothingChanged(t *testing.T) {
	t.Parallel()
	store, writes := newStore(t)
	state := sampleState()
	state.Extensions[0].State.Raw = noise(1, 3<<20)
	if err := store.Save(t.Context(), shootKey, of(state)); err != nil {
		t.Fatal(err)
	}
	before := *writes
	if err := store.Save(t.Context(), shootKey, of(state)); err != nil {
		t.Fatal(err)
	}
	if *writes != before {
		t.Errorf("%d writes for an unchanged state", *writes-before)
	}
}

func listChunks(t *testing.T, store *Store) []transplantv1alpha1.ShootStateChunk {
	t.Helper()
	chunks := &transplantv1alpha1.ShootStateChunkList{}
	if err := store.Garden.List(t.Context(), chunks); err != nil {
		t.Fatal(err)
	}
	return chunks.Items
}

// Past 1.5, 2 and 3 MiB: every limit of docs/specification/state-size.md#spec-9-5.
func TestStateOfAnySize(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1<<20 + 1, 3 << 19, 2 << 20, 3<<20 + 5} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			store, _ := newStore(t)
			state := sampleState()
			state.Extensions[0].State.Raw = noise(uint64(size), size)
			if err := store.Save(t.Context(), shootKey, of(state)); err != nil {
				t.Fatal(err)
			}
			object := &gardencorev1beta1.ShootState{}
			if err := store.Garden.Get(t.Context(), shootKey, object); err != nil {
				t.Fatal(err)
			}
			if whole, _ := json.Marshal(object); len(whole) > 1<<20 {
				t.Errorf("the ShootState has %d bytes, more than the budget", len(whole))
			}
			for _, chunk := range listChunks(t, store) {
				if whole, _ := json.Marshal(chunk); len(whole) > 1<<20 {
					t.Errorf("chunk %q has %d bytes, more than 1 MiB", chunk.Name, len(whole))
				}
			}
			got, err := store.Load(t.Context(), shootKey)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(state, got) { // cmp takes a second for each megabyte
				t.Error("the state is not what was saved")
			}
		})
	}
}

// harms are what may happen to a chunk.
var harms = map[string]func(*testing.T, *Store, *transplantv1alpha1.ShootStateChunk){
	"missing": func(t *testing.T, s *Store, chunk *transplantv1alpha1.ShootStateChunk) {
		if err := s.Garden.Delete(t.Context(), chunk); err != nil {
			t.Fatal(err)
		}
	},
	"damaged": func(t *testing.T, s *Store, chunk *transplantv1alpha1.ShootStateChunk) {
		chunk.Data[len(chunk.Data)/2] ^= 1
		if err := s.Garden.Update(t.Context(), chunk); err != nil {
			t.Fatal(err)
		}
	},
	// what it says of itself is true
	"are damaged": func(t *testing.T, s *Store, chunk *transplantv1alpha1.ShootStateChunk) {
		if err := s.Garden.Delete(t.Context(), chunk); err != nil {
			t.Fatal(err)
		}
		chunk.Data, chunk.ResourceVersion = chunk.Data[1:], ""
		chunk.Bytes, chunk.SHA256 = int64(len(chunk.Data)), digest(chunk.Data)
		if err := s.Garden.Create(t.Context(), chunk); err != nil {
			t.Fatal(err)
		}
	},
}

func TestDamageIsNamed(t *testing.T) {
	t.Parallel()
	for name, harm := range harms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, _ := newStore(t)
			state := sampleState()
			state.Extensions[0].State.Raw = noise(1, 2<<20)
			if err := store.Save(t.Context(), shootKey, of(state)); err != nil {
				t.Fatal(err)
			}
			chunk := listChunks(t, store)[1]
			harm(t, store, &chunk)
			_, err := store.Load(t.Context(), shootKey)
			damaged, is := errors.AsType[*DamagedError](err)
			if !is || !strings.Contains(damaged.Part, chunk.Name) || !strings.Contains(damaged.Part, name) ||
				apierrors.IsNotFound(err) {
				t.Errorf("got %v, want a DamagedError that names chunk %q", err, chunk.Name)
			}
		})
	}
}

// In a second run of the migrate flow some objects are gone already: what was saved of them stays
// (docs/specification/migration.md#spec-2-6).
func TestMergeOnlyAdds(t *testing.T) {
	t.Parallel()
	store, _ := newStore(t)
	if err := store.Save(t.Context(), shootKey, of(sampleState())); err != nil {
		t.Fatal(err)
	}
	later := &State{Extensions: []ExtensionState{
		{Kind: "Infrastructure", Name: "alpha", State: &runtime.RawExtension{Raw: []byte(`{"network":"n-2"}`)}},
	}}
	if _, err := store.Add(t.Context(), shootKey, of(later), nil); err != nil {
		t.Fatal(err)
	}
	got, err := store.Load(t.Context(), shootKey)
	if err != nil {
		t.Fatal(err)
	}
	want := sampleState()
	want.Extensions[0].State.Raw = []byte(`{"network":"n-2"}`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	if err := store.Save(t.Context(), shootKey, of(later)); err != nil {
		t.Fatal(err)
	}
	if got, err = store.Load(t.Context(), shootKey); err != nil || got.Machines != nil {
		t.Errorf("replacing kept the machines: %v, %v", got, err)
	}
}

// A gardenlet that stood still while its shoot was given to another seed must not bring the old state back.
func TestAStateOfAnOlderEpochIsRefused(t *testing.T) {
	t.Parallel()
	store, _ := newStore(t)
	newer, older := sampleState(), sampleState()
	newer.Epoch, older.Epoch = 10, 9
	older.Extensions[0].State.Raw = noise(1, 2<<20) // would need chunks
	if err := store.Save(t.Context(), shootKey, of(newer)); err != nil {
		t.Fatal(err)
	}
	for name, save := range map[string]func(*Store, context.Context, client.ObjectKey, Source) error{
		"Save": (*Store).Save, "Add": add,
	} {
		err := save(store, t.Context(), shootKey, of(older))
		if refused, is := errors.AsType[*StaleError](err); !is || refused.Saved != 10 || refused.Epoch != 9 {
			t.Errorf("%s: %v", name, err)
		}
	}
	got, err := store.Load(t.Context(), shootKey)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(newer, got); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	if left := listChunks(t, store); len(left) != 0 {
		t.Errorf("%d chunks of the refused state are there", len(left))
	}
}

func owner(context.Context) error { return nil }

// A gardenlet that stood still in the middle of a deletion must not take away what the next owner restores from.
func TestOnlyTheOwnerDeletes(t *testing.T) {
	t.Parallel()
	lost := errors.New("the shoot has been taken over")
	for name, c := range map[string]struct {
		mine  func(context.Context, *Store) error
		epoch int64
		is    func(error) bool
	}{
		"the state is of a newer epoch": {func(context.Context, *Store) error { return nil }, 9, func(err error) bool {
			_, is := errors.AsType[*StaleError](err)
			return is
		}},
		"the shoot is another's": {func(context.Context, *Store) error {
			return lost
		}, 10, func(err error) bool { return errors.Is(err, lost) }},
		"it was given away after the look": {func(ctx context.Context, s *Store) error {
			state := &gardencorev1beta1.ShootState{}
			if err := s.Garden.Get(ctx, shootKey, state); err != nil {
				return err
			}
			state.Finalizers = []string{"core.gardener.cloud/shootstate"} // as the garden protects it
			return s.Garden.Update(ctx, state)
		}, 10, apierrors.IsConflict},
	} {
		for verb, do := range map[string]func(*Store, context.Context, client.ObjectKey, int64,
			func(context.Context) error) error{
			"delete": (*Store).Delete, "spend": (*Store).Spend,
		} {
			t.Run(verb+", "+name, func(t *testing.T) {
				t.Parallel()
				store, _ := newStore(t)
				state := sampleState()
				state.Epoch, state.Extensions[0].State.Raw = 10, noise(1, 2<<20)
				if err := store.Save(t.Context(), shootKey, of(state)); err != nil {
					t.Fatal(err)
				}
				err := do(store, t.Context(), shootKey, c.epoch, func(ctx context.Context) error { return c.mine(ctx, store) })
				if !c.is(err) {
					t.Errorf("got %v", err)
				}
				if kept, err := store.Load(t.Context(), shootKey); err != nil || kept.Spent {
					t.Errorf("the state is not whole, or taken for spent: %v", err)
				}
			})
		}
	}
}

func TestASpentStateIsKeptUntilItIsDeleted(t *testing.T) {
	t.Parallel()
	store, _ := newStore(t)
	if err := store.Spend(t.Context(), shootKey, 3, owner); err != nil {
		t.Errorf("there is no state to note anything in: %v", err)
	}
	state := sampleState()
	state.Epoch = 3
	if err := store.Save(t.Context(), shootKey, of(state)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a deletion that is repeated
		if err := store.Spend(t.Context(), shootKey, 3, owner); err != nil {
			t.Fatal(err)
		}
	}
	state.Spent = true
	got, err := store.Load(t.Context(), shootKey)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(state, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := store.Delete(t.Context(), shootKey, 3, owner); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Load(t.Context(), shootKey); !apierrors.IsNotFound(err) {
		t.Errorf("got %v, want a NotFound error", err)
	}
}

// A finalizer that is taken off while a state is collected does not stop the save. One that is added does: a migration
// has begun, and whoever stood still meanwhile must not save.
func TestSave_WrittenMeanwhile_ConflictsIfSomethingWasSaved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change   func(*gardencorev1beta1.ShootState)
		conflict bool
	}{
		"a finalizer is taken off": {change: func(s *gardencorev1beta1.ShootState) { s.Finalizers = nil }},
		"a finalizer is added": {func(s *gardencorev1beta1.ShootState) {
			s.Finalizers = append(s.Finalizers, "another.test/x")
		}, true},
		"another state":       {func(s *gardencorev1beta1.ShootState) { s.Spec.Gardener = nil }, true},
		"saved, and the same": {func(s *gardencorev1beta1.ShootState) { s.Generation++ }, true},
		"somebody leaves": {func(s *gardencorev1beta1.ShootState) {
			s.Annotations = map[string]string{"transplant.dev/leaving": "now"}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, _ := newStore(t)
			if err := store.Save(t.Context(), shootKey, of(sampleState())); err != nil {
				t.Fatal(err)
			}
			protected := &gardencorev1beta1.ShootState{}
			if err := store.Garden.Get(t.Context(), shootKey, protected); err != nil {
				t.Fatal(err)
			}
			protected.Finalizers = []string{"protected.test/x"}
			if err := store.Garden.Update(t.Context(), protected); err != nil {
				t.Fatal(err)
			}
			newer := sampleState()
			newer.Extensions[0].State.Raw = []byte(`{"newer":true}`)
			err := store.Save(t.Context(), shootKey, func(ctx context.Context) (*State, error) {
				there := &gardencorev1beta1.ShootState{}
				if err := store.Garden.Get(ctx, shootKey, there); err != nil {
					return nil, err
				}
				c.change(there)
				return newer, store.Garden.Update(ctx, there)
			})
			if apierrors.IsConflict(err) != c.conflict || !c.conflict && err != nil {
				t.Fatalf("%v, want a conflict: %t", err, c.conflict)
			}
			there := &gardencorev1beta1.ShootState{}
			if err := store.Garden.Get(t.Context(), shootKey, there); err != nil {
				t.Fatal(err)
			}
			if saved, err := store.Load(t.Context(), shootKey); !c.conflict && (err != nil || len(there.Finalizers) != 0 ||
				string(saved.Extensions[0].State.Raw) != `{"newer":true}`) {
				t.Errorf("saved %+v with finalizers %q, %v", saved, there.Finalizers, err)
			}
		})
	}
}
