package workers

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/rollout"
)

// inPlaceShoot has a pool of each strategy, at a version of Kubernetes.
func inPlaceShoot(version string) *gardencorev1beta1.Shoot {
	shoot := &gardencorev1beta1.Shoot{}
	shoot.Spec.Kubernetes.Version = version
	for name, strategy := range map[string]gardencorev1beta1.MachineUpdateStrategy{
		"auto": gardencorev1beta1.AutoInPlaceUpdate, "manual": gardencorev1beta1.ManualInPlaceUpdate,
		"rolls": gardencorev1beta1.AutoRollingUpdate,
	} {
		shoot.Spec.Provider.Workers = append(shoot.Spec.Provider.Workers, gardencorev1beta1.Worker{
			Name: name, UpdateStrategy: ptr.To(strategy),
			Machine: gardencorev1beta1.Machine{Type: "m", Image: &gardencorev1beta1.ShootMachineImage{Name: "os",
				Version: ptr.To("1.0.0")}},
		})
	}
	return shoot
}

// at is what a Worker says of pools that are all at a version of Kubernetes.
func at(t *testing.T, version string, pools ...string) map[string]string {
	t.Helper()
	hashes, shoot := map[string]string{}, inPlaceShoot(version)
	for i := range shoot.Spec.Provider.Workers {
		worker := &shoot.Spec.Provider.Workers[i]
		for _, pool := range pools {
			if worker.Name != pool {
				continue
			}
			hash, err := rollout.InPlaceFingerprint(shoot, worker)
			if err != nil {
				t.Fatal(err)
			}
			hashes[pool] = hash
		}
	}
	return hashes
}

func TestInPlaceAfter(t *testing.T) {
	t.Parallel()
	both := []string{"auto", "manual"}
	for name, c := range map[string]struct {
		before gardencorev1beta1.PendingWorkerUpdates
		wanted string // version of Kubernetes
		said   map[string]string
		ready  bool
		want   gardencorev1beta1.PendingWorkerUpdates
	}{
		"all are at it":           {wanted: "1.35.6", said: at(t, "1.35.6", both...)},
		"a patch updates nothing": {wanted: "1.35.7", said: at(t, "1.35.6", both...)},
		"nobody is at it yet": {wanted: "1.36.3", said: at(t, "1.35.6", both...),
			want: gardencorev1beta1.PendingWorkerUpdates{AutoInPlaceUpdate: []string{"auto"},
				ManualInPlaceUpdate: []string{"manual"}}},
		"the Worker is ready": {wanted: "1.36.3", said: at(t, "1.35.6", both...), ready: true,
			want: gardencorev1beta1.PendingWorkerUpdates{ManualInPlaceUpdate: []string{"manual"}}},
		"the last node was updated": {before: gardencorev1beta1.PendingWorkerUpdates{
			ManualInPlaceUpdate: []string{"manual"}}, wanted: "1.36.3", said: at(t, "1.36.3", both...)},
		"new pools": {wanted: "1.36.3"},
		"after a move, what is known": {before: gardencorev1beta1.PendingWorkerUpdates{
			ManualInPlaceUpdate: []string{"manual"}}, wanted: "1.36.3",
			want: gardencorev1beta1.PendingWorkerUpdates{ManualInPlaceUpdate: []string{"manual"}}},
		"a pool that is gone": {before: gardencorev1beta1.PendingWorkerUpdates{ManualInPlaceUpdate: []string{"gone"}},
			wanted: "1.36.3"},
		"another strategy since": {before: gardencorev1beta1.PendingWorkerUpdates{ManualInPlaceUpdate: []string{"auto"}},
			wanted: "1.36.3", want: gardencorev1beta1.PendingWorkerUpdates{AutoInPlaceUpdate: []string{"auto"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shoot, worker := inPlaceShoot(c.wanted), &extensionsv1alpha1.Worker{}
			shoot.Status.InPlaceUpdates = &gardencorev1beta1.InPlaceUpdatesStatus{PendingWorkerUpdates: &c.before}
			if c.said != nil {
				worker.Status.InPlaceUpdates = &extensionsv1alpha1.InPlaceUpdatesWorkerStatus{WorkerPoolToHashMap: c.said}
			}
			got, err := InPlaceAfter(shoot, worker, c.ready)
			if err != nil {
				t.Fatal(err)
			}
			var want *gardencorev1beta1.InPlaceUpdatesStatus
			if len(c.want.AutoInPlaceUpdate)+len(c.want.ManualInPlaceUpdate) > 0 {
				want = &gardencorev1beta1.InPlaceUpdatesStatus{PendingWorkerUpdates: &c.want}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	unreadable := inPlaceShoot("one")
	if _, err := InPlaceAfter(unreadable, &extensionsv1alpha1.Worker{}, false); err == nil {
		t.Error("a version that cannot be read is no error")
	}
}
