package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/operation"
)

// beforeWriting does something each time before a ShootState is written, and says what its writer hears then; nil lets
// the write pass.
func beforeWriting(garden client.Client, do func(context.Context) error) client.Client {
	return interceptor.NewClient(garden.(client.WithWatch), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch,
			options ...client.PatchOption) error {
			if _, is := o.(*gardencorev1beta1.ShootState); is {
				if err := do(ctx); err != nil {
					return err
				}
			}
			return c.Patch(ctx, o, patch, options...)
		},
	})
}

// savedExtensions are the states of extensions that are saved for shoot s.
func savedExtensions(t *testing.T, garden client.Client) map[string]string {
	t.Helper()
	state, err := (&shootstate.Store{Garden: garden}).Load(t.Context(), client.ObjectKey{Namespace: "garden-p", Name: "s"})
	if err != nil {
		t.Fatal(err)
	}
	saved := map[string]string{}
	for _, e := range state.Extensions {
		saved[e.Name] = string(e.State.Raw)
	}
	return saved
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// machines are those of shoot s on its seed, with so much to say that their state goes into a chunk.
func machines() []client.Object {
	owned := func(name, by string) metav1.ObjectMeta {
		meta := inNamespace(name)
		meta.UID, meta.Labels = types.UID("uid-"+name), map[string]string{"node": name}
		if by != "" {
			meta.OwnerReferences = []metav1.OwnerReference{{Name: by, UID: types.UID("uid-" + by)}}
		}
		return meta
	}
	machine := &machinev1alpha1.Machine{ObjectMeta: owned("machine", "set")}
	machine.Annotations = map[string]string{"says": noise(8192)}
	return []client.Object{
		&machinev1alpha1.MachineDeployment{ObjectMeta: owned("pool", "")},
		&machinev1alpha1.MachineSet{ObjectMeta: owned("set", "pool")}, machine,
	}
}

// leavingWithMachines is a shoot that moves from seed b, whose state was saved there and is damaged since: its machines
// are in a chunk that is.
func leavingWithMachines(t *testing.T) (*gardencorev1beta1.Shoot, *operation.Reconciler, *eventLog) {
	t.Helper()
	shoot, r := leaving(t, machines()...)
	events := &eventLog{}
	r.Runner.Events = events
	r.Factory.States = &shootstate.Store{Garden: r.Factory.Garden, Clock: r.Factory.Clock, Budget: 4096}
	bind(t, r.Factory.Garden, shoot, "b")
	sync := &StateSync{Factory: r.Factory, Period: time.Hour}
	if _, err := sync.Reconcile(t.Context(),
		reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)}); err != nil {
		t.Fatal(err)
	}
	bind(t, r.Factory.Garden, shoot, "c")
	return shoot, r, events
}

// damage changes the only chunk of the saved state.
func damage(ctx context.Context, garden client.Client) error {
	chunks := &transplantv1alpha1.ShootStateChunkList{}
	if err := garden.List(ctx, chunks); err != nil {
		return err
	}
	if len(chunks.Items) != 1 {
		return fmt.Errorf("there are %d chunks", len(chunks.Items))
	}
	chunks.Items[0].Data[7] ^= 1
	return garden.Update(ctx, &chunks.Items[0])
}

// What was collected before the migration began must not come into the garden after what the migration has saved. Who
// comes too late hears so, looks again, and finds that the state is no longer his.
func TestASyncDoesNotOvertakeAMigration(t *testing.T) {
	t.Parallel()
	record := &extensionsv1alpha1.DNSRecord{ObjectMeta: inNamespace("s-internal")}
	record.Status.State = &runtime.RawExtension{Raw: []byte(`"before"`)}
	shoot, r := leaving(t, record)
	garden, seed := r.Factory.Garden, r.Factory.Seed
	r.Factory.Seed = (&diary{}).on(seed)
	bind(t, garden, shoot, "b") // it is not leaving yet
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)}

	slow := newFactory(t, garden, ownedBy("b", 3), shelves{})
	slow.Seed = seed
	writes := 0
	slow.States = &shootstate.Store{Clock: slow.Clock, Garden: beforeWriting(garden, func(context.Context) error {
		if writes++; writes > 1 {
			return nil
		}
		bind(t, garden, shoot, "c")
		if _, err := r.Reconcile(t.Context(), request); !errors.Is(err, errNotEnded) {
			t.Errorf("got %v, want to hear of the end of the epoch", err)
		}
		return nil
	})}
	sync := &StateSync{Factory: slow, Period: time.Hour}
	if _, err := sync.Reconcile(t.Context(), request); !apierrors.IsConflict(err) {
		t.Errorf("got %v, want a conflict, so that it is tried again", err)
	}
	if result, err := sync.Reconcile(t.Context(), request); err != nil || result.RequeueAfter != 0 || writes != 1 {
		t.Errorf("looked again: %v, again after %v, %d writes", err, result.RequeueAfter, writes)
	}
	if diff := cmp.Diff(map[string]string{"s-internal": `"released"`}, savedExtensions(t, garden)); diff != "" {
		t.Errorf("saved (-want +got):\n%s", diff)
	}
}

