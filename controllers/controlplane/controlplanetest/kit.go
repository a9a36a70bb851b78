// Package controlplanetest makes scopes for tests, on fake clients. No program contains it.
package controlplanetest

import (
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
)

// SeedScheme knows the kinds of a seed, and those of the garden.
func SeedScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, extensionsv1alpha1.AddToScheme,
		gardencorev1beta1.AddToScheme, machinev1alpha1.AddToScheme, resourcesv1alpha1.AddToScheme,
		seedmanagementv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// Scope is that of a run for shoot alpha on a fake seed with these objects.
func Scope(t *testing.T, operation gardencorev1beta1.LastOperationType, funcs interceptor.Funcs,
	objects ...client.Object) *scope.Scope {
	t.Helper()
	seed := fake.NewClientBuilder().WithScheme(SeedScheme(t)).WithObjects(objects...).
		WithStatusSubresource(&extensionsv1alpha1.Infrastructure{}, &extensionsv1alpha1.Extension{}).Build()
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Name: "alpha", Namespace: "garden-p"}}
	shoot.Status.TechnicalID = "shoot--p--alpha"
	shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: operation}
	return &scope.Scope{
		Settings: scope.Settings{WaitInterval: 5 * time.Millisecond},
		Log:      logr.Discard(), Clock: clock.RealClock{}, Bell: &scope.Bell{},
		Garden: fake.NewClientBuilder().WithScheme(SeedScheme(t)).Build(),
		Seed:   interceptor.NewClient(seed, funcs), Shoot: shoot,
	}
}

// Bound is the scope of seed a for shoot alpha, which is bound to it in a fake garden. It has no seed client.
func Bound(t *testing.T) *scope.Scope {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := gardencorev1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Name: "alpha", Namespace: "garden-p", UID: "u"}}
	shoot.Spec.SeedName = ptr.To("a")
	shoot.Status.TechnicalID, shoot.Status.SeedName = "shoot--p--alpha", ptr.To("a")
	s := &scope.Scope{
		Garden: fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(shoot).WithObjects(shoot).Build(),
		Clock:  testingclock.NewFakeClock(time.Unix(1000, 0)), Shoot: shoot,
	}
	s.SeedName = "a"
	s.Shoot = InGarden(t, s)
	return s
}

// Begun is Bound after the run has begun to reconcile the shoot.
func Begun(t *testing.T) *scope.Scope {
	t.Helper()
	s := Bound(t)
	now := metav1.NewTime(s.Clock.Now())
	s.Shoot.Status.Gardener.ID, s.Shoot.Status.RetryCycleStartTime = "a", &now
	s.Shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: gardencorev1beta1.LastOperationTypeReconcile,
		State: gardencorev1beta1.LastOperationStateProcessing, LastUpdateTime: now}
	if err := s.Garden.Status().Update(t.Context(), s.Shoot); err != nil {
		t.Fatal(err)
	}
	s.Running = gardencorev1beta1.LastOperationTypeReconcile
	return s
}

// RestartsAll are tasks of a shoot, all restarts among them.
const RestartsAll = "deployInfrastructure,restartControlPlanePods,restartCoreAddons"

// InGarden reads the shoot of a scope anew.
func InGarden(t *testing.T, s *scope.Scope) *gardencorev1beta1.Shoot {
	t.Helper()
	shoot := &gardencorev1beta1.Shoot{}
	if err := s.Garden.Get(t.Context(), client.ObjectKeyFromObject(s.Shoot), shoot); err != nil {
		t.Fatal(err)
	}
	return shoot
}

// ListTasks has the scope's shoot list tasks, in the garden too.
func ListTasks(t *testing.T, s *scope.Scope, tasks string) {
	t.Helper()
	shoot := InGarden(t, s)
	shoot.Annotations = map[string]string{"shoot.gardener.cloud/tasks": tasks}
	if err := s.Garden.Update(t.Context(), shoot); err != nil {
		t.Fatal(err)
	}
	s.Shoot = InGarden(t, s)
}

// EventReasons remembers the reasons of events.
type EventReasons []string

// Event implements scope.Events.
func (e *EventReasons) Event(_ *gardencorev1beta1.Shoot, _, reason, _ string) {
	*e = append(*e, reason)
}

// SSHRotated is the status of a shoot whose SSH key pair was rotated at these moments; 0 for never.
func SSHRotated(initiated, completed int64) *gardencorev1beta1.ShootCredentials {
	at := func(seconds int64) *metav1.Time {
		if seconds == 0 {
			return nil
		}
		return ptr.To(metav1.NewTime(time.Unix(seconds, 0)))
	}
	return &gardencorev1beta1.ShootCredentials{Rotation: &gardencorev1beta1.ShootCredentialsRotation{
		SSHKeypair: &gardencorev1beta1.ShootSSHKeypairRotation{LastInitiationTime: at(initiated),
			LastCompletionTime: at(completed)},
	}}
}
