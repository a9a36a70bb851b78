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
)

// chunked is a state that has a chunk, another one for each number.
func chunked(number int) *State {
	raw := noise(uint64(number), 6000)
	return &State{Epoch: 3, Extensions: []ExtensionState{{Kind: "Infrastructure", Name: "alpha", State: &runtime.RawExtension{Raw: raw}}}}
}

// turns lets two savers take turns, one call to the garden each time.
type turns struct {
	client.WithWatch
	waits [2]chan struct{}
	idle  chan int // who waits for its next turn, or has ended
	ended [2]bool
}

// store is that of one of them.
func (r *turns) store(saver int) *Store {
	wait := func() {
		r.idle <- saver
		<-r.waits[saver]
	}
	garden := interceptor.NewClient(r.WithWatch, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
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
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
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

// move gives one of them a turn, and tells whether there was one to give.
func (r *turns) move(saver int) bool {
	if r.ended[saver] {
		return false
	}
	r.waits[saver] <- struct{}{}
	<-r.idle
	return true
}

// saver saves a state once.
type saver struct {
	save  func(*Store, context.Context, client.ObjectKey, Source) error
	state int
}

// play lets two save beside each other: the one who is first makes some calls, the other some, and then each what is left.
// It returns how they ended, and in which order they collected.
func play(t *testing.T, garden client.WithWatch, savers [2]saver, first int, calls [2]int) (errs [2]error, collected []int) {
	t.Helper()
	r := &turns{WithWatch: garden, waits: [2]chan struct{}{make(chan struct{}), make(chan struct{})}, idle: make(chan int)}
	for i, s := range savers {
		go func() {
			errs[i] = s.save(r.store(i), t.Context(), shootKey, func(context.Context) (*State, error) {
				collected = append(collected, i)
				return chunked(s.state), nil
			})
			r.ended[i] = true
			r.idle <- i
		}()
		<-r.idle // it waits for its first turn
	}
	whole := &Store{Garden: garden, Clock: clock.RealClock{}}
	for n, left := range []int{calls[0], calls[1], math.MaxInt, math.MaxInt} {
		for ; left > 0 && r.move((first+n)%2); left-- {
			if _, err := whole.Load(t.Context(), shootKey); client.IgnoreNotFound(err) != nil {
				t.Errorf("%d first, calls %v: the state is not whole: %v", first, calls, err)
			}
		}
	}
	return errs, collected
}

// Whoever saves, and in whatever order their calls reach the garden: the state is whole after each of them, it is never
// replaced by one that was collected earlier, and who has not saved is told so.
func TestTwoWhoSaveBesideEachOther(t *testing.T) {
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
		"one needs what the other would clear up":  {[]saver{{sync, 1}}, 2, [2]saver{{sync, 1}, {leave, 2}}},
		"nothing was saved yet":                    {nil, 0, [2]saver{{sync, 1}, {leave, 2}}},
		"two gardenlets, one of which stood still": {[]saver{{leave, 1}}, 0, [2]saver{{leave, 2}, {leave, 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, _ := newStore(t)
			store.Budget = 4096
			const most = 7 // as many calls as a save makes
			for n := range 2 * most * most {
				first, calls := n%2, [2]int{n / 2 % most, n / 2 / most}
				for _, b := range c.before {
					if err := b.save(store, t.Context(), shootKey, of(chunked(b.state))); err != nil {
						t.Fatal(err)
					}
				}
				leaveBehind(t, store, c.litter)
				errs, collected := play(t, store.Garden.(client.WithWatch), c.savers, first, calls)
				latest := -1
				for _, i := range collected {
					switch {
					case errs[i] == nil:
						latest = i
					case !apierrors.IsConflict(errs[i]):
						t.Errorf("%d first, calls %v: %d ended with %v, want a conflict", first, calls, i, errs[i])
					}
				}
				if latest < 0 {
					t.Fatalf("%d first, calls %v: nobody has saved: %v", first, calls, errs)
				}
				got, err := store.Load(t.Context(), shootKey)
				if err != nil || !bytes.Equal(got.Extensions[0].State.Raw, chunked(c.savers[latest].state).Extensions[0].State.Raw) {
					t.Errorf("%d first, calls %v: the latest who has saved is %d, and not his state is there: %v", first, calls, latest, err)
				}
				if err := store.Delete(t.Context(), shootKey, 3, owner); err != nil {
					t.Fatal(err)
				}
			}
		})
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

// A migration removes the machine deployments one by one. Who dies in between finds some of them, and those are not all that
// there is; before the first was removed, they are. Nor are they all on a seed that has never restored all of them.
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
		"some were removed":        {add, [2]int64{3, 3}, `{"machineDeployments":{` + newer + `}}`, `{"machineDeployments":{` + a + `,` + newer + `}}`},
		"all were removed":         {add, [2]int64{3, 3}, ``, `{"machineDeployments":{` + a + `,` + b + `}}`},
		"none were removed":        {add, [2]int64{3, 3}, `{"machineDeployments":{` + a + `,` + newer + `}}`, `{"machineDeployments":{` + a + `,` + newer + `}}`},
		"a pool has gone before":   {(*Store).Save, [2]int64{3, 3}, `{"machineDeployments":{` + newer + `}}`, `{"machineDeployments":{` + newer + `}}`},
		"a pool was never here":    {(*Store).Save, [2]int64{3, 4}, `{"machineDeployments":{` + newer + `}}`, `{"machineDeployments":{` + a + `,` + newer + `}}`},
		"nobody knows whose it is": {(*Store).Save, [2]int64{0, 0}, `{"machineDeployments":{` + newer + `}}`, `{"machineDeployments":{` + a + `,` + newer + `}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, _ := newStore(t)
			if err := c.first(store, t.Context(), shootKey, of(c.epochs[0], `{"machineDeployments":{`+a+`,`+b+`}}`)); err != nil {
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

// Where the saved machines are damaged, those that are still there need not be all. What the same run has saved was all.
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
			if !is || !strings.Contains(damaged.Part, "the state of the machines: chunk") || !strings.Contains(damaged.Part, chunk.Name) {
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
