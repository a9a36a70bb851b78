package maintenance_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	securityv1alpha1 "github.com/transplant-sim/transplant/api/security/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/maintenance"
)

// midday is well outside of the time window of tended.
var midday = time.Date(2026, time.March, 10, 12, 0, 0, 0, time.UTC)

// eventLog keeps events as "type reason: message".
type eventLog struct{ all []string }

func (l *eventLog) Event(_ *gardencorev1beta1.Shoot, eventType, reason, message string) {
	l.all = append(l.all, fmt.Sprintf("%s %s: %s", eventType, reason, message))
}

// offers has Kubernetes 1.33.1, which has expired, 1.34, which expires tomorrow, and 1.35.0; and two versions of an
// image.
func offers() *gardencorev1beta1.CloudProfile {
	expired, soon := metav1.NewTime(midday.AddDate(0, 0, -9)), metav1.NewTime(midday.AddDate(0, 0, 1))
	image := func(v string) gardencorev1beta1.MachineImageVersion {
		return gardencorev1beta1.MachineImageVersion{
			ExpirableVersion: gardencorev1beta1.ExpirableVersion{Version: v},
			CRI:              []gardencorev1beta1.CRI{{Name: "containerd"}}, Architectures: []string{"amd64"},
		}
	}
	return &gardencorev1beta1.CloudProfile{
		ObjectMeta: metav1.ObjectMeta{Name: "profile"},
		Spec: gardencorev1beta1.CloudProfileSpec{
			Type: "transplant", Regions: []gardencorev1beta1.Region{},
			Kubernetes: gardencorev1beta1.KubernetesSettings{Versions: []gardencorev1beta1.ExpirableVersion{
				{Version: "1.33.1", ExpirationDate: &expired}, {Version: "1.34.0", ExpirationDate: &soon},
				{Version: "1.34.2", ExpirationDate: &soon}, {Version: "1.35.0"},
			}},
			MachineImages: []gardencorev1beta1.MachineImage{{
				Name: "linux", UpdateStrategy: ptr.To(gardencorev1beta1.UpdateStrategyPatch),
				Versions: []gardencorev1beta1.MachineImageVersion{image("1.0.0"), image("1.0.1")},
			}},
			MachineTypes: []gardencorev1beta1.MachineType{{Name: "medium"}},
		},
	}
}

// tended is a shoot whose effective window is from 22:00 to 23:00 UTC.
func tended(change func(*gardencorev1beta1.Shoot)) *gardencorev1beta1.Shoot {
	shoot := &gardencorev1beta1.Shoot{
		ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "alpha", UID: "0a1b",
			CreationTimestamp: metav1.NewTime(midday.AddDate(0, -1, 0))},
		Spec: gardencorev1beta1.ShootSpec{
			CloudProfileName: ptr.To("profile"), Region: "here",
			Kubernetes: gardencorev1beta1.Kubernetes{Version: "1.33.1"},
			Maintenance: &gardencorev1beta1.Maintenance{TimeWindow: &gardencorev1beta1.MaintenanceTimeWindow{
				Begin: "220000+0000", End: "231500+0000"}},
			Provider: gardencorev1beta1.Provider{Type: "transplant", Workers: []gardencorev1beta1.Worker{{
				Name: "pool", Minimum: 1, Maximum: 1,
				Machine: gardencorev1beta1.Machine{Type: "medium", Image: &gardencorev1beta1.ShootMachineImage{Name: "linux",
					Version: ptr.To("1.0.0")}},
			}}},
		},
		Status: gardencorev1beta1.ShootStatus{LastOperation: &gardencorev1beta1.LastOperation{Type: "Reconcile",
			State: "Succeeded"}},
	}
	if change != nil {
		change(shoot)
	}
	return shoot
}

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, gardencorev1beta1.AddToScheme, securityv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// keeper is a Reconciler at work on the shoot alpha in a garden of its own.
type keeper struct {
	*maintenance.Reconciler
	clock  *testingclock.FakePassiveClock
	events *eventLog
}

func newKeeper(garden client.Client) *keeper {
	clock, events := testingclock.NewFakePassiveClock(midday), &eventLog{}
	return &keeper{&maintenance.Reconciler{Garden: garden, Clock: clock, Events: events}, clock, events}
}

