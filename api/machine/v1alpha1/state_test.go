package v1alpha1_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	unknown, err := kjson.UnmarshalStrict(data, into)
	if err != nil {
		t.Fatalf("decode: %v", err)
	}
	for _, err := range unknown {
		t.Errorf("not modelled: %v", err)
	}
}

func generic(t *testing.T, data []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// What Gardener's own implementation wrote must come out again, neither less nor more.
func TestOracleMachinesStateRoundTrip(t *testing.T) {
	t.Parallel()
	data := read(t, "testdata/shootstate-machine-state.json")
	state := &machinev1alpha1.MachinesState{}
	decode(t, data, state)

	deployment := state.MachineDeployments["shoot--dev--abc-pool-a-z1"]
	if deployment == nil || deployment.Replicas != 3 || len(deployment.MachineSets) != 1 || len(deployment.Machines) != 3 {
		t.Fatalf("the state was not understood: %+v", deployment)
	}
	written, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(generic(t, data), generic(t, written)); diff != "" {
		t.Errorf("the state has changed (-want +got):\n%s", diff)
	}
}

// The decoded form beside the ShootState is what the entry in it holds.
func TestOracleMachinesStateOfShootState(t *testing.T) {
	t.Parallel()
	shootState := &gardencorev1beta1.ShootState{}
	decode(t, read(t, "testdata/shootstate.json"), shootState)

	var entry struct {
		State []byte `json:"state"`
	}
	for _, data := range shootState.Spec.Gardener {
		if data.Type == gardencorev1beta1.DataTypeMachineState {
			decode(t, data.Data.Raw, &entry)
		}
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(entry.State))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(generic(t, read(t, "testdata/shootstate-machine-state.json")), generic(t, data)); diff != "" {
		t.Errorf("the entry holds something else (-want +got):\n%s", diff)
	}
}
