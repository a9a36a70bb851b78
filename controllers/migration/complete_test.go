package migration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/backups"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
)

func gardenScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, gardencorev1beta1.AddToScheme, seedmanagementv1alpha1.AddToScheme,
		transplantv1alpha1.AddToScheme,
		extensionsv1alpha1.AddToScheme,
		machinev1alpha1.AddToScheme, resourcesv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// wholeState is all that a restore needs of a ShootState.
func wholeState() *shootstate.State {
	state := &shootstate.State{Machines: &runtime.RawExtension{Raw: []byte(`{"machineDeployments":{}}`)}}
	for _, name := range []string{
		"ca", "ca-client", "ca-etcd", "ca-front-proxy", "ca-kubelet", "ca-metrics-server", "service-account-key",
		"static-token",
		"kube-apiserver-etcd-encryption-key", "ssh-keypair", "kube-aggregator", "kube-apiserver",
	} {
		state.Secrets = append(state.Secrets, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return state
}

func save(t *testing.T, garden client.Client, shoot *gardencorev1beta1.Shoot, state *shootstate.State) {
	t.Helper()
	// The budget is such that the machine state of an unusual size goes into a chunk.
	store := &shootstate.Store{Garden: garden, Clock: testingclock.NewFakePassiveClock(time.Unix(1000, 0)), Budget: 4096}
	if err := store.Save(t.Context(), client.ObjectKeyFromObject(shoot), func(context.Context) (*shootstate.State, error) {
		return state, nil
	}); err != nil {
		t.Fatal(err)
	}
}

func backupEntryOf(shoot *gardencorev1beta1.Shoot) *gardencorev1beta1.BackupEntry {
	return &gardencorev1beta1.BackupEntry{
		ObjectMeta: metav1.ObjectMeta{Namespace: shoot.Namespace, Name: shoot.Status.TechnicalID + "--" +
			string(shoot.Status.UID)},
		Spec: gardencorev1beta1.BackupEntrySpec{BucketName: "uid-a", SeedName: ptr.To("a")},
	}
}

// incomplete are the ways in which the garden may lack what a restore needs, and what is said of each.
var incomplete = map[string]struct {
	spoil func(*testing.T, client.Client, *gardencorev1beta1.Shoot)
	named string
}{
	"no ShootState": {func(t *testing.T, garden client.Client, shoot *gardencorev1beta1.Shoot) {
		remove(t, garden, &gardencorev1beta1.ShootState{ObjectMeta: metav1.ObjectMeta{Name: shoot.Name,
			Namespace: shoot.Namespace}})
	}, "missing are the ShootState"},
	"a chunk is missing": {func(t *testing.T, garden client.Client, shoot *gardencorev1beta1.Shoot) {
		state := wholeState()
		state.Machines.Raw = fmt.Appendf(nil, "{%q:%q}", "noise", noise(8192))
		save(t, garden, shoot, state)
		chunks := &transplantv1alpha1.ShootStateChunkList{}
		if err := garden.List(t.Context(), chunks); err != nil || len(chunks.Items) == 0 {
			t.Fatalf("%d chunks, %v", len(chunks.Items), err)
		}
		remove(t, garden, &chunks.Items[0])
	}, "missing are a part of the ShootState: chunk "},
	"secrets and machines are missing": {func(t *testing.T, garden client.Client, shoot *gardencorev1beta1.Shoot) {
		state := wholeState()
		state.Secrets, state.Machines = state.Secrets[1:], nil
		save(t, garden, shoot, state)
	}, `missing are the machine state in the ShootState, the secret "ca" in the ShootState`},
	"no backup entry": {func(t *testing.T, garden client.Client, shoot *gardencorev1beta1.Shoot) {
		remove(t, garden, backupEntryOf(shoot))
	}, `missing are the backup entry "shoot--p--s--uid"`},
}

func remove(t *testing.T, garden client.Client, object client.Object) {
	t.Helper()
	if err := garden.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// noise is text that no compression makes smaller by much.
func noise(n int) string {
	var text strings.Builder
	for x := uint32(1); text.Len() < n; x = x*1664525 + 1013904223 {
		text.WriteByte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[x>>26])
	}
	return text.String()
}

func withWorkers(shoot *gardencorev1beta1.Shoot) *gardencorev1beta1.Shoot {
	shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Name: "w"}}
	return shoot
}

