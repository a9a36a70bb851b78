package validation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/validation"
	"github.com/transplant-sim/transplant/controllers/validation/ratchet"
)

// refusals are the errors about a pool that its CloudProfile causes.
func refusals(profile gardencorev1beta1.CloudProfileSpec, pools ...gardencorev1beta1.Worker) []string {
	shoot := &gardencorev1beta1.Shoot{Spec: gardencorev1beta1.ShootSpec{Region: "here"}}
	shoot.Spec.Provider.Workers = pools
	profile.Regions = []gardencorev1beta1.Region{{Name: "here"}}
	offers := &gardencorev1beta1.CloudProfile{Spec: profile}
	offers.Name = "profile"
	offers.SetDefaults()
	alone := map[string]bool{}
	for _, err := range validation.Shoot(shoot, validation.Surroundings{}) {
		alone[err.Error()] = true
	}
	var all []string
	for _, err := range validation.Shoot(shoot, validation.Surroundings{Profile: offers}) {
		if !alone[err.Error()] {
			all = append(all, err.Error())
		}
	}
	return all
}

// pool has a machine type of an architecture.
func pool(machineType, architecture string) gardencorev1beta1.Worker {
	return gardencorev1beta1.Worker{
		Name: "pool", Machine: gardencorev1beta1.Machine{Type: machineType, Architecture: &architecture},
	}
}

// A machine type that leaves out a capability has all of its values, as package image has it.
func TestShoot_ArchitectureOfMachineType(t *testing.T) {
	t.Parallel()
	defined := func(values ...string) []gardencorev1beta1.CapabilityDefinition {
		return []gardencorev1beta1.CapabilityDefinition{{Name: "architecture", Values: values}}
	}
	const not = `spec.provider.workers[0].machine.architecture: Invalid value: `
	for _, c := range []struct {
		name         string
		capabilities []gardencorev1beta1.CapabilityDefinition
		machineType  gardencorev1beta1.MachineType
		asked        string
		want         []string
	}{
		{name: "no capabilities, none named", asked: "amd64"},
		{
			name: "no capabilities, another one named", asked: "amd64",
			machineType: gardencorev1beta1.MachineType{Architecture: ptr.To("arm64")},
			want:        []string{not + `"amd64": must be that of machine type "m", which is arm64`},
		},
		{name: "the only one that there is", capabilities: defined("arm64"), asked: "arm64"},
		{
			name: "another than the only one", capabilities: defined("arm64"), asked: "amd64",
			want: []string{not + `"amd64": must be that of machine type "m", which is arm64`},
		},
		{name: "one of several that there are", capabilities: defined("amd64", "arm64"), asked: "arm64"},
		{
			name: "another than the type has", capabilities: defined("amd64", "arm64"), asked: "amd64",
			machineType: gardencorev1beta1.MachineType{
				Capabilities: gardencorev1beta1.Capabilities{"architecture": {"arm64"}},
			},
			want: []string{not + `"amd64": must be that of machine type "m", which is arm64`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.machineType.Name = "m"
			got := refusals(gardencorev1beta1.CloudProfileSpec{
				MachineCapabilities: c.capabilities, MachineTypes: []gardencorev1beta1.MachineType{c.machineType},
			}, pool("m", c.asked))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Where the profile offers nothing of a kind, the message says what to do: there is no list to choose from.
func TestShoot_NothingOffered_SaysToLeaveItOut(t *testing.T) {
	t.Parallel()
	worker := pool("m", "amd64")
	worker.Zones = []string{"here-1"}
	worker.Volume = &gardencorev1beta1.Volume{Type: ptr.To("fast"), VolumeSize: "10Gi"}
	got := refusals(gardencorev1beta1.CloudProfileSpec{MachineTypes: []gardencorev1beta1.MachineType{{Name: "m"}}},
		worker)
	const remedy = `must be left out: CloudProfile "profile" offers none in region here`
	want := []string{
		`spec.provider.workers[0].zones[0]: Invalid value: "here-1": ` + remedy,
		`spec.provider.workers[0].volume.type: Invalid value: "fast": ` + remedy,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The sum of the minimums does not overflow.
func TestShoot_HugeMinimums_AreAboveTheNodeLimit(t *testing.T) {
	t.Parallel()
	const most = 1<<31 - 1
	one, other := pool("m", "amd64"), pool("m", "amd64")
	one.Minimum, one.Maximum, other.Minimum, other.Maximum = most, most, most, most
	got := refusals(gardencorev1beta1.CloudProfileSpec{
		MachineTypes: []gardencorev1beta1.MachineType{{Name: "m"}},
		Limits:       &gardencorev1beta1.Limits{MaxNodesTotal: ptr.To[int32](most)},
	}, one, other)
	want := []string{`spec.provider.workers: Forbidden: all minimums together must not be above 2147483647, ` +
		`the node limit of CloudProfile "profile", and are 4294967294`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The maintenance reads the annotation as Go reads a boolean.
func TestShoot_NeedsRetryOperation_TakesBooleans(t *testing.T) {
	t.Parallel()
	const key = "maintenance.shoot.gardener.cloud/needs-retry-operation"
	for value, accepted := range map[string]bool{"true": true, "1": true, "False": true, "yes": false} {
		shoot := &gardencorev1beta1.Shoot{}
		shoot.Annotations = map[string]string{key: value}
		found := false
		for _, err := range validation.Shoot(shoot, validation.Surroundings{}) {
			found = found || err.Field == "metadata.annotations["+key+"]"
		}
		if found == accepted {
			t.Errorf("%q is refused: %t", value, found)
		}
	}
}

// Who is above the node limit, because it was lowered, may stay there, but not go further.
func TestShoot_AboveNodeLimit_MayNotGrow(t *testing.T) {
	t.Parallel()
	profile := &gardencorev1beta1.CloudProfile{}
	profile.Name, profile.Spec.Regions = "profile", []gardencorev1beta1.Region{{Name: "here"}}
	profile.Spec.MachineTypes = []gardencorev1beta1.MachineType{{Name: "m"}}
	profile.Spec.Limits = &gardencorev1beta1.Limits{MaxNodesTotal: ptr.To[int32](5)}
	judge := func(minimum, maximum int32) (field.ErrorList, map[string]any) {
		worker := pool("m", "amd64")
		worker.Minimum, worker.Maximum = minimum, maximum
		shoot := &gardencorev1beta1.Shoot{Spec: gardencorev1beta1.ShootSpec{Region: "here"}}
		shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{worker}
		wire, err := runtime.DefaultUnstructuredConverter.ToUnstructured(shoot)
		if err != nil {
			t.Fatal(err)
		}
		return validation.Shoot(shoot, validation.Surroundings{Profile: profile}), wire
	}
	before, old := judge(7, 8)
	for _, c := range []struct {
		minimum, maximum int32
		want             []string
	}{
		{7, 8, nil},
		{5, 5, nil},
		{7, 9, []string{"spec.provider.workers[0].maximum"}},
		{8, 8, []string{"spec.provider.workers"}},
	} {
		errs, object := judge(c.minimum, c.maximum)
		var got []string
		for _, err := range ratchet.Added(errs, before, object, old) {
			got = append(got, err.Field)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("from 7 to 8 to %d to %d, refused (-want +got):\n%s", c.minimum, c.maximum, diff)
		}
	}
}
