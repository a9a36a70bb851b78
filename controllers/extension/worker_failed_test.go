package extension

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/cloudtest"
)

// The Worker's error names each machine that the cloud refuses, with codes; what passes by itself is waited for.
func TestWorker_MachinesThatFail_AreNamedWithTheirCodes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code  cloud.Code
		text  string
		codes []gardencorev1beta1.ErrorCode
	}{
		"quota": {cloud.CodeQuotaExceeded, "MachineLimitExceeded: Quota exceeded: 1 machine",
			[]gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorInfraQuotaExceeded}},
		"depleted": {cloud.CodeDepleted, "InsufficientInstanceCapacity: no sufficient capacity",
			[]gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorInfraResourcesDepleted}},
		"the cloud's fault": {cloud.CodeInternal, "InternalError: internal server error", nil},
		"throttled":         {cloud.CodeRateLimited, "RequestLimitExceeded: too many requests", nil},
		"superseded":        {cloud.CodeStaleEpoch, "StaleEpoch: forbidden", nil},
		"not the cloud's":   {"", "read MachineClass: forbidden: exceeded quota", nil},
		"no code":           {cloud.CodeNotFound, "it is not there", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := workerObject()
			b := newBench(t, "a", cloudtest.NewLandscape(t), 1)
			b.create(o)
			b.annotate(o, "reconcile")
			for len(machineDeployments(t, b)) == 0 {
				if _, err := b.once(o); err != nil {
					t.Fatal(err)
				}
			}
			d := &machineDeployments(t, b)[0]
			before := d.DeepCopy()
			d.Status.ObservedGeneration = d.Generation
			d.Status.FailedMachines = []*machinev1alpha1.MachineSummary{{
				Name: "m-1",
				LastOperation: machinev1alpha1.LastOperation{State: machinev1alpha1.MachineStateFailed, Description: test.text,
					ErrorCode: string(test.code)},
			}}
			if err := b.base.Status().Patch(t.Context(), d, client.MergeFrom(before)); err != nil {
				t.Fatal(err)
			}
			_, err := b.once(o)
			b.get(o)
			if test.codes == nil {
				if err != nil || o.Status.LastError != nil {
					t.Errorf("it does not wait: %v, %+v", err, o.Status.LastError)
				}
				return
			}
			if o.Status.LastError == nil {
				t.Fatalf("no last error; the reconciler said %v", err)
			}
			if diff := cmp.Diff(test.codes, o.Status.LastError.Codes); diff != "" {
				t.Errorf("codes of %q (-want +got): %s", o.Status.LastError.Description, diff)
			}
		})
	}
}
