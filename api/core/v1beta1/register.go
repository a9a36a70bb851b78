package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the name of Gardener's core API group.
const GroupName = "core.gardener.cloud"

var (
	// SchemeGroupVersion is group and version of the types of this package.
	SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1beta1"}
	// SchemeBuilder collects the functions that add the types of this package to a scheme.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme adds the types of this package to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Kind returns the group kind of a kind of this group.
func Kind(kind string) schema.GroupKind { return SchemeGroupVersion.WithKind(kind).GroupKind() }

// Resource returns the group resource of a resource of this group.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&BackupBucket{}, &BackupBucketList{},
		&BackupEntry{}, &BackupEntryList{},
		&CloudProfile{}, &CloudProfileList{},
		&ControllerInstallation{}, &ControllerInstallationList{},
		&ControllerRegistration{}, &ControllerRegistrationList{},
		&Project{}, &ProjectList{},
		&SecretBinding{}, &SecretBindingList{},
		&Seed{}, &SeedList{},
		&Shoot{}, &ShootList{},
		&ShootState{}, &ShootStateList{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
