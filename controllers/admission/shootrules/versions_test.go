package shootrules

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/admission/admissiontest"
)

func inPlaceUpdated(worker *gardencorev1beta1.Worker) {
	worker.UpdateStrategy = ptr.To(gardencorev1beta1.AutoInPlaceUpdate)
}

// worker is the first worker pool on the wire.
func worker(shoot map[string]any) map[string]any {
	return admissiontest.In(shoot, "spec", "provider")["workers"].([]any)[0].(map[string]any)
}

func kubernetes(version string) func(map[string]any) {
	return func(shoot map[string]any) { admissiontest.In(shoot, "spec", "kubernetes")["version"] = version }
}

func TestVersionsOfShoots(t *testing.T) {
	t.Parallel()
	testRules(t, []ruleCase{
		{name: "the next minor", old: admissiontest.Pool("1.35.0", "1.1.0", nil), wire: kubernetes("1.36.3")},
		{
			name: "a minor is skipped", old: admissiontest.Pool("1.34.2", "1.1.0", nil), wire: kubernetes("1.36.3"),
			want: []string{"spec.kubernetes.version: Forbidden: Kubernetes version upgrade cannot skip a minor version, from " +
				"1.34.2 go to 1.35 first"},
		},
		{
			name: "created with an expired version", create: true, wire: kubernetes("1.34.1"),
			want: []string{"spec.kubernetes.version: Forbidden: Kubernetes version 1.34.1 has expired"},
		},
		{
			name: "no version", create: true, wire: kubernetes("newest"),
			want: []string{`spec.kubernetes.version: Invalid value: "newest": must be a semantic version, for example 1.34.2`},
		},
		{
			name: "a pool gets ahead", old: admissiontest.Pool("1.35.0", "1.1.0", nil),
			wire: func(shoot map[string]any) { admissiontest.In(worker(shoot), "kubernetes")["version"] = "1.36.3" },
			want: []string{"spec.provider.workers[0].kubernetes.version: Forbidden: worker pool version 1.36.3 must not be " +
				"higher than the control plane's, which is 1.35.0"},
		},
		{
			name: "an image that is not offered", old: admissiontest.Pool("1.35.0", "1.1.0", nil),
			wire: func(shoot map[string]any) { admissiontest.In(worker(shoot), "machine", "image")["version"] = "7.0.0" },
			want: []string{`spec.provider.workers[0].machine.image.version: Unsupported value: "7.0.0": supported values: ` +
				`"1.1.0", "1.2.0"`},
		},
		{
			name: "what was expired before is not asked about", old: admissiontest.Pool("1.34.1", "1.0.0", nil),
			wire: func(shoot map[string]any) { worker(shoot)["maximum"] = 9 },
		},
		{
			name: "the profile is gone when nothing of it is asked", old: admissiontest.Pool("1.34.1", "1.0.0", nil),
			garden: func(g *garden) { g.profile = nil },
			wire:   func(shoot map[string]any) { admissiontest.In(shoot, "spec")["purpose"] = "testing" },
		},
		{
			name: "no profile", create: true, garden: func(g *garden) { g.profile = nil },
			want: []string{"spec.cloudProfile.name: Required value: " +
				"must name the CloudProfile that offers the shoot's versions"},
		},
		{
			name: "nobody is kept from deleting", wire: kubernetes("1.0.0"),
			old: func(shoot *gardencorev1beta1.Shoot) { shoot.DeletionTimestamp = &metav1.Time{Time: admissiontest.Now} },
		},
		{
			name: "a pool that is updated in place keeps its machines",
			old:  admissiontest.Pool("1.35.0", "1.1.0", inPlaceUpdated),
			wire: func(shoot map[string]any) { admissiontest.In(worker(shoot), "machine")["type"] = "large" },
			want: []string{"spec.provider.workers[0].machine.type: Forbidden: cannot be changed for a worker pool that is " +
				"updated in place"},
		},
		{
			name: "in place or not is decided once", old: admissiontest.Pool("1.35.0", "1.1.0", inPlaceUpdated),
			wire: func(shoot map[string]any) { worker(shoot)["updateStrategy"] = "AutoRollingUpdate" },
			want: []string{"spec.provider.workers[0].updateStrategy: Forbidden: cannot be changed from AutoInPlaceUpdate to " +
				"AutoRollingUpdate"},
		},
		{
			name: "in place where that is not enabled", create: true, garden: func(g *garden) { g.inPlaceUpdates = false },
			wire: func(shoot map[string]any) { worker(shoot)["updateStrategy"] = "ManualInPlaceUpdate" },
			want: []string{`spec.provider.workers[0].updateStrategy: Unsupported value: "ManualInPlaceUpdate": supported ` +
				`values: "AutoRollingUpdate"`},
		},
		{
			name: "in place where that is enabled", create: true, garden: func(g *garden) { g.inPlaceUpdates = true },
			wire: func(shoot map[string]any) { worker(shoot)["updateStrategy"] = "ManualInPlaceUpdate" },
		},
		{
			name: "in place another way", old: admissiontest.Pool("1.35.0", "1.1.0", inPlaceUpdated),
			wire: func(shoot map[string]any) { worker(shoot)["updateStrategy"] = "ManualInPlaceUpdate" },
		},
	})
}

func TestTimeWindow(t *testing.T) {
	t.Parallel()
	window := func(begin, end string) func(map[string]any) {
		return func(shoot map[string]any) {
			admissiontest.In(shoot, "spec", "maintenance")["timeWindow"] = map[string]any{"begin": begin, "end": end}
		}
	}
	testRules(t, []ruleCase{
		{name: "over midnight", wire: window("233000+0000", "010000+0000")},
		{name: "as short as can be", wire: window("220000+0100", "213000+0000")},
		{
			name: "too long", wire: window("220000+0000", "050000+0000"),
			want: []string{`spec.maintenance.timeWindow: Invalid value: "220000+0000 to 050000+0000": must be between 30m0s ` +
				`and 6h0m0s long, and is 7h0m0s`},
		},
		{
			name: "unreadable", wire: window("22:00", "050000+0000"),
			want: []string{`spec.maintenance.timeWindow.begin: Invalid value: "22:00": must be a time of the form ` +
				`HHMMSS+ZZZZ, for example 220000+0100`},
		},
		{
			name: "one that was there before",
			wire: func(shoot map[string]any) { admissiontest.In(shoot, "spec")["purpose"] = "testing" },
			old: func(shoot *gardencorev1beta1.Shoot) {
				shoot.Spec.Maintenance = &gardencorev1beta1.Maintenance{TimeWindow: &gardencorev1beta1.MaintenanceTimeWindow{
					Begin: "x", End: "y"}}
			},
		},
	})
}
