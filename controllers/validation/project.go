package validation

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// maxProjectName leaves room for the name of a shoot.
const maxProjectName = 10

// Project checks a Project, beside all others.
func Project(project *gardencorev1beta1.Project, others []gardencorev1beta1.Project) field.ErrorList {
	name := field.NewPath("metadata", "name")
	errs := partOfTechnicalID(name, project.Name)
	if len(project.Name) > maxProjectName {
		errs = append(errs, field.TooLong(name, project.Name, maxProjectName))
	}
	errs = append(errs, projectNamespace(field.NewPath("spec", "namespace"), project, others)...)
	if lists := project.Spec.Tolerations; lists != nil {
		path := field.NewPath("spec", "tolerations")
		errs = append(errs, tolerations(path.Child("defaults"), lists.Defaults)...)
		errs = append(errs, tolerations(path.Child("whitelist"), lists.Whitelist)...)
	}
	return errs
}

// projectNamespace wants a namespace with a name for projects, which no other project has.
func projectNamespace(path *field.Path, project *gardencorev1beta1.Project,
	others []gardencorev1beta1.Project) field.ErrorList {
	namespace := ptr.Deref(project.Spec.Namespace, "")
	if namespace == "" {
		return nil
	}
	errs := label(path, namespace)
	if namespace != constants.GardenNamespace && !strings.HasPrefix(namespace, constants.ProjectNamespacePrefix) {
		errs = append(errs, field.Invalid(path, namespace,
			fmt.Sprintf("must be %q, or begin with %q", constants.GardenNamespace, constants.ProjectNamespacePrefix)))
	}
	for i := range others {
		if other := &others[i]; other.Name != project.Name && ptr.Deref(other.Spec.Namespace, "") == namespace {
			errs = append(errs,
				field.Invalid(path, namespace, fmt.Sprintf("is the namespace of project %q already", other.Name)))
		}
	}
	return errs
}

// ProjectChange checks what may not become of a Project: its shoots stay where they are, and who has created it stays
// known.
func ProjectChange(project, old *gardencorev1beta1.Project) field.ErrorList {
	errs := unchangedOnceSet(field.NewPath("spec", "namespace"), project.Spec.Namespace, old.Spec.Namespace)
	if old.Spec.CreatedBy != nil && !reflect.DeepEqual(project.Spec.CreatedBy, old.Spec.CreatedBy) {
		errs = append(errs, field.Invalid(field.NewPath("spec", "createdBy"), project.Spec.CreatedBy, immutable))
	}
	return errs
}
