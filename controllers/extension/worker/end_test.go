package worker

import (
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/transplant-sim/transplant/api/cloud"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
)

// A machine that the cloud has refused to make, and that is to end, is no reason why its shoot cannot be deleted.
func TestWaitForEnds_MachineNeverMade_IsWaitedFor(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := errors.Join(machinev1alpha1.AddToScheme(scheme), appsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	m := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: "m",
		Finalizers: []string{"machine.sapcloud.io/machine-controller"}, DeletionTimestamp: &metav1.Time{Time: time.Now()}}}
	m.Status.LastOperation = machinev1alpha1.LastOperation{
		Type: machinev1alpha1.MachineOperationCreate, State: machinev1alpha1.MachineStateFailed,
		ErrorCode: string(cloud.CodeQuotaExceeded), Description: "VcpuLimitExceeded: you have requested more",
	}
	seed := fake.NewClientBuilder().WithScheme(scheme).WithObjects(m).Build()
	err := (&Provider{Seed: seed}).waitForEnds(t.Context(), m.Namespace, "the end")
	if _, waits := errors.AsType[*contract.Pending](err); !waits {
		t.Errorf("got %v, want that it waits", err)
	}
}
