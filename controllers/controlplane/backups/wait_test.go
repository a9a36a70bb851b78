package backups

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

// Waits for a BackupEntry are woken by that entry, and not by what changes in the shoot's namespace, which is a lot.
// Without a watch they look at the fallback interval.
func TestWaitEntry_IsWokenByItsEntry(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]func(*Backups, context.Context) error{
		"ready": (*Backups).WaitEntry,
		"gone": func(b *Backups, ctx context.Context) error {
			return b.waitEntryGone(ctx, controlplanetest.EntryIn(controlplanetest.EntryName, ""))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				entry := controlplanetest.EntryIn(controlplanetest.EntryName, "uid-a")
				onA, _ := controlplanetest.OnSeedA(t, "Restore", []client.Object{entry}, interceptor.Funcs{})
				onA.WaitInterval = time.Second
				garden, looks := onA.Garden, 0
				onA.Garden = interceptor.NewClient(garden.(client.WithWatch), interceptor.Funcs{
					Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
						options ...client.GetOption) error {
						looks++
						return c.Get(ctx, key, o, options...)
					},
				})
				done := make(chan error)
				go func() { done <- wait(New(onA), t.Context()) }()
				expect := func(when string, want int) {
					t.Helper()
					synctest.Wait()
					if looks != want {
						t.Errorf("%s: %d looks, want %d", when, looks, want)
					}
				}
				expect("at first", 1)
				onA.Bell.Ring("shoot--p--alpha")
				onA.Bell.Ring("source-shoot--p--alpha--uid")
				expect("after others' changes", 1)
				onA.Bell.Ring("shoot--p--alpha--uid")
				expect("after its change", 2)
				time.Sleep(time.Second)
				expect("after the fallback interval", 3)
				end(t, name, garden, entry)
				time.Sleep(time.Second)
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// While the cache shows that an entry is not ready, its changes ask the garden nothing. What it shows as ready, the
// garden confirms.
func TestWaitEntry_CacheSaysNotYet_AsksNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		entry := controlplanetest.EntryIn(controlplanetest.EntryName, "uid-a")
		onA, _ := controlplanetest.OnSeedA(t, "Restore", []client.Object{entry}, interceptor.Funcs{})
		onA.WaitInterval = 5 * time.Second
		garden, looks := onA.Garden, 0
		onA.WatchedGarden = garden
		onA.Garden = interceptor.NewClient(garden.(client.WithWatch), interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
				options ...client.GetOption) error {
				looks++
				return c.Get(ctx, key, o, options...)
			},
		})
		done := make(chan error)
		go func() { done <- New(onA).WaitEntry(t.Context()) }()
		for range 3 {
			synctest.Wait()
			onA.Bell.Ring(controlplanetest.EntryName)
		}
		synctest.Wait()
		before := looks
		end(t, "ready", garden, entry)
		onA.Bell.Ring(controlplanetest.EntryName)
		if err := <-done; err != nil || before != 0 || looks != 1 {
			t.Errorf("asked %d times before it was ready, %d in all, %v", before, looks, err)
		}
	})
}

// end makes the entry ready, or takes it away, and no watch reports it.
func end(t *testing.T, how string, garden client.Client, entry *gardencorev1beta1.BackupEntry) {
	t.Helper()
	err := garden.Delete(t.Context(), entry)
	if how == "ready" {
		entry.ResourceVersion = ""
		entry.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Create", State: "Succeeded"}
		err = garden.Create(t.Context(), entry)
	}
	if err != nil {
		t.Fatal(err)
	}
}
