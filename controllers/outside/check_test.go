package outside

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
)

var alpha = types.NamespacedName{Namespace: "garden-p", Name: "alpha"}

// shelf is a bucket whose backups can be read, unless err says why not.
type shelf struct {
	scope.Buckets
	err error
}

func (s shelf) Check(context.Context, string, string) error    { return s.err }
func (s shelf) Readable(context.Context, string, string) error { return s.err }

func (s shelf) HasFinalSnapshot(context.Context, string, string, int64) (bool, error) {
	return true, nil
}

// saved is a ShootState; nil for none.
type saved struct {
	scope.States
	state *shootstate.State
}

func (s saved) Load(context.Context, client.ObjectKey) (*shootstate.State, error) {
	if s.state == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "shootstates"}, "alpha")
	}
	return s.state, nil
}

// whole is a ShootState with all secrets that it must have.
func whole() *shootstate.State {
	state := &shootstate.State{}
	for _, missing := range secrets.Missing(state) {
		name := strings.Split(missing, `"`)[1]
		state.Secrets = append(state.Secrets, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return state
}

type silence struct{ err error }

func (s silence) Hear(context.Context, *gardencorev1beta1.Shoot) error { return s.err }

// landscape has shoot alpha on seed a, which is silent and owns it, and a seed b that reports.
type landscape struct {
	*Restore
	dns   *ownershiptest.Authority
	shoot *gardencorev1beta1.Shoot
	entry *gardencorev1beta1.BackupEntry
	seeds map[string]*gardencorev1beta1.Seed
	said  []string
}

func seed(name string, reports gardencorev1beta1.ConditionStatus) *gardencorev1beta1.Seed {
	s := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
	s.Spec.Backup = &gardencorev1beta1.Backup{}
	s.Status.Conditions = []gardencorev1beta1.Condition{{Type: gardencorev1beta1.SeedGardenletReady, Status: reports}}
	return s
}

func newLandscape() *landscape {
	l := &landscape{dns: &ownershiptest.Authority{}, seeds: map[string]*gardencorev1beta1.Seed{
		"a": seed("a", gardencorev1beta1.ConditionUnknown), "b": seed("b", gardencorev1beta1.ConditionTrue),
	}}
	l.dns.Set(controlplanetest.Owned("uid-a", 3))
	lease := &ownershiptest.Authority{}
	lease.Set(controlplanetest.Owned("uid-a", 3))
	l.shoot = &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: alpha.Namespace, Name: alpha.Name}}
	l.shoot.Spec.SeedName, l.shoot.Status.SeedName = ptr.To("a"), ptr.To("a")
	l.shoot.Status.TechnicalID, l.shoot.Status.UID = "shoot--p--alpha", "uid"
	l.shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Reconcile", State: "Succeeded"}
	l.entry = controlplanetest.EntryIn(controlplanetest.EntryName, "bucket-a")
	l.Restore = &Restore{Hear: silence{errors.New("nobody listens")}, Bucket: shelf{}, States: saved{state: whole()},
		Owners: controlplanetest.Records{Lease: lease, DNS: l.dns}, Clock: clock.RealClock{},
		Boottime: &ownershiptest.Clock{}}
	l.Say = func(format string, _ ...any) { l.said = append(l.said, format) }
	return l
}

func (l *landscape) garden(t *testing.T) {
	t.Helper()
	objects := []client.Object{l.shoot}
	if l.entry != nil {
		objects = append(objects, l.entry)
	}
	for _, s := range l.seeds {
		objects = append(objects, s)
	}
	l.Garden = fake.NewClientBuilder().WithScheme(controlplanetest.SeedScheme(t)).WithObjects(objects...).
		WithStatusSubresource(l.shoot).Build()
}

