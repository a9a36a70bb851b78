package shootstate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
)

// chunked is a state that has a chunk, another one for each number.
func chunked(number int) *State {
	raw := noise(uint64(number), 6000)
	return &State{Epoch: 3, Owner: shootUID,
		Extensions: []ExtensionState{{Kind: "Infrastructure", Name: "alpha", State: &runtime.RawExtension{Raw: raw}}}}
}

// turns lets some players take turns, one call to the garden each time.
type turns struct {
	client.WithWatch
	waits []chan struct{}
	idle  chan int // who waits for its next turn, or has ended
	ended []bool
}

// store is that of one of them.
func (r *turns) store(player int) *Store {
	wait := func() {
		r.idle <- player
		<-r.waits[player]
	}
	garden := interceptor.NewClient(r.WithWatch, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			wait()
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			wait()
			return c.List(ctx, list, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			wait()
			return c.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch,
			opts ...client.PatchOption) error {
			wait()
			return c.Patch(ctx, o, patch, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			wait()
			return c.Delete(ctx, o, opts...)
		},
	})
	return &Store{Garden: garden, Clock: clock.RealClock{}, Budget: 4096}
}

// move gives one of them a turn, and reports whether there was one to give.
func (r *turns) move(player int) bool {
	if r.ended[player] {
		return false
	}
	r.waits[player] <- struct{}{}
	<-r.idle
	return true
}

// saver saves a state once.
type saver struct {
	save  func(*Store, context.Context, client.ObjectKey, Source) error
	state int
}

// remover removes, at any time, what nobody needs.
var remover = saver{save: func(s *Store, ctx context.Context, shoot client.ObjectKey, _ Source) error {
	return s.Prune(ctx, shoot)
}}

// turn is how many calls a player makes before the next one plays.
type turn struct{ player, calls int }

// play lets the players call the garden in the order of the schedule, and after it each what is left. It returns how
// they ended, and in which order they collected.
func play(t *testing.T, garden client.WithWatch, players []saver, schedule []turn) (errs []error, collected []int) {
	t.Helper()
	r := &turns{WithWatch: garden, idle: make(chan int), ended: make([]bool, len(players))}
	errs = make([]error, len(players))
	for range players {
		r.waits = append(r.waits, make(chan struct{}))
	}
	for i, s := range players {
		go func() {
			errs[i] = s.save(r.store(i), t.Context(), shootKey, func(context.Context) (*State, error) {
				collected = append(collected, i)
				return chunked(s.state), nil
			})
			r.ended[i] = true
			r.idle <- i
		}()
		<-r.idle // it waits for its first turn
		schedule = append(schedule, turn{i, math.MaxInt})
	}
	whole := &Store{Garden: garden, Clock: clock.RealClock{}}
	for _, of := range schedule {
		for left := of.calls; left > 0 && r.move(of.player); left-- {
			if _, err := whole.Load(t.Context(), shootKey); client.IgnoreNotFound(err) != nil {
				t.Errorf("%v: the state is not whole: %v", schedule, err)
			}
		}
	}
	return errs, collected
}

// schedules are the orders in which two save beside each other, and somebody removes what nobody needs; with -short,
// every seventh of them.
func schedules() [][]turn {
	const most, mostOfRemover = 5, 4 // as many calls as each makes
	every := 1
	if testing.Short() {
		every = 7
	}
	var all [][]turn
	for n := 0; n < 2*most*most*mostOfRemover; n += every {
		first, calls, removed := n%2, [2]int{n / 2 % most, n / 2 / most % most}, n/2/most/most
		all = append(all, []turn{{first, calls[0]}, {2, removed}, {1 - first, calls[1]}, {first, math.MaxInt},
			{2, math.MaxInt}})
	}
	return all
}

