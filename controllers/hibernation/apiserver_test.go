package hibernation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/crds"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
)

// heard are the events on the shoot.
type heard []string

// Event implements scope.Events.
func (h *heard) Event(_ *gardencorev1beta1.Shoot, _, reason, _ string) { *h = append(*h, reason) }

// TestOnARealAPIServer lets a night pass over a shoot that sleeps from 20:00 to 06:00. Its hibernation is refused while
// a webhook is in the way, and late, but still in the same night.
func TestOnARealAPIServer(t *testing.T) {
	config := apiservertest.Start(t, apiservertest.Options{CRDs: crds.Garden()})
	scheme := runtime.NewScheme()
	must(t, clientgoscheme.AddToScheme(scheme))
	must(t, gardencorev1beta1.AddToScheme(scheme))
	c, err := client.New(config, client.Options{Scheme: scheme})
	must(t, err)
	must(t, c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-p"}}))
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "alpha"}}
	shoot.Spec.Region, shoot.Spec.SeedName, shoot.Spec.Provider.Type, shoot.Spec.Kubernetes.Version = "here", ptr.To("a"),
		"transplant", "1.36.3"
	shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Schedules: []gardencorev1beta1.HibernationSchedule{
		schedule("0 20 * * *", "0 6 * * *", "")}}
	must(t, c.Create(t.Context(), shoot))

	// The API server stamps the creation with real time: the night is that after tomorrow's.
	midnight := time.Now().UTC().Truncate(24 * time.Hour).Add(48 * time.Hour)
	clock, events := testingclock.NewFakeClock(midnight.Add(19*time.Hour)), &heard{}
	r := &Reconciler{Garden: c, Clock: clock, Events: events, Retry: time.Minute}
	constrain := func(status gardencorev1beta1.ConditionStatus) {
		before := shoot.DeepCopy()
		now := metav1.NewTime(clock.Now())
		shoot.Status.SeedName = ptr.To("a")
		shoot.Status.Constraints = []gardencorev1beta1.Condition{{
			Type: "HibernationPossible", Status: status, Reason: "R", Message: "m", LastTransitionTime: now, LastUpdateTime: now,
		}}
		must(t, c.Status().Patch(t.Context(), shoot, client.MergeFrom(before)))
	}
	constrain(gardencorev1beta1.ConditionFalse)
	for _, moment := range []struct {
		at     time.Duration
		before func()
		asleep bool
		events heard
		again  time.Duration
	}{
		{at: 19 * time.Hour, again: time.Hour},
		{at: 20 * time.Hour, events: heard{reasonRefused}, again: time.Minute},
		{at: 20*time.Hour + time.Minute, events: heard{reasonRefused}, again: time.Minute},
		{at: 20*time.Hour + 2*time.Minute, before: func() {
			constrain(gardencorev1beta1.ConditionTrue)
		}, asleep: true, events: heard{reasonHibernated}, again: 10*time.Hour - 2*time.Minute},
		{at: 21 * time.Hour, before: func() {
			before := shoot.DeepCopy()
			shoot.Spec.Hibernation.Enabled = ptr.To(false) // woken by hand: the schedule has acted on this evening
			must(t, c.Patch(t.Context(), shoot, client.MergeFrom(before)))
		}, again: 9 * time.Hour},
		{at: 30 * time.Hour, again: 14 * time.Hour}, // awake already
		{at: 44 * time.Hour, asleep: true, events: heard{reasonHibernated}, again: 10 * time.Hour},
		{at: 54*time.Hour + time.Minute, events: heard{reasonWokenUp}, again: 14*time.Hour - time.Minute},
		{at: 71 * time.Hour, again: 7 * time.Hour}, // away for too long to act on the evening
	} {
		clock.SetTime(midnight.Add(moment.at))
		if moment.before != nil {
			must(t, c.Get(t.Context(), client.ObjectKeyFromObject(shoot), shoot))
			moment.before()
		}
		*events = nil
		result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)})
		must(t, err)
		must(t, c.Get(t.Context(), client.ObjectKeyFromObject(shoot), shoot))
		if got := ptr.Deref(shoot.Spec.Hibernation.Enabled, false); got != moment.asleep {
			t.Errorf("at %s: hibernated %t", moment.at, got)
		}
		if diff := cmp.Diff(moment.events, *events); diff != "" {
			t.Errorf("at %s: events (-want +got):\n%s", moment.at, diff)
		}
		if result.RequeueAfter != moment.again {
			t.Errorf("at %s: comes back after %s, want %s", moment.at, result.RequeueAfter, moment.again)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
