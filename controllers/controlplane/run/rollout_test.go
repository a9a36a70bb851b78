package run

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/rollout"
)

// seenEvents keeps the messages of warnings.
type seenEvents struct{ warnings []string }

func (s *seenEvents) Event(_ *gardencorev1beta1.Shoot, eventType, _, message string) {
	if eventType == "Warning" {
		s.warnings = append(s.warnings, message)
	}
}

// threePools has pools a and b, whose nodes are replaced, and c, whose nodes are updated in place. The certificate
// authorities were rotated without a and c, the service account key without b.
func threePools(shoot *gardencorev1beta1.Shoot) {
	shoot.Spec.Kubernetes.Version = "1.36.3"
	for _, name := range []string{"a", "b", "c"} {
		shoot.Spec.Provider.Workers = append(shoot.Spec.Provider.Workers, gardencorev1beta1.Worker{Name: name})
	}
	shoot.Spec.Provider.Workers[2].UpdateStrategy = ptr.To(gardencorev1beta1.ManualInPlaceUpdate)
}

func rotatedWithout(pools ...string) []gardencorev1beta1.PendingWorkersRollout {
	var pending []gardencorev1beta1.PendingWorkersRollout
	for _, pool := range pools {
		pending = append(pending, gardencorev1beta1.PendingWorkersRollout{Name: pool})
	}
	return pending
}

func namesOf(pending []gardencorev1beta1.PendingWorkersRollout) []string {
	var names []string
	for _, p := range pending {
		names = append(names, p.Name)
	}
	return names
}

// keys are what the keys of the pools' nodes are made of.
func keys(t *testing.T, o *Status) map[string]string {
	t.Helper()
	fingerprints := map[string]string{}
	for _, worker := range o.Shoot.Spec.Provider.Workers {
		of := rollout.Fingerprint
		if worker.UpdatesInPlace() {
			of = rollout.InPlaceFingerprint
		}
		fingerprint, err := of(o.Shoot, &worker)
		if err != nil {
			t.Fatal(err)
		}
		fingerprints[worker.Name] = fingerprint
	}
	return fingerprints
}

// Who asks for pools to be rolled gets new nodes of them, once; and they follow the rotations that they were left out
// of.
func TestWorkersRollOnRequest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		operation gardencorev1beta1.LastOperationType
		request   string
		left      string
		rolling   []string // by request, while the run is under way
		other     []string // pools whose nodes get another key, or another in-place update
		ca, key   []string // still left out of the rotations
		warnings  []string
	}{
		"one pool": {"Reconcile", "rollout-workers=a", "", []string{"a"}, []string{"a"}, []string{"c"},
			[]string{"b"}, nil},
		"all pools": {"Reconcile", "rollout-workers=*", "", []string{"a", "b"}, []string{"a", "b", "c"}, nil,
			nil, nil},
		"several, beside others": {"Reconcile", "x; rollout-workers=b,a;reconcile", "x", []string{"a", "b"},
			[]string{"a", "b"}, []string{"c"}, nil, nil},
		"nodes that are kept": {"Reconcile", "rollout-workers=c", "", nil, []string{"c"}, []string{"a"}, []string{"b"},
			nil},
		"a pool that is not there": {"Reconcile", "rollout-workers=z,b,y", "", []string{"b"}, []string{"b"},
			[]string{"a", "c"}, nil, []string{"The shoot has no worker pool y, z: nothing is rolled for it"}},
		"nothing": {"Reconcile", "rollout-workers=", "", nil, nil, []string{"a", "c"}, []string{"b"}, nil},
		"not yet created": {"Create", "rollout-workers=b", "", []string{"b"}, []string{"b"}, []string{"a", "c"}, nil,
			nil},
		"after the move": {"Migrate", "rollout-workers=a", "rollout-workers=a", nil, nil, []string{"a", "c"},
			[]string{"b"}, nil},
		"after maintenance": {"Reconcile", "maintain;rollout-workers=a", "maintain;rollout-workers=a", nil, nil,
			[]string{"a", "c"}, []string{"b"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := begun(t)
			shoot := inGarden(t, o)
			threePools(shoot)
			shoot.Annotations = map[string]string{"gardener.cloud/operation": c.request}
			if err := o.Garden.Update(t.Context(), shoot); err != nil {
				t.Fatal(err)
			}
			at := metav1.NewTime(time.Unix(500, 0))
			shoot.Status.UID, shoot.Status.Credentials = "u",
				&gardencorev1beta1.ShootCredentials{Rotation: &gardencorev1beta1.ShootCredentialsRotation{
					CertificateAuthorities: &gardencorev1beta1.CARotation{LastInitiationTime: &at,
						PendingWorkersRollouts: rotatedWithout("a", "c")},
					ServiceAccountKey: &gardencorev1beta1.ServiceAccountKeyRotation{LastInitiationTime: &at,
						PendingWorkersRollouts: rotatedWithout("b")},
				}}
			if err := o.Garden.Status().Update(t.Context(), shoot); err != nil {
				t.Fatal(err)
			}
			o.Shoot, o.WaitInterval = inGarden(t, o), time.Second
			before, events := keys(t, o), &seenEvents{}
			run := func() (seen *gardencorev1beta1.Shoot, now map[string]string) {
				runner := &Runner{Version: "v1", Events: events, Periods: Periods{Retry: time.Hour}}
				if err := runner.Run(t.Context(), o.Scope, Flow{Type: c.operation, Finish: RolledOut,
					Work: func(context.Context, *Reporter) error {
						seen, now = inGarden(t, o), keys(t, o)
						return nil
					}}); err != nil {
					t.Fatal(err)
				}
				return seen, now
			}
			seen, during := run()
			var rolling []string
			if seen.Status.ManualWorkerPoolRollout != nil {
				rolling = namesOf(seen.Status.ManualWorkerPoolRollout.PendingWorkersRollouts)
			}
			var other []string
			for _, pool := range []string{"a", "b", "c"} {
				if during[pool] != before[pool] {
					other = append(other, pool)
				}
			}
			rotation := seen.Status.Credentials.Rotation
			if diff := cmp.Diff([]any{c.left, c.rolling, c.other, c.ca, c.key, c.warnings}, []any{
				seen.Annotations["gardener.cloud/operation"], rolling, other,
				namesOf(rotation.CertificateAuthorities.PendingWorkersRollouts),
				namesOf(rotation.ServiceAccountKey.PendingWorkersRollouts), events.warnings,
			}); diff != "" {
				t.Errorf("while it runs (-want +got):\n%s", diff)
			}
			if after := inGarden(t, o); after.Status.ManualWorkerPoolRollout != nil {
				t.Errorf("rolling for ever: %v", after.Status.ManualWorkerPoolRollout)
			}
			o.Shoot = inGarden(t, o)
			if _, later := run(); !cmp.Equal(during, later) {
				t.Errorf("the next run rolls again (-then +now):\n%s", cmp.Diff(during, later))
			}
		})
	}
}
