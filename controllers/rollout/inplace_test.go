package rollout_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/rollout"
)

func TestValidateInPlace(t *testing.T) {
	t.Parallel()
	const cannot = ": Forbidden: cannot be changed for a worker pool that is updated in place"
	for _, c := range []struct {
		name   string
		change func(*gardencorev1beta1.Shoot, *gardencorev1beta1.Worker)
		want   []string // of a pool that is updated in place; the same change of one that rolls is no matter
	}{
		{"numbers and labels", func(_ *gardencorev1beta1.Shoot, w *gardencorev1beta1.Worker) {
			w.Maximum, w.Labels = 9, map[string]string{"a": "b"}
		}, nil},
		{"to manual updates", func(_ *gardencorev1beta1.Shoot, w *gardencorev1beta1.Worker) {
			w.UpdateStrategy = ptr.To(gardencorev1beta1.ManualInPlaceUpdate)
		}, nil},
		{"versions up", func(s *gardencorev1beta1.Shoot, w *gardencorev1beta1.Worker) {
			s.Spec.Kubernetes.Version, w.Machine.Image.Version = "1.34.0", ptr.To("1.0.1")
		}, nil},
		{"everything that only new nodes have", func(s *gardencorev1beta1.Shoot, w *gardencorev1beta1.Worker) {
			w.Machine.Type, w.Machine.Image.Name, w.Volume.VolumeSize, w.CRI.Name = "l", "other", "60Gi", "crio"
			w.DataVolumes = []gardencorev1beta1.DataVolume{{Name: "d", VolumeSize: "1Gi"}}
			s.Spec.SystemComponents = &gardencorev1beta1.SystemComponents{NodeLocalDNS: &gardencorev1beta1.NodeLocalDNS{
				Enabled: true}}
		}, []string{
			"spec.provider.workers[0].machine.type" + cannot, "spec.provider.workers[0].machine.image.name" + cannot,
			"spec.provider.workers[0].volume" + cannot,
			"spec.provider.workers[0].dataVolumes" + cannot, "spec.provider.workers[0].cri" + cannot,
			"spec.systemComponents.nodeLocalDNS.enabled: Forbidden: cannot be changed as long as there are worker pools that " +
				"are updated in place",
		}},
		{"image down", func(_ *gardencorev1beta1.Shoot, w *gardencorev1beta1.Worker) {
			w.Machine.Image.Version = ptr.To("0.9.0")
		}, []string{"spec.provider.workers[0].machine.image.version: Forbidden: machine image downgrade is not supported " +
			"for a worker pool that is updated in place, 0.9.0 is lower than 1.0.0"}},
		{"another pool", func(_ *gardencorev1beta1.Shoot, w *gardencorev1beta1.Worker) {
			w.Name, w.Machine.Type = "b", "l"
		}, nil},
	} {
		for strategy, want := range map[gardencorev1beta1.MachineUpdateStrategy][]string{
			gardencorev1beta1.AutoInPlaceUpdate: c.want, gardencorev1beta1.AutoRollingUpdate: nil} {
			if strategy == gardencorev1beta1.AutoRollingUpdate && c.name == "to manual updates" {
				want = []string{"spec.provider.workers[0].updateStrategy: Forbidden: cannot be changed from AutoRollingUpdate " +
					"to ManualInPlaceUpdate"}
			}
			before, after := shoot(strategy), shoot(strategy)
			c.change(after, &after.Spec.Provider.Workers[0])
			if diff := cmp.Diff(want, errorsOf(after, before)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", c.name, strategy, diff)
			}
		}
	}
}

func errorsOf(shoot, old *gardencorev1beta1.Shoot) []string {
	var all []string
	for _, err := range rollout.ValidateInPlace(shoot, old) {
		all = append(all, err.Error())
	}
	return all
}

func TestNothingChangesWhileAnInPlaceUpdateIsPending(t *testing.T) {
	t.Parallel()
	old := shoot(gardencorev1beta1.ManualInPlaceUpdate)
	old.Status.InPlaceUpdates = &gardencorev1beta1.InPlaceUpdatesStatus{
		PendingWorkerUpdates: &gardencorev1beta1.PendingWorkerUpdates{ManualInPlaceUpdate: []string{"a"}}}
	next := old.DeepCopy()
	next.Spec.Kubernetes.Version = "1.33.9"
	next.Spec.Provider.Workers[0].Maximum = 5
	if got := errorsOf(next, old); got != nil {
		t.Errorf("nothing that needs an update has changed: %v", got)
	}
	next.Spec.Kubernetes.Version = "1.34.0"
	want := []string{"spec.provider.workers[0]: Forbidden: spec.kubernetes.version cannot be changed from 1.33 to 1.34 " +
		"as long as the in-place update of the pool is going on; annotate the shoot with " +
		"gardener.cloud/operation=force-in-place-update to do so nevertheless"}
	if diff := cmp.Diff(want, errorsOf(next, old)); diff != "" {
		t.Error(diff)
	}
	next.Annotations = map[string]string{constants.GardenerOperation: "reconcile; force-in-place-update"}
	if got := errorsOf(next, old); got != nil {
		t.Errorf("it is forced: %v", got)
	}
}
