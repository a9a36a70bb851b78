package backups

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
)

// A destination may die at any point, and so may the next one: etcd is restored from where the data is.
func TestBackupSource(t *testing.T) {
	t.Parallel()
	unread, damaged := errors.New("the cloud is away"), errors.New("an object is damaged")
	etcd := controlplanetest.EtcdOf("4")
	here := []client.Object{etcd, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha"}}}
	const restore = gardencorev1beta1.LastOperationTypeRestore
	for name, c := range map[string]struct {
		operation     gardencorev1beta1.LastOperationType
		onSeed        []client.Object
		owner         ownership.Record // in DNS; this seed's unless it says another
		down          bool             // DNS
		entry, source string           // the buckets they name; empty for none
		content       map[string]error
		want          string
		err           string
		is            error
	}{
		"no restore":           {operation: "Reconcile", entry: "uid-b"},
		"etcd is here already": {operation: restore, onSeed: here, entry: "uid-b"},
		"an earlier epoch's etcd is here": {operation: restore, onSeed: here, owner: controlplanetest.Owned("uid-b", 3),
			entry: "uid-b",
			want:  "uid-b"},
		"so it is, and nobody owns it": {operation: restore, onSeed: here, owner: controlplanetest.Owned(ownership.Nobody, 4),
			entry: "uid-b", want: "uid-b"},
		"etcd is here, DNS is down": {operation: restore, onSeed: here, down: true, entry: "uid-b",
			is: ownershiptest.ErrDown},
		"no entry":  {operation: restore, err: `backup entry "shoot--p--alpha--uid" is missing`},
		"not begun": {operation: restore, entry: "uid-b", want: "uid-b"},
		"not begun, bucket not asked": {operation: restore, entry: "uid-b",
			content: map[string]error{"uid-b": unread}, want: "uid-b"},
		"the way is kept, not yet pointed here": {operation: restore, entry: "uid-b", source: "uid-b",
			content: map[string]error{"uid-b": nil}, want: "uid-b"},
		"pointed here, perhaps not copied": {operation: restore, entry: "uid-a", source: "uid-b",
			content: map[string]error{"uid-b": nil}, want: "uid-b"},
		"pointed here and copied": {operation: restore, entry: "uid-a", source: "uid-b",
			content: map[string]error{"uid-a": nil, "uid-b": nil}, want: "uid-b"},
		"on its own bucket, by itself": {operation: restore, entry: "uid-a", want: "uid-a"},
		"another died before it had copied": {operation: restore, entry: "uid-c", source: "uid-b",
			content: map[string]error{"uid-b": nil}, want: "uid-b"},
		"another died after it had copied": {operation: restore, entry: "uid-c", source: "uid-b",
			content: map[string]error{"uid-b": nil, "uid-c": nil}, want: "uid-c"},
		"another died, back where it came from": {operation: restore, entry: "uid-c", source: "uid-a",
			content: map[string]error{"uid-a": nil}, want: "uid-a"},
		"another died, nobody knows how far": {operation: restore, entry: "uid-c", source: "uid-b",
			content: map[string]error{"uid-b": nil, "uid-c": unread}, is: unread},
		"another died, and its copy is damaged": {operation: restore, entry: "uid-c", source: "uid-b",
			content: map[string]error{"uid-b": nil, "uid-c": damaged}, is: damaged},
		"pointed here, own bucket is unreadable": {operation: restore, entry: "uid-a", source: "uid-b",
			content: map[string]error{"uid-a": unread}, want: "uid-b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inGarden := controlplanetest.EntriesIn(c.entry, c.source)
			onA, owners := controlplanetest.OnSeedA(t, c.operation, inGarden, interceptor.Funcs{}, c.onSeed...)
			o := New(onA)
			if c.owner.Absent() {
				c.owner = controlplanetest.Owned("uid-a", 2)
			}
			owners.DNS.Set(c.owner)
			owners.DNS.Down(c.down)
			o.Bucket = controlplanetest.Shelves{Content: c.content}
			here, err := o.ownership.Survey(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, err := o.source(t.Context(), here)
			wanted := err == nil && c.err == "" && c.is == nil || c.err != "" && err != nil && strings.Contains(err.Error(),
				c.err) || c.is != nil && errors.Is(err, c.is)
			if got != c.want || !wanted {
				t.Errorf("got %q, %v; want %q, %v%s", got, err, c.want, c.is, c.err)
			}
		})
	}
}

// A garden that went back to a backup may name the bucket from before a migration. Who restored from there would lose
// what was written since, so a restore is refused while the owner by DNS has newer backups.
func TestCheck_OwnerHasNewerBackups_IsRefused(t *testing.T) {
	t.Parallel()
	seedB := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "uid-b"}}
	for name, c := range map[string]struct {
		entry   string // its bucket
		owner   string
		content map[string]error
		newest  map[string]int64
		refused string
	}{
		"the garden names the owner's": {entry: "uid-b", owner: "uid-b", content: map[string]error{"uid-b": nil},
			newest: map[string]int64{"uid-b": 3}},
		"the garden names an older one": {entry: "uid-a", owner: "uid-b",
			content: map[string]error{"uid-a": nil, "uid-b": nil}, newest: map[string]int64{"uid-b": 3},
			refused: `seed "b" has the newer backups, of epoch 3`},
		"the owner has not begun": {entry: "uid-a", owner: "uid-b", content: map[string]error{"uid-a": nil}},
		"the owner has only what it had in an epoch before": {entry: "uid-a", owner: "uid-b",
			content: map[string]error{"uid-a": nil, "uid-b": nil}, newest: map[string]int64{"uid-b": 2}},
		"the owner is no more": {entry: "uid-a", owner: "uid-c", content: map[string]error{"uid-a": nil, "uid-c": nil},
			newest: map[string]int64{"uid-c": 3}},
		"it is this seed's": {entry: "uid-b", owner: "uid-a", content: map[string]error{"uid-a": nil, "uid-b": nil},
			newest: map[string]int64{"uid-a": 3}},
	} {
		inGarden := append(controlplanetest.EntriesIn(c.entry, ""), controlplanetest.SeedA(), seedB.DeepCopy())
		onA, owners := controlplanetest.OnSeedA(t, "Restore", inGarden, interceptor.Funcs{})
		owners.DNS.Set(controlplanetest.Owned(c.owner, 3))
		b := New(onA)
		b.Bucket = controlplanetest.Shelves{Content: c.content, Newest: c.newest}
		here, err := b.ownership.Survey(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		err = b.Check(t.Context(), here)
		if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v, want %q", name, err, c.refused)
		}
	}
}

