package v1beta1

import rbacv1 "k8s.io/api/rbac/v1"

// Defaulted is an object of which Gardener's API server fills in what its author has left out. The same function serves
// whoever lets objects in: admission, and whoever reads them from files. Doing it twice changes nothing.
//
// +kubebuilder:object:generate=false
type Defaulted interface {
	// SetDefaults fills in the fields that are not set.
	SetDefaults()
}

var (
	_ Defaulted = &CloudProfile{}
	_ Defaulted = &Project{}
	_ Defaulted = &Seed{}
	_ Defaulted = &Shoot{}
)

// setDefault sets a field that is not set.
func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// section is a part of an object, made if there is none.
func section[T any](field **T) *T {
	if *field == nil {
		*field = new(T)
	}
	return *field
}

// setGroup sets the API group of a subject that names only its kind.
func setGroup(subject *rbacv1.Subject) {
	if subject.APIGroup == "" && (subject.Kind == rbacv1.UserKind || subject.Kind == rbacv1.GroupKind) {
		subject.APIGroup = rbacv1.GroupName
	}
}