func TestEvacuation_StateIncomplete_KeepsSeedAndReportsWhatIsMissing(t *testing.T) {
	t.Parallel()
	for name, c := range incomplete {
		for way, shoot := range map[string]*gardencorev1beta1.Shoot{
			"lost":    withWorkers(stranded("s", "a", "a", "Reconcile", "Succeeded")),
			"leaving": withWorkers(stranded("s", "b", "a", "Migrate", "Processing")),
		} {
			t.Run(name+" "+way, func(t *testing.T) {
				t.Parallel()
				garden := newGarden(t, "Unknown", shoot)
				c.spoil(t, garden, shoot)
				events := &eventLog{}
				e, clock := newEvacuation(garden, events)
				before := state(t, garden)
				lookFor(t, e, clock, 9)
				if diff := cmp.Diff(before, state(t, garden)); diff != "" {
					t.Error(diff)
				}
				checkConstraint(t, garden, "StateIncomplete", c.named)
				if diff := cmp.Diff(eventLog{"s EvacuationImpossible"}, *events); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestAForcedRestoreDoesNotBeginWithAnIncompleteState(t *testing.T) {
	t.Parallel()
	for name, c := range incomplete {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shoot := withWorkers(stranded("s", "b", "gone", "Reconcile", "Succeeded"))
			shoot.Annotations = map[string]string{"shoot.gardener.cloud/force-restore": "true"}
			garden := newGarden(t, "True", shoot)
			c.spoil(t, garden, shoot)
			r, request := newForcedRestore(garden), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)}
			result, err := r.Reconcile(t.Context(), request)
			if err != nil || result.RequeueAfter == 0 {
				t.Fatalf("looks again after %v, %v", result.RequeueAfter, err)
			}
			if got := state(t, garden)["s"]; got != "b gone Reconcile/Succeeded true" {
				t.Errorf("it is %s", got)
			}
			checkConstraint(t, garden, "StateIncomplete", c.named)
			// Nobody else takes the word back while it holds.
			e, clock := newEvacuation(garden, &eventLog{})
			lookFor(t, e, clock, 2)
			checkConstraint(t, garden, "StateIncomplete", c.named)
			// What was missing is there again.
			save(t, garden, shoot, wholeState())
			if err := garden.Create(t.Context(), backupEntryOf(shoot)); err != nil && !apierrors.IsAlreadyExists(err) {
				t.Fatal(err)
			}
			if _, err := r.Reconcile(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			if got := state(t, garden)["s"]; got != "b b Migrate/Aborted true" {
				t.Errorf("it is %s when nothing is missing", got)
			}
			checkConstraint(t, garden, "", "")
		})
	}
}

// checkConstraint checks what shoot s says about its evacuation; reason "" is no constraint.
func checkConstraint(t *testing.T, garden client.Client, reason, message string) {
	t.Helper()
	shoot := &gardencorev1beta1.Shoot{}
	if err := garden.Get(t.Context(), client.ObjectKey{Namespace: "garden-p", Name: "s"}, shoot); err != nil {
		t.Fatal(err)
	}
	for _, constraint := range shoot.Status.Constraints {
		if constraint.Type == gardencorev1beta1.ShootEvacuationPossible {
			if constraint.Reason != reason || !strings.Contains(constraint.Message, message) {
				t.Errorf("got constraint %s: %s; want %s: %s", constraint.Reason, constraint.Message, reason, message)
			}
			return
		}
	}
	if reason != "" {
		t.Errorf("got no constraint, want %s: %s", reason, message)
	}
}

// shelves are buckets by name, each with the reason why nothing can be restored from it; a bucket that is not there has
// no backups.
type shelves map[string]error

// rot is a reason that only who reads the backups finds.
type rot struct{ error }

var _ scope.Buckets = shelves{}

func (s shelves) Check(_ context.Context, bucket, _ string) error {
	err, there := s[bucket]
	if !there {
		return backups.ErrNoBackups
	}
	if _, hidden := errors.AsType[rot](err); hidden {
		return nil
	}
	return err
}

func (s shelves) Readable(_ context.Context, bucket, _ string) error { return s[bucket] }

func (shelves) Copy(context.Context, string, string, string, int64, bool) ([]string, error) {
	return nil, nil
}

func (s shelves) Purge(_ context.Context, bucket, _ string) error {
	delete(s, bucket)
	return nil
}

func (shelves) Superseded(context.Context, string, string, int64) (bool, error) { return false, nil }

func (shelves) HasFinalSnapshot(context.Context, string, string, int64) (bool, error) {
	return false, nil
}

// arriving is a run of seed b that restores shoot s by force.
func arriving(t *testing.T, garden client.Client, buckets shelves, shoot *gardencorev1beta1.Shoot,
	onSeed ...client.Object) *controlplane.Operation {
	t.Helper()
	clock := testingclock.NewFakeClock(time.Unix(1000, 0))
	o := controlplane.New(&scope.Scope{
		Settings: scope.Settings{SeedName: "b", InternalDomain: "test"}, Clock: clock, Bell: &scope.Bell{},
		Garden: garden,
		Seed:   fake.NewClientBuilder().WithScheme(gardenScheme(t)).WithObjects(onSeed...).Build(),
		Owners: ownedBy("a", 3), Bucket: buckets, States: &shootstate.Store{Garden: garden, Clock: clock},
		Shoot:      &gardencorev1beta1.Shoot{},
		SeedObject: &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "uid-b"}},
	})
	if err := garden.Get(t.Context(), client.ObjectKeyFromObject(shoot), o.Shoot); err != nil {
		t.Fatal(err)
	}
	return o
}

