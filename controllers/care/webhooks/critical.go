package webhooks

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
)

// Resource is a resource that the cluster cannot do without (docs/specification/care.md#spec-5-6).
type Resource struct {
	Group, Version, Name, Subresource string
	// ClusterScoped is whether its objects are in no namespace.
	ClusterScoped bool
	// Namespace and Object are the labels that the critical objects' namespaces, and the objects themselves, have. Nil
	// means any.
	Namespace, Object labels.Set
}

// String is the resource as rules of webhooks name it, with its group and version in front.
func (r Resource) String() string {
	name := r.Version + "/" + r.Name
	if r.Group != "" {
		name = r.Group + "/" + name
	}
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	return name
}

// everywhere is whether all objects of the resource are critical, so that no selector can spare them.
func (r Resource) everywhere() bool { return r.Namespace == nil && r.Object == nil }

var (
	inDefault    = labels.Set{corev1.LabelMetadataName: "default"}
	inKubeSystem = labels.Set{
		constants.ShootNoCleanup:  constants.LabelTrue,
		constants.GardenerPurpose: constants.GardenerPurposeKubeSystem,
		corev1.LabelMetadataName:  "kube-system",
	}
	systemPod = labels.Set{
		constants.ShootNoCleanup:      constants.LabelTrue,
		resourcesv1alpha1.LabelOrigin: resourcesv1alpha1.OriginGardener,
	}
)

// API groups with their versions, "group/version".
var (
	core       = []string{"v1"}
	apps       = []string{"apps/v1", "apps/v1beta1", "apps/v1beta2", "extensions/v1beta1"}
	networking = []string{"extensions/v1beta1", "networking.k8s.io/v1", "networking.k8s.io/v1beta1"}
	leases     = []string{"coordination.k8s.io/v1", "coordination.k8s.io/v1beta1"}
	rbac       = []string{"rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io/v1alpha1",
		"rbac.authorization.k8s.io/v1beta1"}
)

// critical is the table of docs/specification/care.md#spec-5-6; leaderElection its last row.
var (
	critical = slices.Concat(
		row{on: core, names: []string{"pods", "pods/status"}, namespace: inKubeSystem, object: systemPod}.expand(),
		row{on: core, names: []string{"configmaps", "secrets", "serviceaccounts"}, namespace: inKubeSystem}.expand(),
		row{on: core, names: []string{"endpoints", "services", "services/status"}, namespace: inKubeSystem}.expand(),
		row{on: core, names: []string{"endpoints", "services", "services/status"}, namespace: inDefault}.expand(),
		row{on: core, names: []string{"nodes", "nodes/status"}, clusterScoped: true}.expand(),
		row{on: core, names: []string{"namespaces", "namespaces/status"}, clusterScoped: true, namespace: inKubeSystem,
			object: inKubeSystem}.expand(),
		row{on: apps, names: []string{
			"controllerrevisions", "daemonsets", "daemonsets/status", "deployments", "deployments/scale",
			"replicasets", "replicasets/status", "replicasets/scale",
		}, namespace: inKubeSystem}.expand(),
		row{on: networking, names: []string{"networkpolicies"}, namespace: inKubeSystem}.expand(),
		row{on: leases, names: []string{"leases"}}.expand(),
		row{on: rbac, names: []string{"clusterroles", "clusterrolebindings"}, clusterScoped: true}.expand(),
		row{on: rbac, names: []string{"roles", "rolebindings"}, namespace: inKubeSystem}.expand(),
		row{
			on:    []string{"apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"},
			names: []string{"customresourcedefinitions", "customresourcedefinitions/status"}, clusterScoped: true,
		}.expand(),
		row{
			on:    []string{"apiregistration.k8s.io/v1", "apiregistration.k8s.io/v1beta1"},
			names: []string{"apiservices", "apiservices/status"}, clusterScoped: true,
		}.expand(),
		row{on: []string{"certificates.k8s.io/v1"}, names: []string{
			"certificatesigningrequests", "certificatesigningrequests/status", "certificatesigningrequests/approval",
		}, clusterScoped: true}.expand(),
		row{on: []string{"scheduling.k8s.io/v1", "scheduling.k8s.io/v1beta1"}, names: []string{"priorityclasses"},
			clusterScoped: true}.expand(),
	)
	leaderElection = row{on: leases, names: []string{"leases"}, namespace: inKubeSystem, object: labels.Set{}}.expand()
)

// row is a line of docs/specification/care.md#spec-5-6: the same labels and scope for some resources of some groups.
type row struct {
	on, names         []string
	clusterScoped     bool
	namespace, object labels.Set
}

func (r row) expand() []Resource {
	var resources []Resource
	for _, on := range r.on {
		group, version := split(on, true)
		for _, name := range r.names {
			name, sub := split(name, false)
			resources = append(resources, Resource{
				Group: group, Version: version, Name: name, Subresource: sub,
				ClusterScoped: r.clusterScoped, Namespace: r.namespace, Object: r.object,
			})
		}
	}
	return resources
}
