package shootstate

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// harmed has a state of which a chunk was harmed, saved at rest or by who is leaving, and the name of the chunk.
func harmed(t *testing.T, save func(*Store, context.Context, client.ObjectKey, Source) error,
	harm string) (store *Store, state *State, chunk string) {
	t.Helper()
	store, _ = newStore(t)
	store.Budget = 4096
	state = sampleState()
	state.Epoch = 3
	slices.Reverse(state.Extensions) // what is mended comes last
	state.Extensions[1].State.Raw = noise(1, 6000)
	if err := save(store, t.Context(), shootKey, of(state)); err != nil {
		t.Fatal(err)
	}
	chunks := listChunks(t, store)
	if len(chunks) != 1 {
		t.Fatalf("there are %d chunks", len(chunks))
	}
	harms[harm](t, store, &chunks[0])
	return store, state, chunks[0].Name
}

// Who has the truth mends what has become of it in the garden, although nothing has changed.
func TestWhoSavesMendsChunks(t *testing.T) {
	t.Parallel()
	saves := map[string]func(*Store, context.Context, client.ObjectKey, Source) error{
		"a sync": (*Store).Save, "a migration": add,
	}
	for harm := range harms {
		for before, first := range saves {
			for after, save := range saves {
				t.Run(harm+" between "+before+" and "+after, func(t *testing.T) {
					t.Parallel()
					store, state, _ := harmed(t, first, harm)
					if err := save(store, t.Context(), shootKey, of(state)); err != nil {
						t.Fatal(err)
					}
					got, err := store.Load(t.Context(), shootKey)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(state, got); diff != "" {
						t.Errorf("state (-want +got):\n%s", diff)
					}
				})
			}
		}
	}
}

// Until the first Add what the seed no longer has is nobody's, and is waited for by nobody. Afterwards it may be all
// that is left, and so it may on a seed that never had it: the shoot came by force, and leaves before it is restored.
func TestDamageOfWhatTheSeedNoLongerHas(t *testing.T) {
	t.Parallel()
	for harm := range harms {
		t.Run(harm, func(t *testing.T) {
			t.Parallel()
			without := sampleState()
			without.Epoch = 3
			without.Extensions = without.Extensions[1:] // of what is there, the Infrastructure has the chunk

			store, _, chunk := harmed(t, (*Store).Save, harm)
			added, err := store.Add(t.Context(), shootKey, of(&State{Epoch: 3}), nil)
			if err != nil {
				t.Fatal(err)
			}
			if out := added.LeftOut; len(out) != 1 || !strings.Contains(out[0], `the state of Infrastructure "alpha": chunk`) ||
				!strings.Contains(out[0], chunk) {
				t.Errorf("left out is %q, want the state and its chunk %q", out, chunk)
			}
			got, err := store.Load(t.Context(), shootKey)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(without, got); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}

			for name, c := range map[string]struct {
				save  func(*Store, context.Context, client.ObjectKey, Source) error
				epoch int64 // in which the next Add collects
			}{"of who is leaving": {add, 3}, "of another seed": {(*Store).Save, 4}} {
				store, _, chunk = harmed(t, c.save, harm)
				before, after := &gardencorev1beta1.ShootState{}, &gardencorev1beta1.ShootState{}
				if err := store.Garden.Get(t.Context(), shootKey, before); err != nil {
					t.Fatal(err)
				}
				without.Epoch = c.epoch
				_, err = store.Add(t.Context(), shootKey, of(without), nil)
				damaged, is := errors.AsType[*DamagedError](err)
				if !is || !strings.Contains(damaged.Part, `the state of Infrastructure "alpha": chunk`) ||
					!strings.Contains(damaged.Part, chunk) {
					t.Errorf("%s: got %v, want a DamagedError with the state and its chunk %q", name, err, chunk)
				}
				if err := store.Garden.Get(t.Context(), shootKey, after); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("%s: the ShootState was written (-before +after):\n%s", name, diff)
				}
			}
		})
	}
}

// Who restores from a chunk in a newer epoch, and saves it again, has it in that epoch: an older ShootState, from a
// backup of the garden, takes nothing away from it.
func TestKeep_ChunkOfAnOlderEpoch_IsRaised(t *testing.T) {
	t.Parallel()
	store, _ := newStore(t)
	store.Budget = 4096
	for epoch := range int64(3) {
		state := chunked(1)
		state.Epoch = 3 + epoch
		if err := store.Save(t.Context(), shootKey, of(state)); err != nil {
			t.Fatal(err)
		}
		chunks := listChunks(t, store)
		if len(chunks) != 1 || chunks[0].Annotations["transplant.dev/epoch"] != strconv.FormatInt(state.Epoch, 10) {
			t.Errorf("in epoch %d there are %d chunks, the first with %v", state.Epoch, len(chunks), chunks[0].Annotations)
		}
	}
}