func newGarden(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) client.Client {
	t.Helper()
	return fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(objects...).
		WithStatusSubresource(&gardencorev1beta1.Shoot{}).WithInterceptorFuncs(funcs).Build()
}

func (k *keeper) look(t *testing.T) time.Duration {
	t.Helper()
	result, err := k.Reconcile(t.Context(),
		reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "garden-p", Name: "alpha"}})
	if err != nil {
		t.Fatal(err)
	}
	return result.RequeueAfter
}

func (k *keeper) shoot(t *testing.T) *gardencorev1beta1.Shoot {
	t.Helper()
	shoot := &gardencorev1beta1.Shoot{}
	if err := k.Garden.Get(t.Context(), client.ObjectKey{Namespace: "garden-p", Name: "alpha"}, shoot); err != nil {
		t.Fatal(err)
	}
	return shoot
}

func (k *keeper) patch(t *testing.T, text string) {
	t.Helper()
	if err := k.Garden.Patch(t.Context(), tended(nil), client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
		t.Fatal(err)
	}
}

func versionsOf(shoot *gardencorev1beta1.Shoot) []string {
	return []string{shoot.Spec.Kubernetes.Version, *shoot.Spec.Provider.Workers[0].Machine.Image.Version}
}

// TestOneMaintenanceInEachWindow follows a shoot over four days. Looks at odd times, as after a restart, add none.
func TestOneMaintenanceInEachWindow(t *testing.T) {
	t.Parallel()
	k := newKeeper(newGarden(t, interceptor.Funcs{}, offers(), tended(nil)))
	var days []string
	at := map[string]bool{}
	for end := midday.AddDate(0, 0, 4); k.clock.Now().Before(end); {
		wait := k.look(t)
		if wait <= 0 {
			t.Fatalf("at %v the next look is after %v", k.clock.Now(), wait)
		}
		if got := k.shoot(t).Annotations["gardener.cloud/operation"]; got == "reconcile" {
			now := k.clock.Now()
			days = append(days, fmt.Sprintf("%s %v", now.Format(time.DateOnly), versionsOf(k.shoot(t))))
			at[now.Format(time.TimeOnly)] = true
			if minute := now.Sub(now.Truncate(24 * time.Hour)); minute < 22*time.Hour || minute > 23*time.Hour {
				t.Errorf("maintained at %v, outside of the effective window", now)
			}
			k.patch(t, `{"metadata":{"annotations":{"gardener.cloud/operation":null}}}`) // the gardenlet takes it up
		}
		k.clock.SetTime(k.clock.Now().Add(min(wait, 7*time.Minute)))
	}
	// Each window takes it one minor further as long as it has to go; a window with nothing to do is one, too.
	want := []string{"2026-03-10 [1.34.2 1.0.1]", "2026-03-11 [1.35.0 1.0.1]", "2026-03-12 [1.35.0 1.0.1]",
		"2026-03-13 [1.35.0 1.0.1]"}
	if diff := cmp.Diff(want, days); diff != "" {
		t.Errorf("maintenances (-want +got):\n%s", diff)
	}
	if len(at) < 3 {
		t.Errorf("the moments in the window are always the same: %v", at)
	}
}

func TestShootsAreSpreadOverTheWindow(t *testing.T) {
	t.Parallel()
	quarters := [4]int{}
	for i := range 120 {
		shoot := tended(func(s *gardencorev1beta1.Shoot) { s.UID = types.UID(fmt.Sprintf("uid-%d", i)) })
		k := newKeeper(newGarden(t, interceptor.Funcs{}, offers(), shoot))
		moment := midday.Add(k.look(t))
		begin := time.Date(2026, time.March, 10, 22, 0, 0, 0, time.UTC)
		quarter := int(moment.Sub(begin) / (15 * time.Minute))
		if moment.Before(begin) || quarter > 3 {
			t.Fatalf("shoot %d is to be maintained at %v", i, moment)
		}
		quarters[quarter]++
	}
	for _, n := range quarters {
		if n < 15 || n > 48 {
			t.Errorf("of 120 shoots the quarters of the window have %v", quarters)
			break
		}
	}
}

