package shootstate

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
)

// A chunk stays while somebody may need it, and goes when nobody does.
func TestPrune_EachStateOfTheGarden_KeepsWhatIsNeeded(t *testing.T) {
	t.Parallel()
	const version = "THE VERSION"
	saved := map[string]string{"transplant.dev/epoch": "3"}
	written := func(epoch, over string) map[string]string {
		return map[string]string{"transplant.dev/epoch": epoch, "transplant.dev/over": over}
	}
	for name, c := range map[string]struct {
		noShoot bool
		state   map[string]string // annotations of the ShootState; nil for none
		chunk   map[string]string // annotations of the chunk
		other   bool              // it has the label of another shoot
		kept    bool
	}{
		"left by a save that failed":           {state: saved, chunk: written("3", "older")},
		"of a save over this version":          {state: saved, chunk: written("3", version), kept: true},
		"of the first save, replaced since":    {state: saved, chunk: written("3", "none/uid-of-alpha")},
		"of a newer epoch":                     {state: saved, chunk: written("4", "older"), kept: true},
		"of an older epoch":                    {state: saved, chunk: written("2", "older")},
		"of no epoch":                          {state: saved},
		"of an epoch that cannot be read":      {state: saved, chunk: written("x", "older"), kept: true},
		"of another shoot":                     {state: saved, other: true, kept: true},
		"the state is deleted":                 {chunk: written("3", "older")},
		"nothing is saved yet":                 {chunk: written("3", "none/uid-of-alpha"), kept: true},
		"the first save was of a former shoot": {chunk: written("3", "none/uid-of-former")},
		"the shoot is gone, before a save":     {noShoot: true, chunk: written("3", "none/uid-of-alpha")},
		"the shoot is gone, its UID unknown":   {noShoot: true, chunk: written("3", "none/")},
		"the shoot and its state are gone":     {noShoot: true, chunk: written("3", "older")},
		"the state outlives the shoot":         {noShoot: true, state: saved, chunk: written("3", version), kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, _ := newStore(t)
			named := metav1.ObjectMeta{Namespace: shootKey.Namespace, Name: shootKey.Name}
			create := func(object client.Object) {
				t.Helper()
				if err := store.Garden.Create(t.Context(), object); err != nil {
					t.Fatal(err)
				}
			}
			if c.noShoot {
				if err := store.Garden.Delete(t.Context(), &gardencorev1beta1.Shoot{ObjectMeta: named}); err != nil {
					t.Fatal(err)
				}
			}
			state := &gardencorev1beta1.ShootState{ObjectMeta: named}
			if state.Annotations = c.state; c.state != nil {
				create(state)
			}
			chunk := &transplantv1alpha1.ShootStateChunk{ObjectMeta: metav1.ObjectMeta{
				Namespace: shootKey.Namespace, Name: "alpha-0123456789abcdef-0",
				Labels: map[string]string{"transplant.dev/shoot": "alpha"}, Annotations: c.chunk,
			}}
			if chunk.Annotations["transplant.dev/over"] == version {
				chunk.Annotations["transplant.dev/over"] = state.ResourceVersion
			}
			if c.other {
				chunk.Labels["transplant.dev/shoot"] = "beta"
			}
			create(chunk)
			for range 2 { // a second look changes nothing
				if err := store.Prune(t.Context(), shootKey); err != nil {
					t.Fatal(err)
				}
			}
			if left := len(listChunks(t, store)); left != map[bool]int{true: 1}[c.kept] {
				t.Errorf("%d chunks are left, kept: %t", left, c.kept)
			}
		})
	}
}

// Nobody knows to what a damaged ShootState refers.
func TestPrune_DamagedState_KeepsAll(t *testing.T) {
	t.Parallel()
	for damaged, c := range map[string]struct{ epoch, data string }{
		"parse annotation":                     {"x", `{}`},
		"a reference to chunks cannot be read": {"3", `{"transplant.dev/ref":[]}`},
	} {
		store, _ := newStore(t)
		store.Budget = 4096
		leaveBehind(t, store, 1)
		state := &gardencorev1beta1.ShootState{}
		state.Namespace, state.Name = shootKey.Namespace, shootKey.Name
		state.Annotations = map[string]string{"transplant.dev/epoch": c.epoch}
		state.Spec.Resources = []gardencorev1beta1.ResourceData{{Data: runtime.RawExtension{Raw: []byte(c.data)}}}
		if err := store.Garden.Create(t.Context(), state); err != nil {
			t.Fatal(err)
		}
		err := store.Prune(t.Context(), shootKey)
		if err == nil || !strings.Contains(err.Error(), damaged) || !strings.Contains(err.Error(), shootKey.String()) {
			t.Errorf("got %v, want an error that names %s and says %q", err, shootKey, damaged)
		}
		if left := len(listChunks(t, store)); left != 1 {
			t.Errorf("%q: %d chunks are left", damaged, left)
		}
	}
}

// What was read before it was written again is another's by now.
func TestPrune_ChunkWrittenSinceItWasListed_KeepsIt(t *testing.T) {
	t.Parallel()
	store, _ := newStore(t)
	store.Budget = 4096
	leaveBehind(t, store, 1)
	write := saver{save: func(s *Store, ctx context.Context, _ client.ObjectKey, _ Source) error {
		chunk := listChunks(t, store)[0]
		chunk.Labels["touched"] = "true"
		return s.Garden.Patch(ctx, &chunk, client.Merge)
	}}
	errs, _ := play(t, store.Garden.(client.WithWatch), []saver{remover, write}, []turn{{0, 2}, {1, 1}})
	if errors.Join(errs...) != nil {
		t.Fatal(errs)
	}
	if left := len(listChunks(t, store)); left != 1 {
		t.Errorf("%d chunks are left, want the one that was written", left)
	}
}

// A deletion leaves nothing, in whatever state the shoot was, once the Shoot has gone.
func TestPrune_AfterDelete_LeavesNothing(t *testing.T) {
	t.Parallel()
	for _, saves := range []int{1, 2} { // chunks of the first version, and of a later one
		store, _ := newStore(t)
		for number := range saves {
			state := sampleState()
			state.Owner, state.Extensions[0].State.Raw = shootUID, noise(uint64(number), 2<<20)
			if err := store.Save(t.Context(), shootKey, of(state)); err != nil {
				t.Fatal(err)
			}
		}
		if len(listChunks(t, store)) == 0 {
			t.Fatal("the state was not split")
		}
		for range 2 {
			if err := store.Delete(t.Context(), shootKey, 0, owner); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := store.Load(t.Context(), shootKey); !apierrors.IsNotFound(err) {
			t.Errorf("got %v, want a NotFound error", err)
		}
		shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: shootKey.Namespace, Name: shootKey.Name}}
		if err := store.Garden.Delete(t.Context(), shoot); err != nil {
			t.Fatal(err)
		}
		if err := store.Prune(t.Context(), shootKey); err != nil {
			t.Fatal(err)
		}
		if left := listChunks(t, store); len(left) != 0 {
			t.Errorf("after %d saves %d chunks are left", saves, len(left))
		}
	}
}