// Whoever runs the control plane is named, what is missing is named, and nothing is written.
func TestCheck_SomebodyMayRunItOrSomethingIsMissing_IsRefusedByName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*landscape)
		want   string // empty for no error
	}{
		"its seed is silent": {change: func(*landscape) {}},
		"the API server answers": {
			change: func(l *landscape) { l.Hear = silence{} }, want: "would run: its API server answers",
		},
		"the owner by DNS reports": {
			change: func(l *landscape) { l.dns.Set(controlplanetest.Owned("uid-b", 4)) },
			want:   `seed "b" owns it by DNS, in epoch 4, and its gardenlet reports`,
		},
		"it is bound to a seed that reports": {
			change: func(l *landscape) { l.shoot.Spec.SeedName = ptr.To("b") },
			want:   `seed "b" is to have it (spec.seedName), and its gardenlet reports`,
		},
		"its seed reports": {
			change: func(l *landscape) { l.seeds["a"] = seed("a", gardencorev1beta1.ConditionTrue) },
			want:   `would run: seed "a" owns it by DNS, in epoch 3, and its gardenlet reports`,
		},
		"its seed is no more":   {change: func(l *landscape) { delete(l.seeds, "a") }},
		"DNS does not answer":   {change: func(l *landscape) { l.dns.Down(true) }, want: "DNS, which says who owns"},
		"it ran outside before": {change: func(l *landscape) { l.shoot.Status.SeedName = ptr.To(constants.SeedOutside) }},
		"it ran outside before, and its seed reports since": {change: func(l *landscape) {
			l.shoot.Status.SeedName, l.shoot.Spec.SeedName = ptr.To(constants.SeedOutside), ptr.To("b")
		}},
		"it ran outside before, and was handed over": {change: func(l *landscape) {
			l.shoot.Status.SeedName, l.shoot.Spec.SeedName = ptr.To(constants.SeedOutside), ptr.To("b")
			l.shoot.Annotations = map[string]string{constants.ShootForceRestore: "true"}
		}, want: `seed "b" is to have it (spec.seedName), and its gardenlet reports`},
		"no ShootState": {change: func(l *landscape) { l.States = saved{} }, want: "missing are the ShootState"},
		"a secret is missing": {
			change: func(l *landscape) { l.States = saved{state: &shootstate.State{}} }, want: `"ca-etcd"`,
		},
		"no backup entry": {
			change: func(l *landscape) { l.entry = nil }, want: `the backup entry "shoot--p--alpha--uid"`,
		},
		"no backups": {
			change: func(l *landscape) { l.Bucket = shelf{err: backup.ErrNoBackups} }, want: `bucket "bucket-a"`,
		},
		"the bucket does not answer": {
			change: func(l *landscape) { l.Bucket = shelf{err: errors.New("EOF")} }, want: "does not answer: EOF",
		},
		"it is hibernated": {
			change: func(l *landscape) {
				l.shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: ptr.To(true)}
				l.shoot.Status.IsHibernated = true
			}, want: "it is hibernated",
		},
		"it was never created": {
			change: func(l *landscape) { l.shoot.Status.LastOperation = nil }, want: "never been created",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLandscape()
			c.change(l)
			l.garden(t)
			err := l.on(alpha).check(t.Context())
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if writes := l.dns.Writes(); len(writes) > 0 {
				t.Errorf("it has written %v", writes)
			}
		})
	}
}

// A garden without the shoot, as one that cannot be reached, is an error at once.
func TestCheck_ShootCannotBeRead_IsAnError(t *testing.T) {
	t.Parallel()
	l := newLandscape()
	l.garden(t)
	err := l.Check(t.Context(), types.NamespacedName{Namespace: "garden-p", Name: "omega"}, "")
	if !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}

// What the restore waits for is no reason to refuse it.
func TestCheck_DNSIsAway_IsNotRefused(t *testing.T) {
	t.Parallel()
	l := newLandscape()
	l.dns.Down(true)
	l.garden(t)
	if err := l.Check(t.Context(), alpha, ""); err != nil {
		t.Error(err)
	}
}

// A seed that is not there cannot get the control plane, whoever asks.
func TestCheck_HandOverToNoSeed_NamesThoseThereAre(t *testing.T) {
	t.Parallel()
	l := onOutside(t, "")
	l.Hear = silence{}
	_, byOrder := l.HandOver(t.Context(), alpha, "z")
	for _, err := range []error{l.Check(t.Context(), alpha, "z"), byOrder} {
		if err == nil || !strings.Contains(err.Error(), `"z": the garden has seeds [a b]`) {
			t.Errorf("got %v", err)
		}
	}
	shoot := &gardencorev1beta1.Shoot{}
	if err := l.Garden.Get(t.Context(), alpha, shoot); err != nil || shoot.Annotations[constants.HandOver] != "" {
		t.Errorf("the order is written: %v, %v", shoot.Annotations, err)
	}
}