func TestMaintenanceThatIsAskedFor(t *testing.T) {
	t.Parallel()
	k := newKeeper(newGarden(t, interceptor.Funcs{}, offers(), tended(func(s *gardencorev1beta1.Shoot) {
		s.Annotations = map[string]string{"gardener.cloud/operation": "maintain",
			"maintenance.gardener.cloud/operation": "rotate-ssh-keypair"}
	})))
	k.look(t)
	shoot := k.shoot(t)
	if diff := cmp.Diff([]string{"1.34.2", "1.0.1"}, versionsOf(shoot)); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	annotations := map[string]string{
		"gardener.cloud/operation": "rotate-ssh-keypair;reconcile",
		"shoot.gardener.cloud/tasks": "deployInfrastructure,deployDNSRecordInternal,deployDNSRecordExternal," +
			"deployDNSRecordIngress",
	}
	if diff := cmp.Diff(annotations, shoot.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	last := shoot.Status.LastMaintenance
	if last == nil || last.State != "Succeeded" || !last.TriggeredTime.Time.Equal(midday) || last.FailureReason != nil ||
		!strings.Contains(last.Description, `Control Plane: Updated Kubernetes version from "1.33.1" to "1.34.2"`) {
		t.Errorf("lastMaintenance is %+v", last)
	}
	events := []string{
		`Normal KubernetesVersionMaintenance: Control Plane: Updated Kubernetes version from "1.33.1" to "1.34.2". ` +
			`Reason: Kubernetes version expired - force update required`,
		`Normal MachineImageVersionMaintenance: Worker pool "pool": Updated machine image from "1.0.0" to "1.0.1". ` +
			`Reason: Automatic update of the machine image version is configured (image update strategy: patch)`,
	}
	if diff := cmp.Diff(events, k.events.all); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	// That was outside of the window, which still has its own.
	if wait := k.look(t); wait < 10*time.Hour || wait > 11*time.Hour {
		t.Errorf("the next maintenance is in %v, want it tonight", wait)
	}
}

func TestNotMaintained(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*gardencorev1beta1.Shoot){
		"outside of the window": func(*gardencorev1beta1.Shoot) {},
		"in deletion": func(s *gardencorev1beta1.Shoot) {
			s.Annotations = map[string]string{"gardener.cloud/operation": "maintain"}
			s.Finalizers, s.DeletionTimestamp = []string{"gardener"}, &metav1.Time{Time: midday}
		},
		"ignored": func(s *gardencorev1beta1.Shoot) {
			s.Annotations = map[string]string{"gardener.cloud/operation": "maintain", "shoot.gardener.cloud/ignore": "true"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKeeper(newGarden(t, interceptor.Funcs{}, offers(), tended(change)))
			before := k.shoot(t)
			k.look(t)
			if diff := cmp.Diff(before, k.shoot(t)); diff != "" {
				t.Errorf("the shoot changed (-before +after):\n%s", diff)
			}
		})
	}
}

// refusing lets the API server refuse shoots in which a version is wanted.
func refusing(wanted func(versions []string) bool) interceptor.Funcs {
	return interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch,
		options ...client.PatchOption) error {
		if wire, ok := o.(*unstructured.Unstructured); ok {
			shoot := &gardencorev1beta1.Shoot{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(wire.Object, shoot); err != nil {
				return err
			}
			if wanted(versionsOf(shoot)) {
				errs := field.ErrorList{field.Forbidden(field.NewPath("spec"), "not this one")}
				return apierrors.NewInvalid(gardencorev1beta1.SchemeGroupVersion.WithKind("Shoot").GroupKind(), "alpha", errs)
			}
		}
		return c.Patch(ctx, o, patch, options...)
	}}
}

func asked(s *gardencorev1beta1.Shoot) {
	s.Annotations = map[string]string{"gardener.cloud/operation": "maintain"}
}

