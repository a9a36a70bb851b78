package shootrules

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/admission/defaults"
)

// Request is what somebody wants to do to a Shoot. Both sides have their defaults: it is no change when an older object
// gets them.
type Request struct {
	operation admissionv1.Operation
	// Old is nil on CREATE, Shoot on DELETE.
	Old, Shoot *gardencorev1beta1.Shoot
	// oldWire and wire are as on the wire, with fields that the types do not have; oldSpec and spec are a part of them.
	oldWire, wire, oldSpec, spec map[string]any
	// deletion are the options of a DELETE.
	deletion metav1.DeleteOptions
}

// rule judges a request. It may look at those parts of the garden that Validator.look reads for it.
type rule func(r *Request, g *garden) field.ErrorList

// shootRules are all rules for Shoots, in the order in which their refusals are reported.
func shootRules() []rule {
	return []rule{
		seedNameStays, changeOfSeedNameFits, destinationFits, specLocked,
		hibernationPossible, tolerationsAllowed, domainStays, domainFree, domainServed,
		fieldsValid, versionsFit, inPlaceEnabled, inPlaceHolds,
		deletionConfirmed, deletionNotWhileMoving, deletionNotInForeground, managedSeedKept,
	}
}

// NewRequest reads a request. It fails for what is no shoot.
func NewRequest(raw *admissionv1.AdmissionRequest) (*Request, error) {
	r := &Request{operation: raw.Operation}
	var err error
	if r.Old, r.oldWire, err = decode(raw.OldObject); err != nil {
		return nil, fmt.Errorf("decode the old shoot: %w", err)
	}
	if r.Shoot, r.wire, err = decode(raw.Object); err != nil {
		return nil, fmt.Errorf("decode the shoot: %w", err)
	}
	if raw.Operation == admissionv1.Delete && len(raw.Options.Raw) > 0 {
		if err := json.Unmarshal(raw.Options.Raw, &r.deletion); err != nil {
			return nil, fmt.Errorf("decode the options of the deletion: %w", err)
		}
	}
	r.oldSpec, _ = r.oldWire["spec"].(map[string]any)
	r.spec, _ = r.wire["spec"].(map[string]any)
	return r, nil
}

func decode(object runtime.RawExtension) (*gardencorev1beta1.Shoot, map[string]any, error) {
	if len(object.Raw) == 0 {
		return nil, nil, nil
	}
	shoot, wire := &gardencorev1beta1.Shoot{}, map[string]any{}
	if err := json.Unmarshal(object.Raw, shoot); err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(object.Raw, &wire); err != nil {
		return nil, nil, err
	}
	shoot.SetDefaults()
	if err := defaults.Set("Shoot", wire); err != nil {
		return nil, nil, err
	}
	return shoot, wire, nil
}

// seedName and oldSeedName are spec.seedName; empty for none.
func (r *Request) seedName() string {
	if r.Shoot == nil {
		return ""
	}
	return ptr.Deref(r.Shoot.Spec.SeedName, "")
}

func (r *Request) oldSeedName() string {
	if r.Old == nil {
		return ""
	}
	return ptr.Deref(r.Old.Spec.SeedName, "")
}

// binds reports whether the shoot gets a seed, its first or another.
func (r *Request) binds() bool { return r.seedName() != "" && r.seedName() != r.oldSeedName() }

// moves reports whether the shoot gets another seed.
func (r *Request) moves() bool { return r.binds() && r.oldSeedName() != "" }

// source is the seed that holds the control plane of a shoot that moves; empty for none.
func (r *Request) source() string {
	if !r.moves() {
		return ""
	}
	return ptr.Deref(r.Old.Status.SeedName, r.oldSeedName())
}

// forced reports whether the shoot may be taken from a seed that does not answer (docs/ownership.md#spec-9-3).
func (r *Request) forced() bool {
	return r.Shoot != nil && r.Shoot.Annotations[constants.ShootForceRestore] == constants.LabelTrue
}

// inHandOver reports whether the last operation is a migration, or a restore that has not succeeded.
func inHandOver(shoot *gardencorev1beta1.Shoot) bool {
	last := shoot.Status.LastOperation
	return last != nil && (last.Type == gardencorev1beta1.LastOperationTypeMigrate ||
		(last.Type == gardencorev1beta1.LastOperationTypeRestore &&
			last.State != gardencorev1beta1.LastOperationStateSucceeded))
}

// bound reports whether the shoot is bound to another seed than the one that holds it.
func bound(shoot *gardencorev1beta1.Shoot) bool {
	spec, status := shoot.Spec.SeedName, shoot.Status.SeedName
	return spec != nil && status != nil && *spec != *status
}

// operationOf is the last operation in words, for messages.
func operationOf(shoot *gardencorev1beta1.Shoot) string {
	last := shoot.Status.LastOperation
	if last == nil {
		return "there is no status.lastOperation"
	}
	return fmt.Sprintf("status.lastOperation is %s %s", last.Type, last.State)
}
