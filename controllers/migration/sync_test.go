package migration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
)

// beforeWriting does something each time before a ShootState is written, and says what its writer hears then; nil lets
// the write pass.
func beforeWriting(garden client.Client, do func(context.Context) error) client.Client {
	return interceptor.NewClient(garden.(client.WithWatch), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
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

// What was collected before the migration began must not come into the garden after what the migration has saved. Who comes
// too late hears so, looks again, and finds that the state is no longer his.
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
		if _, err := r.Reconcile(t.Context(), request); !errors.Is(err, errHeld) {
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
	if diff := cmp.Diff(map[string]string{"s-internal": `"let go"`}, savedExtensions(t, garden)); diff != "" {
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
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if _, is := o.(*gardencorev1beta1.Shoot); is {
				if reads++; reads == 2 {
					bind(t, garden, shoot, "c")
				}
			}
			return c.Get(ctx, key, o, options...)
		},
	})
	r.Factory.States = &shootstate.Store{Clock: r.Factory.Clock, Garden: beforeWriting(garden, func(context.Context) error {
		t.Error("the state was written")
		return nil
	})}
	sync := &StateSync{Factory: r.Factory, Period: time.Hour}
	result, err := sync.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)})
	if err != nil || result.RequeueAfter != 0 || reads != 2 {
		t.Errorf("%v, again after %v, read %d times", err, result.RequeueAfter, reads)
	}
}

// Others write the ShootState when a migration begins: who protects it, and a sync that is not over. The migration collects
// and saves again; it neither fails nor goes on with nothing saved.
func TestAMigrationThatIsOvertakenSavesAgain(t *testing.T) {
	t.Parallel()
	record := &extensionsv1alpha1.DNSRecord{ObjectMeta: inNamespace("s-internal")}
	shoot, r := leaving(t, record)
	garden, written := r.Factory.Garden, 0
	r.Factory.Seed = (&diary{}).on(r.Factory.Seed)
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)}
	r.Factory.States = &shootstate.Store{Clock: r.Factory.Clock, Garden: beforeWriting(garden, func(ctx context.Context) error {
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
	if _, err := r.Reconcile(t.Context(), request); !errors.Is(err, errHeld) {
		t.Fatalf("got %v, want to hear of the end of the epoch", err)
	}
	if diff := cmp.Diff(map[string]string{"s-internal": `"let go"`}, savedExtensions(t, garden)); diff != "" || written != 4 {
		t.Errorf("written %d times; saved (-want +got):\n%s", written, diff)
	}
}
