// Package reference is what all parts of the reference provider share: its type, the form of its documents, and how it
// writes objects into a seed. It knows no kind of extension, and calls no cloud.
package reference

import (
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Type is the provider type whose objects the reference provider looks after.
const Type = "transplant"

// APIVersion is that of the provider's own documents: configurations, states and statuses.
const APIVersion = "transplant.provider.extensions.gardener.cloud/v1alpha1"

// Encode makes a raw document; the provider's own types always marshal.
func Encode(document any) *runtime.RawExtension {
	data, err := json.Marshal(document)
	if err != nil {
		panic(fmt.Sprintf("reference: marshal %T: %v", document, err))
	}
	return &runtime.RawExtension{Raw: data}
}

// Decode reads a raw document into a value of the provider's own types; an absent one leaves the value as it is.
func Decode(raw *runtime.RawExtension, into any) error {
	if raw == nil || len(raw.Raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw.Raw, into); err != nil {
		return fmt.Errorf("decode %T: %w", into, err)
	}
	return nil
}

// SetCondition puts a condition into a list, with the times that follow from what was there. It says whether that
// changes anything: a condition that is the same stays as it is.
func SetCondition(conditions []gardencorev1beta1.Condition, wanted gardencorev1beta1.Condition,
	now metav1.Time) ([]gardencorev1beta1.Condition, bool) {
	wanted.LastTransitionTime, wanted.LastUpdateTime = now, now
	conditions = slices.Clone(conditions)
	i := slices.IndexFunc(conditions, func(c gardencorev1beta1.Condition) bool { return c.Type == wanted.Type })
	if i < 0 {
		return append(conditions, wanted), true
	}
	if have := conditions[i]; have.Status == wanted.Status {
		if have.Reason == wanted.Reason && have.Message == wanted.Message {
			return conditions, false
		}
		wanted.LastTransitionTime = have.LastTransitionTime
	}
	conditions[i] = wanted
	return conditions, true
}
