package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the name of the API group of extension objects.
const GroupName = "extensions.gardener.cloud"

var (
	// SchemeGroupVersion is group and version of the types of this package.
	SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}
	// SchemeBuilder collects the functions that add the types of this package to a scheme.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme adds the types of this package to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Resource returns the group resource of a resource of this group.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&BackupBucket{}, &BackupBucketList{},
		&BackupEntry{}, &BackupEntryList{},
		&Bastion{}, &BastionList{},
		&Cluster{}, &ClusterList{},
		&ContainerRuntime{}, &ContainerRuntimeList{},
		&ControlPlane{}, &ControlPlaneList{},
		&DNSRecord{}, &DNSRecordList{},
		&Extension{}, &ExtensionList{},
		&Infrastructure{}, &InfrastructureList{},
		&Network{}, &NetworkList{},
		&OperatingSystemConfig{}, &OperatingSystemConfigList{},
		&SelfHostedShootExposure{}, &SelfHostedShootExposureList{},
		&Worker{}, &WorkerList{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
