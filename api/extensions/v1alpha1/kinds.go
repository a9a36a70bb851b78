package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind describes a kind of extension objects, for walkers over all of them.
//
// +kubebuilder:object:generate=false
type Kind struct {
	// Name is the kind's name.
	Name string
	// Resource is the kind's name in URLs.
	Resource string
	// Finalizer is what the extension library sets on objects of the kind (docs/specification/extensions.md#spec-3-4).
	// For Extension it is only the beginning: each controller puts a word of its own behind it.
	Finalizer string
	// Namespaced is whether objects are in a shoot's namespace, rather than cluster-scoped.
	Namespaced bool
	// Migrates is whether the kind knows the operations migrate and restore
	// (docs/specification/extensions.md#spec-3-4).
	Migrates bool
	// Stateful is whether a ShootState has entries of the kind (docs/specification/migration.md#spec-2-8).
	Stateful bool
	// New returns an empty object.
	New func() Object
	// NewList returns an empty list.
	NewList func() ObjectList
}

// GroupVersionKind returns group, version and kind.
func (k Kind) GroupVersionKind() schema.GroupVersionKind { return SchemeGroupVersion.WithKind(k.Name) }

// Kinds returns all kinds of extension objects, sorted by name. Cluster is none of them: it is not acted upon.
func Kinds() []Kind {
	return []Kind{
		{Name: BackupBucketResource, Resource: "backupbuckets", Finalizer: finalizerPrefix + "backupbucket",
			New: create[BackupBucket], NewList: createList[BackupBucketList]},
		{Name: BackupEntryResource, Resource: "backupentries", Finalizer: finalizerPrefix + "backupentry",
			Migrates: true, Stateful: true,
			New: create[BackupEntry], NewList: createList[BackupEntryList]},
		{Name: BastionResource, Resource: "bastions", Finalizer: finalizerPrefix + "bastion", Namespaced: true,
			New: create[Bastion], NewList: createList[BastionList]},
		{Name: ContainerRuntimeResource, Resource: "containerruntimes", Finalizer: finalizerPrefix + "containerruntime",
			Namespaced: true, Migrates: true, Stateful: true,
			New: create[ContainerRuntime], NewList: createList[ContainerRuntimeList]},
		{Name: ControlPlaneResource, Resource: "controlplanes", Finalizer: finalizerPrefix + "controlplane",
			Namespaced: true, Migrates: true, Stateful: true,
			New: create[ControlPlane], NewList: createList[ControlPlaneList]},
		{Name: DNSRecordResource, Resource: "dnsrecords", Finalizer: finalizerPrefix + "dnsrecord",
			Namespaced: true, Migrates: true, Stateful: true,
			New: create[DNSRecord], NewList: createList[DNSRecordList]},
		{Name: ExtensionResource, Resource: "extensions", Finalizer: finalizerPrefix,
			Namespaced: true, Migrates: true, Stateful: true,
			New: create[Extension], NewList: createList[ExtensionList]},
		{Name: InfrastructureResource, Resource: "infrastructures", Finalizer: finalizerPrefix + "infrastructure",
			Namespaced: true, Migrates: true, Stateful: true,
			New: create[Infrastructure], NewList: createList[InfrastructureList]},
		{Name: NetworkResource, Resource: "networks", Finalizer: finalizerPrefix + "network",
			Namespaced: true, Migrates: true, Stateful: true,
			New: create[Network], NewList: createList[NetworkList]},
		{Name: OperatingSystemConfigResource, Resource: "operatingsystemconfigs", Finalizer: finalizerPrefix +
			"operatingsystemconfigs",
			Namespaced: true, Migrates: true, Stateful: true,
			New: create[OperatingSystemConfig], NewList: createList[OperatingSystemConfigList]},
		{Name: SelfHostedShootExposureResource, Resource: "selfhostedshootexposures", Finalizer: finalizerPrefix +
			"selfhostedshootexposure",
			Namespaced: true, Stateful: true,
			New: create[SelfHostedShootExposure], NewList: createList[SelfHostedShootExposureList]},
		{Name: WorkerResource, Resource: "workers", Finalizer: finalizerPrefix + "worker",
			Namespaced: true, Migrates: true, Stateful: true,
			New: create[Worker], NewList: createList[WorkerList]},
	}
}

// KindByName returns the kind with a name.
func KindByName(name string) (Kind, bool) {
	for _, kind := range Kinds() {
		if kind.Name == name {
			return kind, true
		}
	}
	return Kind{}, false
}

const finalizerPrefix = GroupName + "/"

// +kubebuilder:object:generate=false
type objectPointer[T any] interface {
	*T
	Object
}

// +kubebuilder:object:generate=false
type listPointer[T any] interface {
	*T
	ObjectList
}

func create[T any, P objectPointer[T]]() Object { return P(new(T)) }

func createList[T any, P listPointer[T]]() ObjectList { return P(new(T)) }

func pointers[T any, P objectPointer[T]](items []T) []Object {
	objects := make([]Object, len(items))
	for i := range items {
		objects[i] = P(&items[i])
	}
	return objects
}