// A restore by force does without what is damaged wherever it lies: where etcd is restored from its seed's own bucket,
// nothing is copied, and etcd would refuse the damage for good. Without force, etcd finds by itself what to begin with
// there.
func TestCopyBackups(t *testing.T) {
	t.Parallel()
	const below = ", shoot--p--alpha--uid/etcd-main, epoch 3, last good "
	etcd := controlplanetest.EtcdOf("4")
	here := []client.Object{etcd, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha"}}}
	for name, c := range map[string]struct {
		onSeed []client.Object
		forced bool
		entry  string // the bucket it names
		want   []string
	}{
		"from another seed": {entry: "uid-b", want: []string{"uid-b to uid-a" + below + "false"}},
		"from another seed, by force": {entry: "uid-b", forced: true,
			want: []string{"uid-b to uid-a" + below + "true"}},
		"from its own seed": {entry: "uid-a"},
		"from its own seed, by force": {entry: "uid-a", forced: true,
			want: []string{"uid-a to uid-a" + below + "true"}},
		"etcd is here": {onSeed: here, entry: "uid-b"},
		"from its own seed, by force, it is here": {onSeed: here, entry: "uid-a", forced: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onA, owners := controlplanetest.OnSeedA(t, gardencorev1beta1.LastOperationTypeRestore,
				[]client.Object{controlplanetest.EntryIn(controlplanetest.EntryName, c.entry)},
				interceptor.Funcs{}, c.onSeed...)
			o := New(onA)
			owners.DNS.Set(controlplanetest.Owned("uid-a", 3))
			o.Epoch = 3
			if c.forced {
				o.Shoot.Annotations = map[string]string{"shoot.gardener.cloud/force-restore": "true"}
			}
			var copied []string
			events := &controlplanetest.EventReasons{}
			o.Bucket, o.Events = controlplanetest.Shelves{Copied: &copied, LeftOut: []string{"e1/delta-7"}}, events
			if err := o.Copy(t.Context()); err != nil {
				t.Fatal(err)
			}
			if c.entry == "uid-a" { // there is no other way to it to be kept
				err := o.DeploySource(t.Context())
				if source, none := o.entries.GetSource(t.Context()); err != nil || source != nil || none != nil {
					t.Errorf("source entry %v: %v, %v", source, err, none)
				}
			}
			if !slices.Equal(copied, c.want) || slices.Contains(*events, "BackupDamaged") != (len(c.want) > 0) {
				t.Errorf("copied %q, want %q; events %v", copied, c.want, *events)
			}
		})
	}
}