func TestARefusalOfOnePartDoesNotUndoTheOthers(t *testing.T) {
	t.Parallel()
	const why = `the API server refuses it: Shoot.core.gardener.cloud "alpha" is invalid: spec: Forbidden: not this one`
	for _, c := range []struct {
		name    string
		refuse  func([]string) bool
		want    []string
		failure string
	}{
		{
			"the image", func(v []string) bool { return v[1] == "1.0.1" }, []string{"1.34.2", "1.0.0"},
			`Worker pool "pool": machine image "linux" cannot be updated: ` + why,
		},
		{
			"Kubernetes", func(v []string) bool { return v[0] == "1.34.2" }, []string{"1.33.1", "1.0.1"},
			"Control Plane: Kubernetes version cannot be updated: " + why,
		},
		{
			"both", func(v []string) bool { return v[0] != "1.33.1" || v[1] != "1.0.0" }, []string{"1.33.1", "1.0.0"},
			`Updates to the Shoot failed to be applied: Shoot.core.gardener.cloud "alpha" is invalid: spec: Forbidden: not ` +
				`this one`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := newKeeper(newGarden(t, refusing(c.refuse), offers(), tended(func(s *gardencorev1beta1.Shoot) {
				s.Annotations = map[string]string{"gardener.cloud/operation": "force-in-place-update; maintain"}
			})))
			k.look(t)
			shoot := k.shoot(t)
			if diff := cmp.Diff(c.want, versionsOf(shoot)); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
			last := shoot.Status.LastMaintenance
			if last == nil || last.State != "Failed" || ptr.Deref(last.FailureReason, "") != c.failure {
				t.Errorf("lastMaintenance is %+v with reason %q, want Failed: %s", last, ptr.Deref(last.FailureReason, ""),
					c.failure)
			}
			if operation := shoot.Annotations["gardener.cloud/operation"]; strings.Contains(operation, "maintain") ||
				!strings.Contains(operation, "force-in-place-update") {
				t.Errorf("%q is asked for afterwards: with maintain it would be maintained on and on, and another wish is not "+
					"the maintenance's to drop", operation)
			}
		})
	}
}

func TestAFailureThatIsOverIsReportedSo(t *testing.T) {
	t.Parallel()
	k := newKeeper(newGarden(t, interceptor.Funcs{}, offers(), tended(func(s *gardencorev1beta1.Shoot) {
		asked(s)
		s.Spec.Kubernetes.Version, s.Spec.Provider.Workers[0].Machine.Image.Version = "1.34.2", ptr.To("1.0.1")
		s.Status.LastMaintenance = &gardencorev1beta1.LastMaintenance{State: "Failed", FailureReason: ptr.To("a while ago"),
			TriggeredTime: metav1.NewTime(midday.AddDate(0, 0, -1))}
	})))
	k.look(t)
	want := &gardencorev1beta1.LastMaintenance{State: "Succeeded", Description: "Maintenance succeeded",
		TriggeredTime: metav1.NewTime(midday.AddDate(0, 0, -1).Local())}
	if diff := cmp.Diff(want, k.shoot(t).Status.LastMaintenance); diff != "" {
		t.Errorf("lastMaintenance (-want +got):\n%s", diff)
	}
}

// TestInterrupted: a maintenance that a crash has cut off is done again, or is reported as what became of it.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	triggered := time.Date(2026, time.March, 9, 22, 30, 0, 0, time.UTC)
	for _, c := range []struct{ name, window, want string }{
		{"before the specification was written", "2026-03-08T22:00:00Z", "Failed"},
		{"after the specification was written", "2026-03-09T22:00:00Z", "Succeeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := newKeeper(newGarden(t, interceptor.Funcs{}, offers(), tended(func(s *gardencorev1beta1.Shoot) {
				s.Annotations = map[string]string{"maintenance.transplant.dev/window": c.window}
				s.Status.LastMaintenance = &gardencorev1beta1.LastMaintenance{State: "Processing",
					TriggeredTime: metav1.NewTime(triggered)}
			})))
			k.look(t)
			if last := k.shoot(t).Status.LastMaintenance; string(last.State) != c.want {
				t.Errorf("lastMaintenance is %+v, want %s", last, c.want)
			}
		})
	}
}

