package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
)

// records are the authorities of one shoot.
type records struct{ claim, decision *ownershiptest.Authority }

func (r records) Claim(string, string) ownership.Authority { return r.claim }
func (r records) Decision(string) ownership.Authority      { return r.decision }

// seedA is the run's own seed in these tests, with UID uid-a.
func seedA() *gardencorev1beta1.Seed {
	return &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "uid-a"}}
}

// onSeedA is a run on seed a, with authorities, and with what is in the garden.
func onSeedA(t *testing.T, operation gardencorev1beta1.LastOperationType, inGarden []client.Object,
	funcs interceptor.Funcs, onSeed ...client.Object) (*Operation, records) {
	t.Helper()
	o := newOperation(t, operation, funcs, onSeed...)
	o.SeedName, o.SeedObject, o.InternalDomain = "a", seedA(), "test"
	o.Shoot.Status.UID = "uid"
	o.Garden = fake.NewClientBuilder().WithScheme(seedScheme(t)).WithObjects(inGarden...).Build()
	owners := records{&ownershiptest.Authority{}, &ownershiptest.Authority{}}
	o.Owners = owners
	return o, owners
}

func owned(by string, epoch int64) ownership.Record {
	return ownership.Record{Owner: by, Epoch: epoch, Seed: strings.TrimPrefix(by, "uid-")}
}

// What is not a restore takes a shoot from nobody who exists, whatever a garden that went back to a backup says.
func TestRefuseForeign(t *testing.T) {
	t.Parallel()
	seedB := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: types.UID("uid-b")}}
	for name, c := range map[string]struct {
		record  ownership.Record
		down    bool
		refused string
	}{
		"nobody has ever owned it":      {},
		"its own":                       {record: owned("uid-a", 3)},
		"of a deleted shoot":            {record: owned(ownership.Nobody, 4)},
		"of a seed that is no more":     {record: owned("uid-c", 5)},
		"of the seed's own former self": {record: ownership.Record{Owner: "uid-a-before", Epoch: 2, Seed: "a"}},
		"another's": {record: owned("uid-b", 6),
			refused: `seed "b"'s, by its record in DNS with epoch 6`},
		"nobody knows: DNS is down": {record: owned("uid-a", 3), down: true, refused: "ask who owns the shoot"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, owners := onSeedA(t, gardencorev1beta1.LastOperationTypeReconcile, []client.Object{seedA(), seedB},
				interceptor.Funcs{})
			if !c.record.Absent() {
				owners.decision.Set(c.record)
			}
			owners.decision.Down(c.down)
			err := (&Survey{o: o}).refuseForeign(t.Context())
			if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
				t.Errorf("got %v, want %q", err, c.refused)
			}
		})
	}
}

// savedStates has one state, or the error of reading it.
type savedStates struct {
	States
	err error
}

func (s savedStates) Load(context.Context, client.ObjectKey) (*shootstate.State, error) {
	if s.err != nil {
		return nil, s.err
	}
	return &shootstate.State{}, nil
}

func TestMisplaced(t *testing.T) {
	t.Parallel()
	none := apierrors.NewNotFound(schema.GroupResource{Resource: "shootstates"}, "alpha")
	unread := errors.New("the garden is away")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha"}}
	etcd := etcdOf("4")
	for name, c := range map[string]struct {
		onSeed []client.Object
		dying  bool
		state  error
		want   bool
		err    error
	}{
		"it is here":                        {onSeed: []client.Object{namespace, etcd}},
		"etcd is gone":                      {onSeed: []client.Object{namespace}, want: true},
		"all is gone":                       {want: true},
		"the garden is not asked":           {state: unread, want: true},
		"in deletion, it is here":           {onSeed: []client.Object{namespace, etcd}, dying: true},
		"in deletion, past etcd":            {onSeed: []client.Object{namespace}, dying: true},
		"in deletion, past all":             {dying: true, state: none},
		"in deletion, on a seed built anew": {dying: true, want: true},
		"in deletion, the same, its state damaged": {dying: true, state: &shootstate.DamagedError{Part: "chunk"},
			want: true},
		"in deletion, nobody knows whether it is so": {dying: true, state: unread, err: unread},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, _ := onSeedA(t, gardencorev1beta1.LastOperationTypeReconcile, nil, interceptor.Funcs{}, c.onSeed...)
			o.States = savedStates{err: c.state}
			if c.dying {
				o.Shoot.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
			}
			got, err := o.Misplaced(t.Context())
			if got != c.want || !errors.Is(err, c.err) {
				t.Errorf("got %t, %v; want %t, %v", got, err, c.want, c.err)
			}
		})
	}
}

// shelves are buckets by name, each with the reason why nothing can be restored from it; a bucket that is not there has
// no backups. purged are those that were emptied, copied what was copied, and leftOut what every copy has to leave out.
type shelves struct {
	Buckets
	content        map[string]error
	purged, copied *[]string
	leftOut        []string
}

func (s shelves) Copy(_ context.Context, from, to, prefix string, epoch int64, lastGood bool) ([]string, error) {
	*s.copied = append(*s.copied, fmt.Sprintf("%s to %s, %s, epoch %d, last good %t", from, to, prefix, epoch, lastGood))
	return s.leftOut, nil
}

