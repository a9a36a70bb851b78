package migration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/etcd"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// finals are buckets that have the final snapshot of one epoch, or do not say.
type finals struct {
	shelves
	epoch int64
	err   error
}

func (f finals) HasFinalSnapshot(_ context.Context, bucket, prefix string, epoch int64) (bool, error) {
	return bucket == "uid-a" && prefix == "shoot--p--s--uid/etcd-main" && epoch == f.epoch, f.err
}

// A run that is repeated may find no guard any more: an etcd whose epoch has ended does not come back when its data is
// lost.
func TestAnEpochWithAFinalSnapshotNeedsNoGuardToEnd(t *testing.T) {
	t.Parallel()
	away := errors.New("the bucket is away")
	for name, c := range map[string]struct {
		finals finals
		want   error
	}{
		"no final snapshot":           {finals{}, errNotEnded},
		"that of the epoch before":    {finals{epoch: 2}, errNotEnded},
		"its own":                     {finals{epoch: 3}, nil},
		"nobody knows: ask the guard": {finals{epoch: 3, err: away}, errNotEnded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shoot, r := leaving(t)
			m := &migrate{
				Operation: controlplane.New(&scope.Scope{
					Settings: r.Factory.Settings, Garden: r.Factory.Garden, Seed: r.Factory.Seed, Bucket: c.finals, Shoot: shoot,
					Clock: r.Factory.Clock,
				}),
				release: neverEnds{},
			}
			if err := m.survey(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := m.endEpoch(t.Context()); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// A destination that has got stuck before its etcd began has taken the shoot over, and has nothing of it: it gives it
// on. Nobody asks a guard that is not there; and an etcd that is gone with what it had is no such thing.
func TestADestinationThatHasNotBegunGivesTheShootOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		etcd  string // its epoch; empty for none
		begun bool   // epoch 3, by its phase
		want  error
	}{
		"nothing has begun":                        {},
		"the etcd of its epoch before is left":     {etcd: "2"},
		"its etcd is there":                        {etcd: "3", begun: true, want: errNotEnded},
		"its etcd has been there, and so was data": {begun: true, want: errNoEtcd},
		"the etcd of an epoch after it is there":   {etcd: "4", want: errNotEnded},
	} {
		shoot, r := leaving(t)
		remove(t, r.Factory.Seed, etcdOf(""))
		if c.etcd != "" {
			create(t, r.Factory.Seed, etcdOf(c.etcd))
		}
		namespace := &corev1.Namespace{}
		read := func() {
			if err := r.Factory.Seed.Get(t.Context(), client.ObjectKey{Name: "shoot--p--s"}, namespace); err != nil {
				t.Fatal(err)
			}
		}
		read()
		if c.begun {
			namespace.Annotations["transplant.dev/phase"] = "Begun"
		}
		if err := r.Factory.Seed.Update(t.Context(), namespace); err != nil {
			t.Fatal(err)
		}
		m := &migrate{
			Operation: controlplane.New(&scope.Scope{
				Settings: r.Factory.Settings, Garden: r.Factory.Garden, Seed: r.Factory.Seed, Bucket: finals{}, Shoot: shoot,
				Clock: r.Factory.Clock,
			}),
			release: neverEnds{},
		}
		err := m.survey(t.Context())
		if err == nil {
			err = m.endEpoch(t.Context())
		}
		read()
		if ended := namespace.Annotations["transplant.dev/phase"] == "Saved"; !errors.Is(err, c.want) ||
			(err == nil) != (c.want == nil) || ended != (c.want == nil) {
			t.Errorf("%s: got %v, want %v; the epoch has ended: %t", name, err, c.want, ended)
		}
	}
}

// A destination that has got stuck before it deployed anything has been given the BackupEntry, and gives it on. Where
// the entry has been taken up there may have been data that is lost: nobody goes on without it.
func TestADestinationThatHasTakenNothingGivesTheShootOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		takenUp   bool
		leftovers bool // of an epoch before, which are being cleaned up
		forced    bool
		lost      bool // the entry is a lost seed's, and not adopted yet
		arrived   bool // the destination has the shoot by DNS: the garden is older than the migration
		want      error
	}{
		"it has nothing":              {},
		"the destination has it":      {takenUp: true, arrived: true},
		"it has had the shoot before": {leftovers: true},
		"it had taken it up":          {takenUp: true, want: errNoEtcd},
		"it has not adopted it":       {forced: true, lost: true},
		"a source that was lost":      {forced: true, takenUp: true, want: errNoEtcd},
	} {
		shoot, r := leaving(t)
		for _, object := range controlPlaneOf() {
			if _, namespace := object.(*corev1.Namespace); !c.leftovers || namespace {
				remove(t, r.Factory.Seed, object)
			}
		}
		if c.leftovers {
			create(t, r.Factory.Seed, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--s"}})
		}
		entry := backupEntryOf(shoot)
		key := client.ObjectKeyFromObject(entry)
		if err := r.Factory.Garden.Get(t.Context(), key, entry); err != nil {
			t.Fatal(err)
		}
		entry.Status = gardencorev1beta1.BackupEntryStatus{LastOperation: &gardencorev1beta1.LastOperation{Type: "Migrate",
			State: "Succeeded"}}
		if c.takenUp {
			entry.Status.SeedName = ptr.To("b")
		}
		if c.lost {
			entry.Spec.SeedName, entry.Status.SeedName = ptr.To("a"), ptr.To("a")
		}
		if c.forced {
			forced(shoot)
		}
		if err := r.Factory.Garden.Update(t.Context(), entry); err != nil {
			t.Fatal(err)
		}
		owners := ownedBy("b", 3)
		if c.arrived {
			owners = ownedBy("c", 4)
		}
		for run := range 2 { // the second finds the entry given on
			m := &migrate{
				Operation: controlplane.New(&scope.Scope{
					Settings: r.Factory.Settings, Garden: r.Factory.Garden, Seed: r.Factory.Seed, Bucket: finals{}, Shoot: shoot,
					Clock: r.Factory.Clock, Bell: r.Factory.Bell, Owners: owners,
					SeedObject: &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "uid-b"}},
				}),
				release: neverEnds{},
			}
			err := m.survey(t.Context())
			if err == nil && c.arrived {
				return // who hands the entry over waits for its controller, which is not here
			}
			if err == nil {
				err = m.graph().Run(t.Context(), nil)
			}
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("%s, run %d: got %v, want %v", name, run, err, c.want)
			}
		}
		if err := r.Factory.Garden.Get(t.Context(), key, entry); err != nil {
			t.Fatal(err)
		}
		if given := *entry.Spec.SeedName == "c"; given != (c.want == nil && !c.lost) { // who comes next adopts it
			t.Errorf("%s: the backup entry is seed %q's", name, *entry.Spec.SeedName)
		}
	}
}

