package extension

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/cloudtest"
)

// What a restoration asks of the seed. Each object is written four times: finalizer, Processing, Success, and
// the request taken off. It is read before only if its Secret has the finalizer, too, and when it is looked at again.
func TestRestore_RequestsToTheSeed_AreThoseThatAreNeeded(t *testing.T) {
	t.Parallel()
	want := map[string][2]int{ // reads, writes
		"DNSRecord":             {0, 4},
		"OperatingSystemConfig": {0, 5},
		"Network":               {0, 6},
		"ContainerRuntime":      {0, 6},
		"ControlPlane":          {1, 8}, // its authority may have come with the shoot
		"Extension":             {1, 6}, // and so may its token
		"Infrastructure":        {1, 4}, // of the Cluster it reads the networks
		"BackupEntry":           {3, 7}, // its credentials, and the epoch on the namespace
		// Two passes: it waits for the machines. There are a class and a deployment for each of two zones.
		"Worker": {20, 13},
	}
	eachKind(t, func(t *testing.T, fresh func() extensionsv1alpha1.Object) {
		o := fresh()
		b, there := moved(t, reconciled(t, cloudtest.NewLandscape(t), o), o, fresh)
		before := b.reads
		writes, _ := touched(b, func() { b.ask(there, "restore") })
		kind := strings.TrimPrefix(typeName(o), "*v1alpha1.")
		if diff := cmp.Diff(want[kind], [2]int{b.reads - before, len(writes)}); diff != "" {
			t.Errorf("reads and writes (-want +got):\n%s", diff)
		}
	})
}

// A Worker that waits for its machines asks for nothing when an event says nothing of them.
func TestWorker_MachinesStillLack_EventsAskForNothing(t *testing.T) {
	t.Parallel()
	o := workerObject()
	b := newBench(t, "a", cloudtest.NewLandscape(t), 1)
	b.create(o)
	b.annotate(o, "reconcile")
	reconciler := b.reconciler(o)
	look := func() int {
		t.Helper()
		before := b.reads
		if _, err := reconciler.Reconcile(t.Context(),
			reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}); err != nil {
			t.Fatal(err)
		}
		return b.reads - before
	}
	if look() == 0 {
		t.Fatal("the Worker is not looked at")
	}
	b.clock.Step(time.Second)
	if reads := look(); reads > 0 {
		t.Errorf("%d reads for an event that says nothing of the machines", reads)
	}
	b.clock.Step(time.Second)
	if reads := look(); reads != 2 {
		t.Errorf("%d reads after the pause without any event, want the Worker and a MachineDeployment", reads)
	}
	b.clock.Step(2 * time.Second)
	if reads := look(); reads <= 2 {
		t.Errorf("%d reads after two pauses without any event", reads)
	}
	b.machineController()
	// The Worker, its Cluster, the deployments of both zones, and what no pool wants any more: the rest of the action.
	if reads := look(); reads != 6 {
		t.Errorf("%d reads when the machines are there", reads)
	}
	if b.get(o); last(o) != "Create/Succeeded/100" {
		t.Errorf("the machines are there, and the last operation is %s", last(o))
	}
}