// bind gives the shoot to a seed, or back to its own.
func bind(t *testing.T, garden client.Client, shoot *gardencorev1beta1.Shoot, seed string) {
	t.Helper()
	if err := garden.Get(t.Context(), client.ObjectKeyFromObject(shoot), shoot); err != nil {
		t.Fatal(err)
	}
	shoot.Spec.SeedName = &seed
	if err := garden.Update(t.Context(), shoot); err != nil {
		t.Fatal(err)
	}
}

// A shoot that is given away while its state is collected is not this seed's to save.
func TestASyncLooksAgainWhenItHasCollected(t *testing.T) {
	t.Parallel()
	shoot, r := leaving(t)
	garden := r.Factory.Garden
	bind(t, garden, shoot, "b")
	reads := 0
	r.Factory.Garden = interceptor.NewClient(garden.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			options ...client.GetOption) error {
			if _, is := o.(*gardencorev1beta1.Shoot); is {
				if reads++; reads == 2 {
					bind(t, garden, shoot, "c")
				}
			}
			return c.Get(ctx, key, o, options...)
		},
	})
	r.Factory.States = &shootstate.Store{Clock: r.Factory.Clock,
		Garden: beforeWriting(garden, func(context.Context) error {
			t.Error("the state was written")
			return nil
		})}
	sync := &StateSync{Factory: r.Factory, Period: time.Hour}
	result, err := sync.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)})
	if err != nil || result.RequeueAfter != 0 || reads != 2 {
		t.Errorf("%v, again after %v, read %d times", err, result.RequeueAfter, reads)
	}
}

// Others write the ShootState when a migration begins: who protects it, and a sync that is not over. The migration
// collects and saves again; it neither fails nor goes on with nothing saved.
func TestAMigrationThatIsOvertakenSavesAgain(t *testing.T) {
	t.Parallel()
	record := &extensionsv1alpha1.DNSRecord{ObjectMeta: inNamespace("s-internal")}
	shoot, r := leaving(t, record)
	garden, written := r.Factory.Garden, 0
	r.Factory.Seed = (&diary{}).on(r.Factory.Seed)
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)}
	r.Factory.States = &shootstate.Store{Clock: r.Factory.Clock,
		Garden: beforeWriting(garden, func(ctx context.Context) error {
			if written++; written%2 == 0 { // each time it is persisted
				return nil
			}
			state := &gardencorev1beta1.ShootState{}
			if err := garden.Get(ctx, request.NamespacedName, state); err != nil {
				return err
			}
			state.Labels = map[string]string{"written": time.Now().String()}
			return garden.Update(ctx, state)
		})}
	if _, err := r.Reconcile(t.Context(), request); !errors.Is(err, errNotEnded) {
		t.Fatalf("got %v, want to hear of the end of the epoch", err)
	}
	if diff := cmp.Diff(map[string]string{"s-internal": `"released"`}, savedExtensions(t, garden)); diff != "" ||
		written != 4 {
		t.Errorf("written %d times; saved (-want +got):\n%s", written, diff)
	}
}

