package run

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
)

type noEvents struct{}

func (noEvents) Event(*gardencorev1beta1.Shoot, string, string, string) {}

// Who is asked to try again and fails for good waits to be asked again, whatever the operation is: a request that stays
// would make the flow run without end.
func TestARequestIsForOneRunOnly(t *testing.T) {
	t.Parallel()
	for request, left := range map[string]string{
		"retry":                       "",
		"reconcile":                   "",
		"retry; rotate-ssh-keypair":   "rotate-ssh-keypair",
		"rotate-ssh-keypair":          "rotate-ssh-keypair",
		"maintain;retry":              "maintain;retry", // maintenance says what becomes of it
		"rotate-ca-start;x;reconcile": "rotate-ca-start;x",
	} {
		t.Run(request, func(t *testing.T) {
			t.Parallel()
			o := begun(t)
			shoot := inGarden(t, o)
			shoot.Annotations = map[string]string{"gardener.cloud/operation": request, "other": "stays"}
			if err := o.Garden.Update(t.Context(), shoot); err != nil {
				t.Fatal(err)
			}
			shoot.Status.UID = "u"
			if err := o.Garden.Status().Update(t.Context(), shoot); err != nil {
				t.Fatal(err)
			}
			o.Shoot, o.WaitInterval = inGarden(t, o), time.Second
			seen := "the work was not done"
			throttled := &errorcodes.Error{Codes: []gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorInfraRateLimitsExceeded},
				Message: "too many requests"}
			metrics, err := NewMetrics(prometheus.NewRegistry())
			if err != nil {
				t.Fatal(err)
			}
			runner := &Runner{Version: "v1", Events: noEvents{}, Periods: Periods{Retry: time.Hour}, Metrics: metrics}
			if err := runner.Run(t.Context(), o.Scope, Flow{Type: gardencorev1beta1.LastOperationTypeMigrate,
				Work: func(context.Context, *Reporter) error {
					seen = inGarden(t, o).Annotations["gardener.cloud/operation"]
					return throttled
				}}); err != nil {
				t.Fatal(err)
			}
			if !metrics.flows.DeleteLabelValues("Migrate", "failed") || testutil.CollectAndCount(metrics.flows) != 0 {
				t.Error("one failed migration was to be measured")
			}
			after := inGarden(t, o)
			if got := after.Annotations["gardener.cloud/operation"]; got != left || seen != left ||
				after.Annotations["other"] != "stays" {
				t.Errorf("the request is %q while it runs, %q after it, want %q", seen, got, left)
			}
			if state := after.Status.LastOperation.State; state != "Failed" || !lifecycle.Stuck(after) {
				t.Errorf("it is %s, stuck: %t", state, lifecycle.Stuck(after))
			}
		})
	}
}

// A forced in-place update is for one change: whoever asks first and changes afterwards finds it there when he changes,
// and gone when that is carried out.
func TestAForcedInPlaceUpdateIsForOneChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		operation     gardencorev1beta1.LastOperationType
		generation    int64
		request, left string
	}{
		"nothing has changed yet":   {"Reconcile", 1, "force-in-place-update", "force-in-place-update"},
		"a change is carried out":   {"Reconcile", 2, "force-in-place-update", ""},
		"beside what others do":     {"Reconcile", 2, "x;force-in-place-update", "x"},
		"and maintenance":           {"Reconcile", 2, "maintain;force-in-place-update", "maintain"},
		"asked for without changes": {"Reconcile", 1, "force-in-place-update;reconcile", "force-in-place-update"},
		"a move updates no nodes":   {"Migrate", 2, "force-in-place-update", "force-in-place-update"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := begun(t)
			shoot := inGarden(t, o)
			shoot.Generation, shoot.Annotations = c.generation, map[string]string{"gardener.cloud/operation": c.request}
			if err := o.Garden.Update(t.Context(), shoot); err != nil {
				t.Fatal(err)
			}
			shoot.Status.UID, shoot.Status.ObservedGeneration = "u", 1
			if err := o.Garden.Status().Update(t.Context(), shoot); err != nil {
				t.Fatal(err)
			}
			o.Shoot, o.WaitInterval = inGarden(t, o), time.Second
			runner := &Runner{Version: "v1", Events: noEvents{}, Periods: Periods{Retry: time.Hour}}
			if err := runner.Run(t.Context(), o.Scope, Flow{Type: c.operation, Work: func(context.Context, *Reporter) error {
				return nil
			}}); err != nil {
				t.Fatal(err)
			}
			if got := inGarden(t, o).Annotations["gardener.cloud/operation"]; got != c.left {
				t.Errorf("left is %q, want %q", got, c.left)
			}
		})
	}
}

// Only who asks for a run does not wait: a request that no run takes off would wake each run by the failure of the
// last.
func TestBackOff(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]time.Duration{
		"": 5 * time.Second, "rotate-ssh-keypair": 5 * time.Second, "maintain": 5 * time.Second,
		"maintain;retry": 5 * time.Second,
		"retry":          0, "x;reconcile": 0,
	} {
		o := begun(t)
		o.WaitInterval = 5 * time.Second
		o.Shoot.Annotations = map[string]string{"gardener.cloud/operation": request}
		o.Shoot.Status.LastOperation.State = "Error"
		if got := o.BackOff(); got != want {
			t.Errorf("%q: %v, want %v", request, got, want)
		}
	}
}