// Whoever saves, and in whatever order their calls reach the garden: the state is whole after each of them, it is never
// replaced by one that was collected earlier, and who has not saved gets an error. What nobody refers to goes.
func TestSave_BesideOthersAndPrune_StaysWhole(t *testing.T) {
	t.Parallel()
	sync, leave := (*Store).Save, add
	for name, c := range map[string]struct {
		before []saver // what was saved before
		litter int     // the state of which a crash has left a chunk; 0 for none
		savers [2]saver
	}{
		"a sync and a migration":                   {[]saver{{sync, 1}}, 0, [2]saver{{sync, 2}, {leave, 3}}},
		"a sync and a migration that adds nothing": {[]saver{{sync, 1}}, 0, [2]saver{{sync, 2}, {leave, 1}}},
		"the same after one that was called off":   {[]saver{{leave, 1}}, 0, [2]saver{{sync, 2}, {leave, 1}}},
		"both need the same new chunk":             {[]saver{{sync, 1}}, 0, [2]saver{{sync, 2}, {leave, 2}}},
		"both need what was left":                  {[]saver{{sync, 1}}, 2, [2]saver{{sync, 2}, {leave, 2}}},
		"one needs what is removed for the other":  {[]saver{{sync, 1}}, 2, [2]saver{{leave, 1}, {leave, 2}}},
		"nothing was saved yet":                    {nil, 0, [2]saver{{sync, 1}, {leave, 2}}},
		"the first needs what was left":            {nil, 1, [2]saver{{sync, 1}, {leave, 1}}},
		"two gardenlets, one of which stood still": {[]saver{{leave, 1}}, 0, [2]saver{{leave, 2}, {leave, 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, _ := newStore(t)
			store.Budget = 4096
			for _, schedule := range schedules() {
				for _, b := range c.before {
					if err := b.save(store, t.Context(), shootKey, of(chunked(b.state))); err != nil {
						t.Fatal(err)
					}
				}
				leaveBehind(t, store, c.litter)
				players := []saver{c.savers[0], c.savers[1], remover}
				errs, collected := play(t, store.Garden.(client.WithWatch), players, schedule)
				checkPlayed(t, store, players, errs, collected)
				if err := errors.Join(
					store.Delete(t.Context(), shootKey, 3, owner),
					store.Garden.DeleteAllOf(t.Context(), &transplantv1alpha1.ShootStateChunk{},
						client.InNamespace(shootKey.Namespace)),
				); err != nil {
					t.Fatal(err)
				}
				if t.Failed() {
					t.Fatalf("the schedule is %v", schedule)
				}
			}
		})
	}
}

// checkPlayed: the latest who has saved has its state there, the others have got a conflict, and nothing else is left.
func checkPlayed(t *testing.T, store *Store, players []saver, errs []error, collected []int) {
	t.Helper()
	latest := -1
	for _, i := range collected {
		switch {
		case errs[i] == nil:
			latest = i
		case !apierrors.IsConflict(errs[i]):
			t.Errorf("%d ended with %v, want a conflict", i, errs[i])
		}
	}
	if latest < 0 || errs[len(errs)-1] != nil {
		t.Fatalf("nobody has saved, or who removes has failed: %v", errs)
	}
	if err := store.Prune(t.Context(), shootKey); err != nil {
		t.Fatal(err)
	}
	got, err := store.Load(t.Context(), shootKey)
	if err != nil || !bytes.Equal(got.Extensions[0].State.Raw, chunked(players[latest].state).Extensions[0].State.Raw) {
		t.Errorf("the latest who has saved is %d, and not his state is there: %v", latest, err)
	}
	if left := listChunks(t, store); len(left) != 1 {
		t.Errorf("%d chunks are left, want the one of the state", len(left))
	}
}

// leaveBehind adds the chunk of a state that was not saved.
func leaveBehind(t *testing.T, store *Store, number int) {
	t.Helper()
	if number == 0 {
		return
	}
	spec, err := encode(chunked(number))
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := store.split(shootKey, spec)
	if err != nil || len(chunks) != 1 {
		t.Fatalf("%d chunks, %v", len(chunks), err)
	}
	chunks[0].Annotations = map[string]string{"transplant.dev/epoch": "3"}
	if err := store.Garden.Create(t.Context(), chunks[0]); err != nil {
		t.Fatal(err)
	}
}

// A migration removes the machine deployments one by one. Who dies in between finds some of them, and those are not all
// that there is; before the first was removed, they are. Nor are they all on a seed that has never restored all of
// them.
func TestMachinesOfAnUnfinishedMigration(t *testing.T) {
	t.Parallel()
	of := func(epoch int64, machines string) Source {
		return func(context.Context) (*State, error) {
			state := &State{Epoch: epoch}
			if machines != "" {
				state.Machines = &runtime.RawExtension{Raw: []byte(machines)}
			}
			return state, nil
		}
	}
	const a, b, newer = `"a":{"replicas":1}`, `"b":{"replicas":2}`, `"b":{"replicas":3}`
	for name, c := range map[string]struct {
		first           func(*Store, context.Context, client.ObjectKey, Source) error
		epochs          [2]int64 // of the first, and of who leaves
		collected, want string
	}{
		"some were removed": {add, [2]int64{3, 3}, `{"machineDeployments":{` + newer + `}}`,
			`{"machineDeployments":{` + a + `,` + newer + `}}`},
		"all were removed": {add, [2]int64{3, 3}, ``, `{"machineDeployments":{` + a + `,` + b + `}}`},
		"none were removed": {add, [2]int64{3, 3}, `{"machineDeployments":{` + a + `,` + newer + `}}`,
			`{"machineDeployments":{` + a + `,` + newer + `}}`},
		"a pool has gone before": {(*Store).Save, [2]int64{3, 3}, `{"machineDeployments":{` + newer + `}}`,
			`{"machineDeployments":{` + newer + `}}`},
		"a pool was never here": {(*Store).Save, [2]int64{3, 4}, `{"machineDeployments":{` + newer + `}}`,
			`{"machineDeployments":{` + a + `,` + newer + `}}`},
		"nobody knows whose it is": {(*Store).Save, [2]int64{0, 0}, `{"machineDeployments":{` + newer + `}}`,
			`{"machineDeployments":{` + a + `,` + newer + `}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, _ := newStore(t)
			if err := c.first(store, t.Context(), shootKey,
				of(c.epochs[0], `{"machineDeployments":{`+a+`,`+b+`}}`)); err != nil {
				t.Fatal(err)
			}
			if err := add(store, t.Context(), shootKey, of(c.epochs[1], c.collected)); err != nil {
				t.Fatal(err)
			}
			got, err := store.Load(t.Context(), shootKey)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got.Machines.Raw)); diff != "" {
				t.Errorf("machines (-want +got):\n%s", diff)
			}
		})
	}
}

// Where the saved machines are damaged, those that are still there need not be all. What the same run has saved was
// all.
func TestDamagedMachinesOfAnUnfinishedMigration(t *testing.T) {
	t.Parallel()
	machines := func(pools string) *State {
		return &State{Machines: &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"machineDeployments":{%s}}`, pools)}}
	}
	all, some := machines(fmt.Sprintf(`"a":%s,"b":{}`, noise(1, 6000))), machines(`"b":{}`)
	for harm, do := range harms {
		t.Run(harm, func(t *testing.T) {
			t.Parallel()
			store, _ := newStore(t)
			store.Budget = 4096
			before, err := store.Add(t.Context(), shootKey, of(all), nil)
			if err != nil {
				t.Fatal(err)
			}
			chunk := listChunks(t, store)[0]
			do(t, store, &chunk)
			_, err = store.Add(t.Context(), shootKey, of(some), nil)
			damaged, is := errors.AsType[*DamagedError](err)
			if !is || !strings.Contains(damaged.Part, "the state of the machines: chunk") || !strings.Contains(damaged.Part,
				chunk.Name) {
				t.Errorf("got %v, want a DamagedError with the machines and their chunk %q", err, chunk.Name)
			}
			if _, err = store.Add(t.Context(), shootKey, of(some), before); err != nil {
				t.Fatal(err)
			}
			got, err := store.Load(t.Context(), shootKey)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(all.Machines.Raw), string(got.Machines.Raw)); diff != "" {
				t.Errorf("machines (-want +got):\n%s", diff)
			}
		})
	}
}
