package fault

import (
	"regexp"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxObjectName is the longest name of an object that an API server takes.
const maxObjectName = validation.DNS1123SubdomainMaxLength

var (
	kindName    = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)
	subresource = regexp.MustCompile(`^[a-z]+(/[a-z]+)*$`)
)

// CheckPlace finds what cannot be the namespace or the name of an object: both become parts of paths. Both may be
// empty.
func CheckPlace(path *field.Path, namespace, name string) field.ErrorList {
	var errs field.ErrorList
	if namespace != "" {
		for _, problem := range validation.IsDNS1123Label(namespace) {
			errs = append(errs, field.Invalid(path.Child("namespace"), namespace, "must be a namespace: "+problem))
		}
	}
	for _, problem := range content.IsPathSegmentName(name) {
		errs = append(errs, field.Invalid(path.Child("name"), name, "must be the name of an object: it "+problem))
	}
	if len(name) > maxObjectName {
		errs = append(errs, field.TooLong(path.Child("name"), name, maxObjectName))
	}
	return errs
}
