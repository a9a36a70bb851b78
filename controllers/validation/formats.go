package validation

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// invalid makes an error of each reason.
func invalid(path *field.Path, value string, reasons []string) field.ErrorList {
	var errs field.ErrorList
	for _, reason := range reasons {
		errs = append(errs, field.Invalid(path, value, reason))
	}
	return errs
}

// label wants the name of a namespace, or a part of one.
func label(path *field.Path, value string) field.ErrorList {
	return invalid(path, value, validation.IsDNS1123Label(value))
}

// subdomain wants the name of an object.
func subdomain(path *field.Path, value string) field.ErrorList {
	return invalid(path, value, validation.IsDNS1123Subdomain(value))
}

// qualified wants the key of a label, an annotation or a taint.
func qualified(path *field.Path, value string) field.ErrorList {
	return invalid(path, value, validation.IsQualifiedName(value))
}

// labelValue wants the value of a label or a taint.
func labelValue(path *field.Path, value string) field.ErrorList {
	return invalid(path, value, validation.IsValidLabelValue(value))
}

// filled wants any text but none.
func filled(path *field.Path, value, why string) field.ErrorList {
	if value != "" {
		return nil
	}
	return field.ErrorList{field.Required(path, why)}
}

// oneOf wants one of the values.
func oneOf[T ~string](path *field.Path, value T, known []T) field.ErrorList {
	if slices.Contains(known, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, known)}
}

// atLeast wants a number that is not too small.
func atLeast[T cmp.Ordered](path *field.Path, value, least T) field.ErrorList {
	if value >= least {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, fmt.Sprintf("must be at least %v", least))}
}

// positive wants a duration that takes time: after none a controller would give up before it has begun.
func positive(path *field.Path, value *metav1.Duration) field.ErrorList {
	if value == nil || value.Duration > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value.Duration.String(), "must be longer than 0s, for example 10m")}
}

// notNegative wants a duration of 0 or more.
func notNegative(path *field.Path, value *metav1.Duration) field.ErrorList {
	if value == nil || value.Duration >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value.Duration.String(), "must not be less than 0s")}
}

// within wants a duration between two others, or zero for never.
func within(path *field.Path, value *metav1.Duration, least, most time.Duration) field.ErrorList {
	if value == nil || value.Duration == 0 || value.Duration >= least && value.Duration <= most {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value.Duration.String(),
		fmt.Sprintf("must be between %v and %v, or 0s for never", least, most))}
}

// amount wants a quantity of 0 or more.
func amount(path *field.Path, value *resource.Quantity) field.ErrorList {
	if value == nil || value.Sign() >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value.String(), "must not be less than 0")}
}

// size is a quantity above 0 that is written as a string.
func size(path *field.Path, value string) (*resource.Quantity, field.ErrorList) {
	quantity, err := resource.ParseQuantity(value)
	if err != nil || quantity.Sign() <= 0 {
		return nil, field.ErrorList{field.Invalid(path, value, "must be a quantity above 0, for example 50Gi")}
	}
	return &quantity, nil
}

// seen are values that a list has already.
type seen map[string]bool

// once wants a value that is there, and was not there before.
func (s seen) once(path *field.Path, value string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "must not be empty")}
	}
	if s[value] {
		return field.ErrorList{field.Duplicate(path, value)}
	}
	s[value] = true
	return nil
}

// seedSelector wants a selector that can be evaluated: one that cannot fits no seed.
func seedSelector(path *field.Path, selector *gardencorev1beta1.SeedSelector) field.ErrorList {
	errs := metav1validation.ValidateLabelSelector(&selector.LabelSelector,
		metav1validation.LabelSelectorValidationOptions{}, path)
	types := seen{}
	for i, kind := range selector.ProviderTypes {
		errs = append(errs, types.once(path.Child("providerTypes").Index(i), kind)...)
	}
	return errs
}
