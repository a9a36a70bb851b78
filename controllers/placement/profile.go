package placement

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// profileKind is the kind of profile that this garden has.
const profileKind = "CloudProfile"

// ProfileOf is the name of the shoot's CloudProfile and the field that has it; an empty name for none. The error
// names a kind of profile that does not exist here.
func ProfileOf(shoot *gardencorev1beta1.Shoot) (name string, path *field.Path, err *field.Error) {
	reference := shoot.Spec.CloudProfile
	if reference == nil {
		return ptr.Deref(shoot.Spec.CloudProfileName, ""), field.NewPath("spec", "cloudProfileName"), nil
	}
	path = field.NewPath("spec", "cloudProfile")
	if reference.Kind != "" && reference.Kind != profileKind {
		return "", path, field.NotSupported(path.Child("kind"), reference.Kind, []string{profileKind})
	}
	return reference.Name, path.Child("name"), nil
}