func forced(shoot *gardencorev1beta1.Shoot) *gardencorev1beta1.Shoot {
	shoot.Annotations = map[string]string{"shoot.gardener.cloud/force-restore": "true"}
	return shoot
}

// begins is the look of a destination that has nothing of the shoot's.
func begins(t *testing.T, o *controlplane.Operation) error {
	t.Helper()
	_, err := (&Flows{}).prepareRestore(t.Context(), o)
	return err
}

// The destination looks again, before it writes to an authority: it says what is missing, which its run writes into
// the shoot's lastErrors.
func TestARestoreByForceBeginsWhenNothingIsMissing(t *testing.T) {
	t.Parallel()
	unreadable, damaged := errors.New("the cloud is away"), rot{errors.New("damaged")}
	type row struct {
		spoil   func(*testing.T, client.Client, *gardencorev1beta1.Shoot)
		buckets shelves
		named   string // in an IncompleteError
		is      error
	}
	rows := map[string]row{
		"whole":               {nil, shelves{"uid-a": nil}, "", nil},
		"no backups":          {nil, shelves{}, `missing are backups of etcd: look at the backups in bucket "uid-a"`, nil},
		"the cloud is away":   {nil, shelves{"uid-a": unreadable}, "", unreadable},
		"backups are damaged": {nil, shelves{"uid-a": damaged}, "", damaged},
		"backups are elsewhere": {nil, shelves{"uid-b": nil},
			`missing are backups of etcd: look at the backups in bucket "uid-a"`, nil},
	}
	for name, c := range incomplete {
		rows[name] = row{c.spoil, shelves{"uid-a": nil}, c.named, nil}
	}
	for name, c := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shoot := forced(withWorkers(stranded("s", "b", "b", "Restore", "Processing")))
			garden := newGarden(t, "Unknown", shoot)
			if c.spoil != nil {
				c.spoil(t, garden, shoot)
			}
			err := begins(t, arriving(t, garden, c.buckets, shoot))
			missing, is := errors.AsType[*IncompleteError](err)
			switch {
			case c.named != "":
				if !is || !strings.Contains(missing.Error(), c.named) {
					t.Errorf("got %v, want an IncompleteError with %q", err, c.named)
				}
			case is || !errors.Is(err, c.is):
				t.Errorf("got %v, want %v", err, c.is)
			}
		})
	}
}

// Who has taken the shoot over may have copied what it needs: the copy finds what is damaged now.
func TestBackupsAreReadBeforeTheShootIsTakenOver(t *testing.T) {
	t.Parallel()
	for owner, want := range map[string]bool{"a": true, "b": false} {
		shoot, damaged := forced(withWorkers(stranded("s", "b", "b", "Restore", "Processing"))), rot{errors.New("damaged")}
		o := arriving(t, newGarden(t, "Unknown", shoot), shelves{"uid-a": damaged}, shoot)
		o.Owners = ownedBy(owner, 3)
		if err := begins(t, o); errors.Is(err, damaged) != want || !want && err != nil {
			t.Errorf("seed %s owns it: %v", owner, err)
		}
	}
}

// A planned restore trusts the source with the state, but an etcd without a backup would start empty.
func TestAPlannedRestoreNeedsBackups(t *testing.T) {
	t.Parallel()
	for name, buckets := range map[string]shelves{"there": {"uid-a": nil}, "gone": {},
		"not read before they are copied": {"uid-a": rot{errors.New("damaged")}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shoot := withWorkers(stranded("s", "b", "b", "Restore", "Processing"))
			err := begins(t, arriving(t, newGarden(t, "True", shoot), buckets, shoot))
			if _, missing := errors.AsType[*IncompleteError](err); missing != (name == "gone") || !missing && err != nil {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestWithoutWorkersNoMachinesAreMissing(t *testing.T) {
	t.Parallel()
	hibernate := func(spec, status bool) func(*gardencorev1beta1.Shoot) {
		return func(s *gardencorev1beta1.Shoot) {
			s.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: ptr.To(spec)}
			s.Status.IsHibernated = status
		}
	}
	for name, c := range map[string]struct {
		change  func(*gardencorev1beta1.Shoot)
		missing bool
	}{
		"workerless":             {func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.Workers = nil }, false},
		"asleep":                 {hibernate(true, true), false},
		"sleep wanted and awake": {hibernate(true, false), true},
		"wake wanted":            {hibernate(false, true), true},
		"awake":                  {hibernate(false, false), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shoot := forced(withWorkers(stranded("s", "b", "b", "Restore", "Processing")))
			c.change(shoot)
			garden := newGarden(t, "Unknown", shoot)
			without := wholeState()
			without.Machines = nil
			save(t, garden, shoot, without)
			err := begins(t, arriving(t, garden, shelves{"uid-a": nil}, shoot))
			_, missing := errors.AsType[*IncompleteError](err)
			if missing != c.missing || !missing && err != nil {
				t.Errorf("got %v", err)
			}
		})
	}
}
