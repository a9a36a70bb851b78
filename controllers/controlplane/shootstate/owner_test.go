package shootstate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// ownedBy is the reference of docs/specification/README.md#s0: controller, and blocking.
func ownedBy(uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: "core.gardener.cloud/v1beta1", Kind: "Shoot", Name: "alpha", UID: uid,
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}
}

func TestOwner(t *testing.T) {
	t.Parallel()
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "alpha", UID: "other"}
	past := ownedBy("uid-1")
	past.APIVersion = "core.gardener.cloud/v1alpha1"
	for name, c := range map[string]struct {
		absent bool // nothing was saved yet
		before []metav1.OwnerReference
		owner  types.UID
		want   []metav1.OwnerReference
		writes int
	}{
		"created":                            {true, nil, "uid-1", []metav1.OwnerReference{ownedBy("uid-1")}, 1},
		"created by who does not know it":    {true, nil, "", nil, 1},
		"saved before there was a reference": {false, nil, "uid-1", []metav1.OwnerReference{ownedBy("uid-1")}, 1},
		"as it is": {false, []metav1.OwnerReference{ownedBy("uid-1")}, "uid-1",
			[]metav1.OwnerReference{ownedBy("uid-1")}, 0},
		"of a shoot that was created anew": {false, []metav1.OwnerReference{ownedBy("uid-1")}, "uid-2",
			[]metav1.OwnerReference{ownedBy("uid-2")}, 1},
		"of another version of the API": {false, []metav1.OwnerReference{past}, "uid-1",
			[]metav1.OwnerReference{ownedBy("uid-1")}, 1},
		"beside another owner": {false, []metav1.OwnerReference{other}, "uid-1",
			[]metav1.OwnerReference{ownedBy("uid-1"), other}, 1},
		"saved by who does not know the owner": {false, []metav1.OwnerReference{ownedBy("uid-1")}, "",
			[]metav1.OwnerReference{ownedBy("uid-1")}, 0},
	} {
		for verb, save := range map[string]func(*Store, *State) error{
			"Save": func(s *Store, state *State) error { return s.Save(t.Context(), shootKey, of(state)) },
			"Add":  func(s *Store, state *State) error { return add(s, t.Context(), shootKey, of(state)) },
		} {
			t.Run(name+", "+verb, func(t *testing.T) {
				t.Parallel()
				store, writes := newStore(t)
				state, object := sampleState(), &gardencorev1beta1.ShootState{}
				if !c.absent {
					if err := store.Save(t.Context(), shootKey, of(sampleState())); err != nil {
						t.Fatal(err)
					}
					if err := store.Garden.Get(t.Context(), shootKey, object); err != nil {
						t.Fatal(err)
					}
					object.OwnerReferences = c.before
					if err := store.Garden.Update(t.Context(), object); err != nil {
						t.Fatal(err)
					}
				}
				state.Owner = c.owner
				before := *writes
				if err := save(store, state); err != nil {
					t.Fatal(err)
				}
				if verb == "Save" && *writes-before != c.writes {
					t.Errorf("%d writes, want %d", *writes-before, c.writes)
				}
				if err := store.Garden.Get(t.Context(), shootKey, object); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, object.OwnerReferences); diff != "" {
					t.Errorf("owners (-want +got):\n%s", diff)
				}
			})
		}
	}
}
