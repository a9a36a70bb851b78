package v1beta1_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/jsonloss"
)

// strictly decodes as a client does, and says which fields the type does not have.
func strictly(t *testing.T, data []byte, into any) {
	t.Helper()
	unknown, err := kjson.UnmarshalStrict(data, into)
	if err != nil {
		t.Fatalf("decode: %v", err)
	}
	for _, err := range unknown {
		t.Errorf("not modelled: %v", err)
	}
}

// The file was written by Gardener's own implementation; the same must come out again, neither less nor more.
func TestOracleShootStateRoundTrip(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/shootstate.json")
	if err != nil {
		t.Fatal(err)
	}
	state := &gardencorev1beta1.ShootState{}
	strictly(t, data, state)

	written, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	for text, value := range map[string]*any{string(data): &want, string(written): &got} {
		if err := json.Unmarshal([]byte(text), value); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the ShootState has changed (-want +got):\n%s", diff)
	}
	if len(state.Spec.Gardener) != 2 || state.Spec.Gardener[1].Type != gardencorev1beta1.DataTypeMachineState {
		t.Errorf("spec.gardener was not understood: %+v", state.Spec.Gardener)
	}
}

// The objects were written by Gardener's own implementation, defaults included; together they have every field of the
// recorded cases.
func TestOracleObjectsRoundTrip(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/objects.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := gardencorev1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	lines, seen := bufio.NewScanner(unzipped), map[string]int{}
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		kind := "CloudProfile"
		if strings.Contains(lines.Text(), `"kind":"Shoot"`) {
			kind = "Shoot"
		}
		seen[kind]++
		object, err := scheme.New(gardencorev1beta1.SchemeGroupVersion.WithKind(kind))
		if err != nil {
			t.Fatal(err)
		}
		strictly(t, lines.Bytes(), object)
		lost, err := jsonloss.Between(json.RawMessage(lines.Bytes()), object)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range lost {
			t.Errorf("%s lost %s", kind, path)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if seen["Shoot"] == 0 || seen["CloudProfile"] == 0 {
		t.Errorf("the test has seen too little: %v", seen)
	}
}

// RFC 7386 patches replace lists as a whole, so types of list items must not lose anything that Gardener has.
func TestUnknownFieldIsSeen(t *testing.T) {
	t.Parallel()
	unknown, err := kjson.UnmarshalStrict([]byte(`{"spec":{"provider":{"workers":[{"nowhere":1}]}}}`),
		&gardencorev1beta1.Shoot{})
	if err != nil {
		t.Fatal(err)
	}
	if len(unknown) != 1 || !strings.Contains(unknown[0].Error(), `unknown field "spec.provider.workers[0].nowhere"`) {
		t.Errorf("the tests of this file would not see a lost field: %v", unknown)
	}
}
