package validation

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

func sortedKeys[V any](values map[string]V) []string { return slices.Sorted(maps.Keys(values)) }

// poolBounds wants room to update: where neither one more nor one less may be, no machine could ever be replaced.
func poolBounds(path *field.Path, worker *gardencorev1beta1.Worker) field.ErrorList {
	surge, unavailable := intstr.FromInt32(1), intstr.FromInt32(0)
	if worker.UpdatesInPlace() {
		surge, unavailable = unavailable, surge
	}
	surge, unavailable = ptr.Deref(worker.MaxSurge, surge), ptr.Deref(worker.MaxUnavailable, unavailable)
	errs := bound(path.Child("maxSurge"), surge)
	errs = append(errs, bound(path.Child("maxUnavailable"), unavailable)...)
	if len(errs) > 0 {
		return errs
	}
	if share := percent(unavailable); share > 100 {
		errs = append(errs,
			field.Invalid(path.Child("maxUnavailable"), unavailable.String(), "must not be more than 100%"))
	}
	if isZero(surge) && isZero(unavailable) {
		errs = append(errs, field.Invalid(path.Child("maxUnavailable"), unavailable.String(),
			"must not be 0 when maxSurge is 0: no machine could ever be replaced"))
	}
	return errs
}

func bound(path *field.Path, value intstr.IntOrString) field.ErrorList {
	if value.Type == intstr.Int {
		return atLeast(path, value.IntVal, 0)
	}
	if _, err := shareOf(value.StrVal); err != nil {
		return field.ErrorList{field.Invalid(path, value.StrVal,
			"must be a number of machines such as 1, or a percentage such as 10%")}
	}
	return nil
}

func isZero(value intstr.IntOrString) bool {
	return value.Type == intstr.Int && value.IntVal == 0 || value.Type == intstr.String && percent(value) == 0
}

// percent is the number of a percentage that can be read; 0 for a number of machines.
func percent(value intstr.IntOrString) int {
	if value.Type == intstr.Int {
		return 0
	}
	share, _ := shareOf(value.StrVal)
	return share
}

// shareOf reads a percentage. One that does not fit into a number of machines is none.
func shareOf(value string) (int, error) {
	if reasons := validation.IsValidPercent(value); len(reasons) > 0 {
		return 0, errors.New(reasons[0])
	}
	share, err := strconv.ParseInt(strings.TrimSuffix(value, "%"), 10, 32)
	return int(share), err
}

var updateStrategies = []gardencorev1beta1.MachineUpdateStrategy{
	gardencorev1beta1.AutoRollingUpdate, gardencorev1beta1.AutoInPlaceUpdate, gardencorev1beta1.ManualInPlaceUpdate,
}

func poolUpdate(path *field.Path, worker *gardencorev1beta1.Worker) field.ErrorList {
	if worker.UpdateStrategy == nil {
		return nil
	}
	return oneOf(path.Child("updateStrategy"), *worker.UpdateStrategy, updateStrategies)
}

// machineSettings are those of the machine controller. Of a time that is over before it begins, every machine would be
// given up at once.
func machineSettings(path *field.Path, worker *gardencorev1beta1.Worker) field.ErrorList {
	settings := worker.MachineControllerManagerSettings
	if settings == nil {
		return nil
	}
	at := path.Child("machineControllerManager")
	errs := notNegative(at.Child("machineDrainTimeout"), settings.MachineDrainTimeout)
	errs = append(errs, positive(at.Child("machineHealthTimeout"), settings.MachineHealthTimeout)...)
	errs = append(errs, positive(at.Child("machineCreationTimeout"), settings.MachineCreationTimeout)...)
	errs = append(errs, positive(at.Child("inPlaceUpdateTimeout"), settings.MachineInPlaceUpdateTimeout)...)
	if settings.MaxEvictRetries != nil {
		errs = append(errs, atLeast(at.Child("maxEvictRetries"), *settings.MaxEvictRetries, 0)...)
	}
	conditions := seen{}
	for i, condition := range settings.NodeConditions {
		where := at.Child("nodeConditions").Index(i)
		errs = append(errs, conditions.once(where, condition)...)
		if strings.Contains(condition, ",") {
			errs = append(errs, field.Invalid(where, condition, "must be the type of one condition, without a comma"))
		}
	}
	return errs
}

// poolVolumes wants unique names, and sizes above 0.
func poolVolumes(path *field.Path, worker *gardencorev1beta1.Worker) field.ErrorList {
	var errs field.ErrorList
	if worker.Volume != nil {
		_, wrong := size(path.Child("volume", "size"), worker.Volume.VolumeSize)
		errs = append(errs, wrong...)
		if worker.Volume.Name != nil {
			errs = append(errs, label(path.Child("volume", "name"), *worker.Volume.Name)...)
		}
	}
	names := seen{}
	for i, volume := range worker.DataVolumes {
		at := path.Child("dataVolumes").Index(i)
		errs = append(errs, label(at.Child("name"), volume.Name)...)
		errs = append(errs, names.once(at.Child("name"), volume.Name)...)
		_, wrong := size(at.Child("size"), volume.VolumeSize)
		errs = append(errs, wrong...)
	}
	if name := worker.KubeletDataVolumeName; name != nil && !names[*name] {
		errs = append(errs, field.Invalid(path.Child("kubeletDataVolumeName"), *name,
			"must be the name of one of the pool's dataVolumes"))
	}
	return errs
}
