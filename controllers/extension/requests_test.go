package extension

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/cloudtest"
)

// What a restoration asks of the seed. Each object is read once and written four times: finalizer, Processing, Success,
// and the request taken off.
func TestRestore_RequestsToTheSeed_AreThoseThatAreNeeded(t *testing.T) {
	t.Parallel()
	want := map[string][2]int{ // reads, writes
		"DNSRecord":             {1, 4},
		"OperatingSystemConfig": {1, 5},
		"Network":               {1, 6},
		"ContainerRuntime":      {1, 6},
		"ControlPlane":          {2, 8}, // its authority may have come with the shoot
		"Extension":             {2, 6}, // and so may its token
		"Infrastructure":        {2, 4}, // of the Cluster it reads the networks
		"BackupEntry":           {4, 7}, // its credentials, and the epoch on the namespace
		// Two passes: it waits for the machines. There are a class and a deployment for each of two zones.
		"Worker": {23, 13},
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