// A run finds out once where it begins: what it makes of the entries is no reason to look again.
func TestDeploySource_ThenCopy_LooksOnceWhereItBegins(t *testing.T) {
	t.Parallel()
	entry := controlplanetest.EntryIn(controlplanetest.EntryName, "uid-b")
	onA, owners := controlplanetest.OnSeedA(t, "Restore", []client.Object{entry}, interceptor.Funcs{})
	owners.DNS.Set(controlplanetest.Owned("uid-a", 3))
	garden, reads, copied := onA.Garden, 0, []string{}
	onA.Garden = interceptor.NewClient(garden.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
			options ...client.GetOption) error {
			reads++
			return c.Get(ctx, key, object, options...)
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			source, is := object.(*gardencorev1beta1.BackupEntry)
			if !is || !slices.Equal(source.Finalizers, []string{"gardener"}) {
				t.Errorf("created is %T with finalizers %q", object, object.GetFinalizers())
			}
			source.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Reconcile", State: "Succeeded"}
			return c.Create(ctx, object, options...)
		},
	})
	onA.Bucket = controlplanetest.Shelves{Copied: &copied}
	o := New(onA)
	if err := o.DeploySource(t.Context()); err != nil {
		t.Fatal(err)
	}
	entry.Spec.BucketName = "uid-a" // as DeployEntry does
	if err := garden.Update(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
	reads = 0
	err := o.Copy(t.Context())
	if err != nil || reads > 0 || len(copied) != 1 || !strings.HasPrefix(copied[0], "uid-b to") {
		t.Errorf("copied %q after %d reads, %v", copied, reads, err)
	}
}

// A destination that a shoot leaves may still be deleting the way to the bucket before. The next one opens its own when
// that has gone: what it wrote to it would go with it.
func TestAWayToTheOldBucketThatIsGoingIsWaitedOut(t *testing.T) {
	t.Parallel()
	dying := controlplanetest.EntryIn(controlplanetest.SourceName, "uid-c")
	dying.Finalizers, dying.DeletionTimestamp = []string{"gardener"}, &metav1.Time{Time: time.Unix(1000, 0)}
	onA, _ := controlplanetest.OnSeedA(t, gardencorev1beta1.LastOperationTypeRestore,
		[]client.Object{controlplanetest.EntryIn(controlplanetest.EntryName, "uid-b"), dying},
		interceptor.Funcs{})
	o := New(onA)
	o.Bucket = controlplanetest.Shelves{Content: map[string]error{"uid-b": nil}}
	reads := 0
	o.Garden = interceptor.NewClient(o.Garden.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
			options ...client.GetOption) error {
			if key.Name == controlplanetest.SourceName {
				if reads++; reads == 8 { // its seed has deleted it
					if err := c.Patch(ctx, dying,
						client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
						return err
					}
				}
			}
			return c.Get(ctx, key, object, options...)
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			object.(*gardencorev1beta1.BackupEntry).Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Create",
				State: "Succeeded"}
			return c.Create(ctx, object, options...)
		},
		Patch: func(_ context.Context, _ client.WithWatch, object client.Object, _ client.Patch,
			_ ...client.PatchOption) error {
			return fmt.Errorf("it writes to %s", object.GetName())
		},
	})
	if err := o.DeploySource(t.Context()); err != nil {
		t.Fatal(err)
	}
	source, err := o.entries.GetSource(t.Context())
	if err != nil || source == nil || source.DeletionTimestamp != nil || source.Spec.BucketName != "uid-b" ||
		ptr.Deref(source.Spec.SeedName, "") != "a" {
		t.Errorf("the way to the old bucket is %+v, %v", source, err)
	}
}
