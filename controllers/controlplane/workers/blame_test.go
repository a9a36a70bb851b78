package workers

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
)

// Nodes that do not join have problematic webhooks for a cause where no other is known.
func TestBlameWebhooks(t *testing.T) {
	t.Parallel()
	late := &scope.TimeoutError{What: "Worker", Timeout: time.Hour, Last: errors.New("1 of 2 nodes are ready")}
	quota := &scope.TimeoutError{What: "Worker",
		Last: &errorcodes.Error{Codes: []gardencorev1beta1.ErrorCode{"ERR_INFRA_QUOTA_EXCEEDED"}}}
	constraint := func(status gardencorev1beta1.ConditionStatus, reason string) gardencorev1beta1.Condition {
		return gardencorev1beta1.Condition{
			Type: "MaintenancePreconditionsSatisfied", Status: status, Reason: reason, Message: "strict is problematic.",
		}
	}
	machine := func(name string, phase machinev1alpha1.MachinePhase, code string, goes bool) client.Object {
		m := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: name}}
		if goes {
			m.Finalizers, m.DeletionTimestamp = []string{"x"}, &metav1.Time{Time: time.Unix(900, 0)}
		}
		m.Status.CurrentStatus.Phase, m.Status.LastOperation.ErrorCode = phase, code
		return m
	}
	joins := []client.Object{machine("a", "Running", "", false), machine("b", "Pending", "", false)}
	for name, c := range map[string]struct {
		err        error
		constraint gardencorev1beta1.Condition
		want       []gardencorev1beta1.ErrorCode
		machines   []client.Object // joins if not given
	}{
		"it has fallen silent": {late, constraint("False", "ProblematicWebhooks"),
			[]gardencorev1beta1.ErrorCode{"ERR_PROBLEMATIC_WEBHOOK"},
			[]client.Object{machine("a", "Unknown", "", false)}},
		"a budget holds a node": {late, constraint("False", "ProblematicWebhooks"), nil,
			[]client.Object{machine("a", "Running", "", false), machine("b", "Terminating", "", true)}},
		"all are nodes, and not all updated": {late, constraint("False", "ProblematicWebhooks"), nil,
			[]client.Object{machine("a", "Running", "", false), machine("b", "Running", "", false)}},
		"the cloud makes no machine": {late, constraint("False", "ProblematicWebhooks"), nil,
			[]client.Object{machine("a", "CrashLoopBackOff", "Internal", false), machine("b", "Failed", "Internal", false)}},
		"problematic": {late, constraint("False", "ProblematicWebhooks"),
			[]gardencorev1beta1.ErrorCode{"ERR_PROBLEMATIC_WEBHOOK"}, nil},
		"remediated":        {late, constraint("False", "RemediatedWebhooks"), nil, nil},
		"none problematic":  {late, constraint("True", "NoProblematicWebhooks"), nil, nil},
		"nobody could look": {late, constraint("Unknown", "ConditionCheckError"), nil, nil},
		"another cause": {quota, constraint("False", "ProblematicWebhooks"),
			[]gardencorev1beta1.ErrorCode{"ERR_INFRA_QUOTA_EXCEEDED"}, nil},
		"time is not up":      {context.Canceled, constraint("False", "ProblematicWebhooks"), nil, nil},
		"the seed is refused": {errors.New("forbidden"), constraint("False", "ProblematicWebhooks"), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := NewWorkers(controlplanetest.Begun(t))
			machines := c.machines
			if machines == nil {
				machines = joins
			}
			o.Seed = fake.NewClientBuilder().WithScheme(controlplanetest.SeedScheme(t)).WithObjects(machines...).Build()
			if err := o.status.Patch(t.Context(), func(status *gardencorev1beta1.ShootStatus) {
				status.Constraints = []gardencorev1beta1.Condition{c.constraint}
			}); err != nil {
				t.Fatal(err)
			}
			err := o.blameWebhooks(t.Context(), c.err)
			if diff := cmp.Diff(c.want, errorcodes.Of(err)); diff != "" || !errors.Is(err, c.err) {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			want := "Worker is not there after 1h0m0s: 1 of 2 nodes are ready; strict is problematic."
			if name == "problematic" && err.Error() != want {
				t.Errorf("%v", err)
			}
		})
	}
}