func (s shelves) Check(_ context.Context, bucket, _ string) error {
	err, there := s.content[bucket]
	if !there {
		return ErrNoBackups
	}
	return err
}

func (s shelves) Purge(_ context.Context, bucket, prefix string) error {
	*s.purged = append(*s.purged, bucket+"/"+prefix)
	return nil
}

func entryIn(name, bucket string) *gardencorev1beta1.BackupEntry {
	return &gardencorev1beta1.BackupEntry{
		ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: name},
		Spec:       gardencorev1beta1.BackupEntrySpec{BucketName: bucket, SeedName: ptr.To("b")},
	}
}

const entryName, sourceName = "shoot--p--alpha--uid", "source-shoot--p--alpha--uid"

// A destination may die at any point, and so may the next one: etcd is restored from where the data is.
func TestBackupSource(t *testing.T) {
	t.Parallel()
	unread, damaged := errors.New("the cloud is away"), errors.New("an object is damaged")
	etcd := etcdOf("4")
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
		"an earlier epoch's etcd is here": {operation: restore, onSeed: here, owner: owned("uid-b", 3), entry: "uid-b",
			want: "uid-b"},
		"so it is, and nobody owns it": {operation: restore, onSeed: here, owner: owned(ownership.Nobody, 4),
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
			var inGarden []client.Object
			for name, bucket := range map[string]string{entryName: c.entry, sourceName: c.source} {
				if bucket != "" {
					inGarden = append(inGarden, entryIn(name, bucket))
				}
			}
			o, owners := onSeedA(t, c.operation, inGarden, interceptor.Funcs{}, c.onSeed...)
			if c.owner.Absent() {
				c.owner = owned("uid-a", 2)
			}
			owners.decision.Set(c.owner)
			owners.decision.Down(c.down)
			o.Bucket = shelves{content: c.content}
			here, err := o.Survey(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, err := o.backupSource(t.Context(), here)
			wanted := err == nil && c.err == "" && c.is == nil || c.err != "" && err != nil && strings.Contains(err.Error(),
				c.err) || c.is != nil && errors.Is(err, c.is)
			if got != c.want || !wanted {
				t.Errorf("got %q, %v; want %q, %v%s", got, err, c.want, c.is, c.err)
			}
		})
	}
}

// A restore by force does without what is damaged wherever it lies: where etcd is restored from its seed's own bucket,
// nothing is copied, and etcd would refuse the damage for good. Without force, etcd finds by itself what to begin with
// there.
func TestCopyBackups(t *testing.T) {
	t.Parallel()
	const below = ", shoot--p--alpha--uid/etcd-main, epoch 3, last good "
	etcd := etcdOf("4")
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
			o, owners := onSeedA(t, gardencorev1beta1.LastOperationTypeRestore, []client.Object{entryIn(entryName, c.entry)},
				interceptor.Funcs{}, c.onSeed...)
			owners.decision.Set(owned("uid-a", 3))
			o.Epoch = 3
			if c.forced {
				o.Shoot.Annotations = map[string]string{"shoot.gardener.cloud/force-restore": "true"}
			}
			var copied []string
			events := &eventReasons{}
			o.Bucket, o.events = shelves{copied: &copied, leftOut: []string{"e1/delta-7"}}, events
			if err := o.CopyBackups(t.Context()); err != nil {
				t.Fatal(err)
			}
			if c.entry == "uid-a" { // there is no other way to it to be kept
				err := o.DeploySourceBackupEntry(t.Context())
				if source, none := o.SourceBackupEntry(t.Context()); err != nil || source != nil || none != nil {
					t.Errorf("source entry %v: %v, %v", source, err, none)
				}
			}
			if !slices.Equal(copied, c.want) || slices.Contains(*events, "BackupDamaged") != (len(c.want) > 0) {
				t.Errorf("copied %q, want %q; events %v", copied, c.want, *events)
			}
		})
	}
}

// A destination that a shoot leaves may still be deleting the way to the bucket before. The next one opens its own when
// that has gone: what it wrote to it would go with it.
func TestAWayToTheOldBucketThatIsGoingIsWaitedOut(t *testing.T) {
	t.Parallel()
	dying := entryIn(sourceName, "uid-c")
	dying.Finalizers, dying.DeletionTimestamp = []string{"gardener"}, &metav1.Time{Time: time.Unix(1000, 0)}
	o, _ := onSeedA(t, gardencorev1beta1.LastOperationTypeRestore, []client.Object{entryIn(entryName, "uid-b"), dying},
		interceptor.Funcs{})
	o.Bucket = shelves{content: map[string]error{"uid-b": nil}}
	reads := 0
	o.Garden = interceptor.NewClient(o.Garden.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
			options ...client.GetOption) error {
			if key.Name == sourceName {
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
	if err := o.DeploySourceBackupEntry(t.Context()); err != nil {
		t.Fatal(err)
	}
	source, err := o.SourceBackupEntry(t.Context())
	if err != nil || source == nil || source.DeletionTimestamp != nil || source.Spec.BucketName != "uid-b" ||
		ptr.Deref(source.Spec.SeedName, "") != "a" {
		t.Errorf("the way to the old bucket is %+v, %v", source, err)
	}
}