// A destination that is left while it waits for its BackupEntry has asked for it. Who comes next must not take that for
// its own request: it would adopt the entry before this seed has seen that it was released, and this one would wait for
// ever.
func TestWhatADestinationHasAskedForIsNotForTheNext(t *testing.T) {
	t.Parallel()
	b, key := entryOnSeed(t, func(entry *gardencorev1beta1.BackupEntry, object *extensionsv1alpha1.BackupEntry) {
		entry.Annotations = map[string]string{"gardener.cloud/operation": "restore"}
		entry.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Restore", State: "Processing"}
		object.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Restore", State: "Error"}
		object.Finalizers = []string{"extensions.gardener.cloud/backupentry"}
	})
	c := &BackupEntries{Garden: b.Garden, Seed: fake.NewClientBuilder().WithScheme(gardenScheme(t)).Build(),
		Clock: b.Clock, SeedName: "c", Retry: time.Second}
	shoot := stranded("s", "c", "a", "Migrate", "Processing")
	m := &migrate{Operation: controlplane.New(&scope.Scope{
		Settings: scope.Settings{SeedName: "a", WaitInterval: time.Millisecond}, Garden: b.Garden, Shoot: shoot,
		Clock: clock.RealClock{}, Bell: &scope.Bell{},
	})}
	looks := 0
	m.Garden = interceptor.NewClient(b.Garden.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, garden client.WithWatch, key client.ObjectKey, o client.Object,
			options ...client.GetOption) error {
			if looks++; looks == 2 { // it has been handed over, and both seeds are faster than who looks
				settle(t, b, key)
				if _, err := c.Reconcile(ctx, reconcile.Request{NamespacedName: key}); err != nil {
					t.Error(err)
				}
			}
			return garden.Get(ctx, key, o, options...)
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := m.handOverBackups(ctx); err != nil {
		t.Fatal(err)
	}
	entry := &gardencorev1beta1.BackupEntry{}
	if err := b.Garden.Get(t.Context(), key, entry); err != nil {
		t.Fatal(err)
	}
	if err := handedOver(entry); err != nil || *entry.Spec.SeedName != "c" {
		t.Errorf("it is seed %q's, and its status is %+v: %v", *entry.Spec.SeedName, entry.Status, err)
	}
}

// After a restart the entry may name the destination already. If another seed adopts it between the look and the
// hand-over, that is a conflict, and the task looks again.
func TestHandOverBackups_UnchangedEntryWrittenByOthers_IsAConflict(t *testing.T) {
	t.Parallel()
	b, key := entryOnSeed(t, func(entry *gardencorev1beta1.BackupEntry, _ *extensionsv1alpha1.BackupEntry) {
		entry.Spec.SeedName = ptr.To("c")
	})
	m := &migrate{Operation: controlplane.New(&scope.Scope{
		Settings: scope.Settings{SeedName: "a", WaitInterval: time.Millisecond}, Clock: clock.RealClock{},
		Bell: &scope.Bell{}, Shoot: stranded("s", "c", "a", "Migrate", "Processing"),
	})}
	m.Garden = interceptor.NewClient(b.Garden.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, garden client.WithWatch, key client.ObjectKey, o client.Object,
			options ...client.GetOption) error {
			if err := garden.Get(ctx, key, o, options...); err != nil {
				return err
			}
			others := o.DeepCopyObject().(client.Object)
			others.SetLabels(map[string]string{"written": "since"})
			return garden.Update(ctx, others)
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := m.handOverBackups(ctx); !apierrors.IsConflict(err) {
		t.Errorf("the hand-over of %s ended with %v, want a conflict", key.Name, err)
	}
}

// releases answers the question for the end of an epoch.
type releases struct {
	neverEnds
	answer func(ctx context.Context) error
}

func (e releases) Release(ctx context.Context, _ etcd.Guard, _ int64) error {
	return e.answer(ctx)
}

// A guard that does not finish has what no backup has. The migration waits for it, and the Shoot says for what, and
// what to do.
func TestMigrate_GuardDoesNotFinish_ShootSaysWhatIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says   string
		noGate bool // there is no Service at which the guard could be asked
		want   error
	}{
		"it answers, and does not finish": {says: "of which the guard says in epoch 3: the final snapshot is being taken",
			want: errNotEnded},
		"it refuses":          {says: "403 Forbidden", want: errNotEnded},
		"it is silent":        {says: "nobody answers", want: validity.ErrSilent},
		"nobody can be asked": {says: "etcd-main-client", noGate: true, want: etcd.ErrNoGuard},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shoot, r := leaving(t)
			if c.noGate {
				remove(t, r.Factory.Seed, &corev1.Service{ObjectMeta: inNamespace("etcd-main-client")})
			}
			var bound time.Time
			r.Flows = moving(releases{answer: func(ctx context.Context) error {
				bound, _ = ctx.Deadline()
				return fmt.Errorf("%s: %w", c.says, c.want)
			}})
			_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)})
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if until := time.Until(bound); !c.noGate && (until <= 0 || until > 5*time.Minute) {
				t.Errorf("a run waits for %s, want 5m at most", until)
			}
			if err := r.Factory.Garden.Get(t.Context(), client.ObjectKeyFromObject(shoot), shoot); err != nil {
				t.Fatal(err)
			}
			if got := state(t, r.Factory.Garden)["s"]; got != "c b Migrate/Error false" {
				t.Errorf("it is %s: it must be tried again", got)
			}
			if len(shoot.Status.LastErrors) != 1 {
				t.Fatalf("last errors %+v", shoot.Status.LastErrors)
			}
			last := shoot.Status.LastErrors[0].Description
			for _, part := range []string{"epoch 3", "final snapshot", "guard and backup", "etcd-main-0", `"shoot--p--s"`,
				c.says} {
				if !strings.Contains(last, part) {
					t.Errorf("the Shoot says %q, want %q in it", last, part)
				}
			}
			if err := r.Factory.Seed.Get(t.Context(), client.ObjectKeyFromObject(etcdOf("")), etcdOf("")); err != nil {
				t.Errorf("the etcd with the only copy is gone: %v", err)
			}
		})
	}
}

// A run that is over says nothing of its own.
func TestEndEpoch_RunIsOver_SaysWhy(t *testing.T) {
	t.Parallel()
	shoot, r := leaving(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	m := &migrate{
		Operation: controlplane.New(&scope.Scope{
			Settings: r.Factory.Settings, Garden: r.Factory.Garden, Seed: r.Factory.Seed, Bucket: finals{}, Shoot: shoot,
			Clock: r.Factory.Clock,
		}),
		release: releases{answer: func(ctx context.Context) error {
			cancel(run.ErrTakenOver)
			return ctx.Err()
		}},
	}
	if err := m.survey(ctx); err != nil {
		t.Fatal(err)
	}
	if err := m.endEpoch(ctx); !errors.Is(err, run.ErrTakenOver) {
		t.Errorf("got %v, want %v", err, run.ErrTakenOver)
	}
}
