package run

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

// secondsOf are the times of the rotation; 0 for none.
func secondsOf(shoot *gardencorev1beta1.Shoot) [2]int64 {
	var seconds [2]int64
	if c := shoot.Status.Credentials; c != nil && c.Rotation != nil && c.Rotation.SSHKeypair != nil {
		for i, at := range []*metav1.Time{c.Rotation.SSHKeypair.LastInitiationTime,
			c.Rotation.SSHKeypair.LastCompletionTime} {
			if at != nil {
				seconds[i] = at.Unix()
			}
		}
	}
	return seconds
}

// A rotation is initiated by the run that takes its request off, and complete when a run with it has succeeded.
func TestRotation_Request_IsInitiatedAndCompleted(t *testing.T) {
	t.Parallel()
	const now = 1000 // what the clock of begun says
	errWork := errors.New("no")
	for name, c := range map[string]struct {
		operation    gardencorev1beta1.LastOperationType
		request      string
		noNodes      bool
		before       *gardencorev1beta1.ShootCredentials
		work         error
		left         string
		during, then [2]int64
		warnings     []string
	}{
		"asked for": {operation: "Reconcile", request: "rotate-ssh-keypair", during: [2]int64{now, 0},
			then: [2]int64{now, now}},
		"beside others": {operation: "Reconcile", request: "x;rotate-ssh-keypair;reconcile", left: "x",
			during: [2]int64{now, 0}, then: [2]int64{now, now}},
		"while it is created": {operation: "Create", request: "rotate-ssh-keypair", during: [2]int64{now, 0},
			then: [2]int64{now, now}},
		"again": {operation: "Reconcile", request: "rotate-ssh-keypair", before: controlplanetest.SSHRotated(10, 20),
			during: [2]int64{now, 20}, then: [2]int64{now, now}},
		"in the second of the last": {operation: "Reconcile", request: "rotate-ssh-keypair",
			before: controlplanetest.SSHRotated(10, now),
			during: [2]int64{now + 1, now}, then: [2]int64{now + 1, now + 1}},
		"by a clock that is behind": {operation: "Reconcile", request: "rotate-ssh-keypair",
			before: controlplanetest.SSHRotated(10, now+60),
			during: [2]int64{now + 61, now + 60}, then: [2]int64{now + 61, now + 61}},
		"under way already": {operation: "Reconcile", request: "rotate-ssh-keypair",
			before: controlplanetest.SSHRotated(30, 20),
			during: [2]int64{30, 20}, then: [2]int64{30, now}},
		"the run fails": {operation: "Reconcile", request: "rotate-ssh-keypair", work: errWork,
			during: [2]int64{now, 0}, then: [2]int64{now, 0}},
		"left over by a failed run": {operation: "Reconcile", before: controlplanetest.SSHRotated(30, 20),
			during: [2]int64{30, 20},
			then:   [2]int64{30, now}},
		"nothing asked for": {operation: "Reconcile", before: controlplanetest.SSHRotated(10, 20), during: [2]int64{10, 20},
			then: [2]int64{10, 20}},
		"after maintenance": {operation: "Reconcile", request: "maintain;rotate-ssh-keypair",
			left: "maintain;rotate-ssh-keypair"},
		"after the move":        {operation: "Migrate", request: "rotate-ssh-keypair", left: "rotate-ssh-keypair"},
		"after the restoration": {operation: "Restore", request: "rotate-ssh-keypair", left: "rotate-ssh-keypair"},
		"no nodes": {operation: "Reconcile", request: "rotate-ssh-keypair", noNodes: true,
			warnings: []string{`"rotate-ssh-keypair" is not possible: the shoot has no nodes that can be reached by SSH`}},
		"another rotation": {operation: "Reconcile", request: "rotate-etcd-encryption-key",
			left: "rotate-etcd-encryption-key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := begun(t)
			shoot := inGarden(t, o)
			if !c.noNodes {
				threePools(shoot)
			}
			shoot.Annotations = map[string]string{"gardener.cloud/operation": c.request}
			if err := o.Garden.Update(t.Context(), shoot); err != nil {
				t.Fatal(err)
			}
			shoot.Status.UID, shoot.Status.Credentials = "u", c.before
			if err := o.Garden.Status().Update(t.Context(), shoot); err != nil {
				t.Fatal(err)
			}
			o.Shoot, o.WaitInterval = inGarden(t, o), time.Second
			var seen *gardencorev1beta1.Shoot
			flow := Flow{Type: c.operation, Work: func(context.Context, *Reporter) error {
				seen = inGarden(t, o)
				return c.work
			}}
			if c.operation == "Reconcile" || c.operation == "Create" {
				flow.Finish = func(status *gardencorev1beta1.ShootStatus) {
					RotationsCompleted(status, metav1.NewTime(o.Clock.Now()))
				}
			}
			events := &seenEvents{}
			runner := &Runner{Version: "v1", Events: events, Periods: Periods{Retry: time.Hour}}
			if err := runner.Run(t.Context(), o.Scope, flow); (err != nil) != (c.work != nil) {
				t.Fatal(err)
			}
			if c.work != nil {
				events.warnings = nil // those of the failure
			}
			if diff := cmp.Diff([]any{c.left, c.during, c.then, c.warnings}, []any{
				seen.Annotations["gardener.cloud/operation"], secondsOf(seen), secondsOf(inGarden(t, o)), events.warnings,
			}); diff != "" {
				t.Errorf("annotation, times in the run, times after it, warnings (-want +got):\n%s", diff)
			}
		})
	}
}