// The garden would refuse the bind when the epoch has ended, and the shoot had no control plane: it is asked before.
func TestCheckHandOver_GardenWouldRefuseTheSeed_SaysWhyAndKeepsTheControlPlane(t *testing.T) {
	t.Parallel()
	l := onOutside(t, "")
	l.Hear = silence{}
	hosted := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: alpha.Namespace, Name: "b"}}
	hosted.Spec.SeedName = ptr.To("alpha")
	objects := []client.Object{hosted}
	for _, name := range []string{"alpha", "b"} {
		managed := &seedmanagementv1alpha1.ManagedSeed{ObjectMeta: metav1.ObjectMeta{Namespace: alpha.Namespace, Name: name}}
		managed.Spec.Shoot.Name = name
		objects = append(objects, managed)
	}
	for _, object := range objects {
		if err := l.Garden.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	const why = `is hosted by "alpha", which is the shoot itself`
	_, byOrder := l.HandOver(t.Context(), alpha, "b")
	for _, err := range []error{l.Check(t.Context(), alpha, "b"), byOrder} {
		if !errors.Is(err, errMisfit) || !strings.Contains(err.Error(), why) {
			t.Errorf("got %v", err)
		}
	}
	one := l.on(alpha)
	one.Shoot, one.Epoch = l.shoot, 3
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*poll)
		defer cancel()
		if seed, err := one.untilAsked(ctx, "b"); !errors.Is(err, context.DeadlineExceeded) || seed != "" {
			t.Errorf("it is handed over to %q, %v", seed, err)
		}
	})
	if len(l.said) != 1 {
		t.Errorf("the operator hears %q", l.said)
	}
}

// What was asked of a restore that has died does not bind the next one.
func TestBegin_EarlierRestoreHasDied_ItsOrderIsOver(t *testing.T) {
	t.Parallel()
	l := onOutside(t, "b")
	l.Settings = scope.Settings{InternalDomain: "test"}
	one := l.on(alpha)
	if err := one.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if seed, _, err := one.asked(t.Context(), ""); seed != "" || err != nil {
		t.Errorf("it is to go to seed %q, %v", seed, err)
	}
}

// While a bucket is away nothing is written; then the place becomes the owner, in the next epoch, of the Shoot that was
// checked.
func TestBegin_BucketComesBack_TakesTheShootOver(t *testing.T) {
	t.Parallel()
	l := newLandscape()
	l.Settings = scope.Settings{InternalDomain: "test"}
	back := make(chan struct{})
	l.Bucket = &returning{back: back}
	l.garden(t)
	one, done := l.on(alpha), make(chan error, 1)
	go func() { done <- one.begin(t.Context()) }()
	<-back
	shoot := &gardencorev1beta1.Shoot{}
	if err := l.Garden.Get(t.Context(), alpha, shoot); err != nil || *shoot.Status.SeedName != "a" ||
		len(l.dns.Writes()) > 0 {
		t.Errorf("without its bucket the shoot is on %q, %v, written %v", *shoot.Status.SeedName, err, l.dns.Writes())
	}
	back <- struct{}{}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	record := l.dns.Record()
	if one.Epoch != 4 || record.Epoch != 4 || record.Seed != "outside" || record.Owner != string(one.SeedObject.UID) {
		t.Errorf("it acts in epoch %d, DNS says %v", one.Epoch, record)
	}
	if err := l.Garden.Get(t.Context(), alpha, shoot); err != nil {
		t.Fatal(err)
	}
	if last := shoot.Status.LastOperation; *shoot.Status.SeedName != "outside" || *shoot.Spec.SeedName != "a" ||
		last.Type != "Migrate" || last.State != "Processing" {
		t.Errorf("the shoot is on %q, bound to %q, %v", *shoot.Status.SeedName, *shoot.Spec.SeedName, last)
	}
	if !slices.ContainsFunc(l.said, func(said string) bool { return strings.Contains(said, "tried again") }) {
		t.Errorf("it has said %q", l.said)
	}
}

// returning does not answer the first question.
type returning struct {
	shelf
	back  chan struct{}
	asked int
}

func (r *returning) Check(context.Context, string, string) error {
	if r.asked++; r.asked > 1 {
		return nil
	}
	r.back <- struct{}{}
	<-r.back
	return errors.New("EOF")
}