func TestSecretBindingIsMigrated(t *testing.T) {
	t.Parallel()
	withSecretBinding := func(s *gardencorev1beta1.Shoot) {
		asked(s)
		s.Spec.SecretBindingName = ptr.To("mine")
	}
	t.Run("there is one", func(t *testing.T) {
		t.Parallel()
		k := newKeeper(newGarden(t, interceptor.Funcs{}, offers(), tended(withSecretBinding),
			&gardencorev1beta1.SecretBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "mine"},
				SecretRef:  corev1.SecretReference{Name: "cloud"},
			}))
		k.look(t)
		if got := k.shoot(t).Spec; got.SecretBindingName != nil || ptr.Deref(got.CredentialsBindingName,
			"") != "force-migrated-mine" {
			t.Errorf("the shoot refers to %v and %v", got.SecretBindingName, got.CredentialsBindingName)
		}
		binding := &securityv1alpha1.CredentialsBinding{}
		if err := k.Garden.Get(t.Context(), client.ObjectKey{Namespace: "garden-p", Name: "force-migrated-mine"},
			binding); err != nil {
			t.Fatal(err)
		}
		reference := corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: "garden-p", Name: "cloud"}
		if binding.CredentialsRef != reference || binding.Provider.Type != "transplant" ||
			binding.Labels["credentialsbinding.gardener.cloud/status"] != "force-migrated" {
			t.Errorf("the binding is %+v", binding)
		}
	})
	t.Run("the API server refuses what goes with it", func(t *testing.T) {
		t.Parallel()
		refuse := refusing(func(v []string) bool { return v[0] == "1.34.2" })
		k := newKeeper(newGarden(t, refuse, offers(), tended(withSecretBinding), &gardencorev1beta1.SecretBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "mine"}, SecretRef: corev1.SecretReference{Name: "cloud"},
		}))
		k.look(t)
		if got := k.shoot(t).Spec; ptr.Deref(got.SecretBindingName, "") != "mine" || got.CredentialsBindingName != nil {
			t.Errorf("the shoot refers to %v and %v", got.SecretBindingName, got.CredentialsBindingName)
		}
		left := &securityv1alpha1.CredentialsBindingList{}
		if err := k.Garden.List(t.Context(), left); err != nil || len(left.Items) > 0 {
			t.Errorf("a binding that nobody refers to: %v, %v", left.Items, err)
		}
	})
	t.Run("there is none", func(t *testing.T) {
		t.Parallel()
		k := newKeeper(newGarden(t, interceptor.Funcs{}, offers(), tended(withSecretBinding)))
		k.look(t)
		shoot := k.shoot(t)
		if ptr.Deref(shoot.Spec.SecretBindingName, "") != "mine" || shoot.Spec.CredentialsBindingName != nil ||
			shoot.Spec.Kubernetes.Version != "1.34.2" {
			t.Errorf("the shoot is at %s and refers to %v and %v", shoot.Spec.Kubernetes.Version, shoot.Spec.SecretBindingName,
				shoot.Spec.CredentialsBindingName)
		}
		if !strings.Contains(shoot.Status.LastMaintenance.Description,
			`could not be migrated to .spec.credentialsBindingName. Reason: there is no SecretBinding "mine"`) {
			t.Errorf("lastMaintenance is %+v", shoot.Status.LastMaintenance)
		}
	})
}

func TestThrottledShootsAreRetried(t *testing.T) {
	t.Parallel()
	failed := func(codes ...gardencorev1beta1.ErrorCode) *gardencorev1beta1.Shoot {
		return tended(func(s *gardencorev1beta1.Shoot) {
			s.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Reconcile", State: "Failed",
				LastUpdateTime: metav1.NewTime(midday)}
			s.Status.LastErrors = []gardencorev1beta1.LastError{{Codes: codes}}
		})
	}
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "garden-p", Name: "alpha"}}
	clock := testingclock.NewFakePassiveClock(midday)
	retry := &maintenance.Retry{Garden: newGarden(t, interceptor.Funcs{}, failed("ERR_INFRA_RATE_LIMITS_EXCEEDED")),
		Clock: clock, Period: 10 * time.Minute, Jitter: 5 * time.Minute}
	first, err := retry.Reconcile(t.Context(), request)
	if err != nil || first.RequeueAfter < 10*time.Minute || first.RequeueAfter >= 15*time.Minute {
		t.Fatalf("the first look: %+v, %v", first, err)
	}
	clock.SetTime(midday.Add(first.RequeueAfter - time.Second))
	look := func() string {
		if _, err := retry.Reconcile(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		return (&keeper{Reconciler: &maintenance.Reconciler{Garden: retry.Garden}}).shoot(
			t).Annotations["gardener.cloud/operation"]
	}
	if got := look(); got != "" {
		t.Errorf("too early the shoot is asked for %q", got)
	}
	clock.SetTime(midday.Add(first.RequeueAfter))
	if got := look(); got != "retry" {
		t.Errorf("when its time has come the shoot is asked for %q", got)
	}
	retry.Garden = newGarden(t, interceptor.Funcs{}, failed("ERR_INFRA_UNAUTHORIZED"))
	if got := look(); got != "" {
		t.Errorf("a shoot that no retry helps is asked for %q", got)
	}
}