// Nothing wakes the sync when it is the garden that has lost something: it looks by itself.
func TestASyncMendsWhatTheGardenHasLost(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(context.Context, client.Client) error{
		"a chunk is damaged": damage,
		"the chunks are missing": func(ctx context.Context, garden client.Client) error {
			return garden.DeleteAllOf(ctx, &transplantv1alpha1.ShootStateChunk{}, client.InNamespace("garden-p"))
		},
		"the state is missing": func(ctx context.Context, garden client.Client) error {
			return garden.DeleteAllOf(ctx, &gardencorev1beta1.ShootState{}, client.InNamespace("garden-p"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shoot, r, _ := leavingWithMachines(t)
			bind(t, r.Factory.Garden, shoot, "b")
			request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)}
			want, err := r.Factory.States.Load(t.Context(), request.NamespacedName)
			if err != nil {
				t.Fatal(err)
			}
			if err := harm(t.Context(), r.Factory.Garden); err != nil {
				t.Fatal(err)
			}
			result, err := (&StateSync{Factory: r.Factory, Period: time.Hour}).Reconcile(t.Context(), request)
			if err != nil || result.RequeueAfter != time.Hour {
				t.Errorf("looks again after %v, %v", result.RequeueAfter, err)
			}
			got, err := r.Factory.States.Load(t.Context(), request.NamespacedName)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

// Damage in the garden does not hold up who has the truth; what is lost is reported, and what may be the last of it is
// not released.
func TestAMigrationWithADamagedState(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		// the machines are gone before; the damage comes when they are gone; and the run begins anew then
		gone, late, again bool
		reported, fails   bool
		left              bool // the state of the machines
	}{
		"the machines are there":                      {left: true},
		"they have gone before":                       {gone: true, reported: true},
		"they were there":                             {late: true, left: true},
		"they were there, and this run does not know": {again: true, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shoot, r, events := leavingWithMachines(t)
			garden, seed := r.Factory.Garden, r.Factory.Seed
			if c.gone {
				for _, object := range machines() {
					remove(t, seed, object)
				}
			}
			if !c.late && !c.again {
				must(t, damage(t.Context(), garden))
			}
			r.Factory.Seed = interceptor.NewClient(seed.(client.WithWatch), interceptor.Funcs{
				Delete: func(ctx context.Context, cl client.WithWatch, o client.Object, options ...client.DeleteOption) error {
					if _, is := o.(*appsv1.Deployment); is && o.GetName() == workload.KubeAPIServer && c.late {
						if err := damage(ctx, garden); err != nil {
							return err
						}
					}
					return cl.Delete(ctx, o, options...)
				},
			})
			request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)}
			_, err := r.Reconcile(t.Context(), request)
			if c.again {
				must(t, damage(t.Context(), garden))
				must(t, garden.Patch(t.Context(), shoot,
					client.RawPatch(types.MergePatchType,
						[]byte(`{"metadata":{"annotations":{"gardener.cloud/operation":"retry"}}}`))))
				_, err = r.Reconcile(t.Context(), request)
			}
			damaged, is := errors.AsType[*shootstate.DamagedError](err)
			switch {
			case is != c.fails || is && !strings.Contains(damaged.Part, `the state of the machines: chunk "s-`):
				t.Errorf("got %v; a part that is lost: want %t", err, c.fails)
			case !is && !errors.Is(err, errNotEnded):
				t.Errorf("got %v, want to hear of the end of the epoch", err)
			}
			if reported := slices.Contains(*events, "s StateDamaged"); reported != c.reported {
				t.Errorf("reported: %t", reported)
			}
			if c.fails {
				return
			}
			state, err := r.Factory.States.Load(t.Context(), request.NamespacedName)
			if err != nil || (state.Machines != nil) != c.left {
				t.Errorf("the state is %+v, %v", state, err)
			}
		})
	}
}

// Whoever saves the state gives it to the Shoot that it is of, as in docs/specification/README.md#s0: the sync, and a
// migration of a state that has no owner yet.
func TestSavedState_BelongsToItsShoot(t *testing.T) {
	t.Parallel()
	shoot, r, _ := leavingWithMachines(t)
	garden, state := r.Factory.Garden, &gardencorev1beta1.ShootState{}
	want := []metav1.OwnerReference{{
		APIVersion: "core.gardener.cloud/v1beta1", Kind: "Shoot", Name: shoot.Name, UID: shoot.UID,
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}}
	check := func(saver string) {
		if err := garden.Get(t.Context(), client.ObjectKeyFromObject(shoot), state); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, state.OwnerReferences); diff != "" || shoot.UID == "" {
			t.Errorf("owners after the %s (-want +got):\n%s", saver, diff)
		}
	}
	check("sync")
	state.OwnerReferences = nil
	if err := garden.Update(t.Context(), state); err != nil {
		t.Fatal(err)
	}
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)}
	if _, err := r.Reconcile(t.Context(), request); !errors.Is(err, errNotEnded) {
		t.Fatalf("got %v, want to hear of the end of the epoch", err)
	}
	check("migration")
}

// The end of an operation may change the epoch that is saved. Progress and labels change nothing of a state.
func TestStateSync_IsNews(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*gardencorev1beta1.Shoot)
		want   bool
	}{
		"progress":             {change: func(s *gardencorev1beta1.Shoot) { s.Status.LastOperation.Progress = 40 }},
		"a label":              {change: func(s *gardencorev1beta1.Shoot) { s.Labels = map[string]string{"a": "b"} }},
		"it ends":              {func(s *gardencorev1beta1.Shoot) { s.Status.LastOperation.State = "Succeeded" }, true},
		"a new one":            {func(s *gardencorev1beta1.Shoot) { s.Status.LastOperation.Type = "Restore" }, true},
		"bound elsewhere":      {func(s *gardencorev1beta1.Shoot) { s.Spec.SeedName = ptr.To("b") }, true},
		"bound there and back": {func(s *gardencorev1beta1.Shoot) { s.Generation += 2 }, true},
		"written":              {change: func(s *gardencorev1beta1.Shoot) { s.ResourceVersion = "11" }},
		"the garden went back": {func(s *gardencorev1beta1.Shoot) { s.ResourceVersion = "5" }, true},
	} {
		r := &StateSync{Factory: &controlplane.Factory{Settings: scope.Settings{SeedName: "a"}}}
		before := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9"}}
		before.Spec.SeedName, before.Status.SeedName = ptr.To("a"), ptr.To("a")
		before.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Reconcile", State: "Processing"}
		after := before.DeepCopy()
		c.change(after)
		if got := r.isNews(before, after); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
