package validation

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// cpuManagerPolicies are those of the kubelet.
var cpuManagerPolicies = []string{"none", "static"}

// kubelet checks those settings by which nodes roll (docs/specification/versions.md#spec-4-8). Nothing here acts on the
// others.
func kubelet(path *field.Path, config *gardencorev1beta1.KubeletConfig) field.ErrorList {
	var errs field.ErrorList
	if config.CPUManagerPolicy != nil {
		errs = append(errs, oneOf(path.Child("cpuManagerPolicy"), *config.CPUManagerPolicy, cpuManagerPolicies)...)
	}
	if hard := config.EvictionHard; hard != nil {
		errs = append(errs, thresholds(path.Child("evictionHard"), hard)...)
	}
	errs = append(errs, reserved(path.Child("kubeReserved"), config.KubeReserved)...)
	return append(errs, reserved(path.Child("systemReserved"), config.SystemReserved)...)
}

func reserved(path *field.Path, wanted *gardencorev1beta1.KubeletConfigReserved) field.ErrorList {
	if wanted == nil {
		return nil
	}
	errs := amount(path.Child("cpu"), wanted.CPU)
	errs = append(errs, amount(path.Child("memory"), wanted.Memory)...)
	errs = append(errs, amount(path.Child("ephemeralStorage"), wanted.EphemeralStorage)...)
	return append(errs, amount(path.Child("pid"), wanted.PID)...)
}

func thresholds(path *field.Path, wanted *gardencorev1beta1.KubeletConfigEviction) field.ErrorList {
	var errs field.ErrorList
	for _, one := range []struct {
		name  string
		value *string
	}{
		{"imageFSAvailable", wanted.ImageFSAvailable}, {"imageFSInodesFree", wanted.ImageFSInodesFree},
		{"memoryAvailable", wanted.MemoryAvailable}, {"nodeFSAvailable", wanted.NodeFSAvailable},
		{"nodeFSInodesFree", wanted.NodeFSInodesFree},
	} {
		if one.value != nil {
			errs = append(errs, threshold(path.Child(one.name), *one.value)...)
		}
	}
	return errs
}

// threshold wants a quantity, or a share of what there is.
func threshold(path *field.Path, value string) field.ErrorList {
	if share, err := shareOf(value); err == nil {
		if share <= 100 {
			return nil
		}
		return field.ErrorList{field.Invalid(path, value, "must not be more than 100%")}
	}
	if quantity, err := resource.ParseQuantity(value); err == nil && quantity.Sign() >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, "must be a quantity such as 100Mi, or a percentage such as 5%")}
}
