package worldtest

import (
	"fmt"
	"slices"
)

// builtInKinds are those of the objects that Kubernetes makes in every cluster.
var builtInKinds = []resource{
	namespaces, configMaps, roles,
	{"", "v1", "serviceaccounts", "ServiceAccount", true},
	{"", "v1", "services", "Service", true},
	{"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", false},
	{"rbac.authorization.k8s.io", "v1", "roles", "Role", true},
	{"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", true},
	{"apiregistration.k8s.io", "v1", "apiservices", "APIService", false},
	{"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false},
	{"flowcontrol.apiserver.k8s.io", "v1", "flowschemas", "FlowSchema", false},
	{"flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations", "PriorityLevelConfiguration", false},
	{"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", false},
}

// builtIn are those objects, by their kind.
var builtIn = map[string][]struct{ namespace, name string }{
	"Namespace":                  {{"", "default"}, {"", "kube-system"}, {"", "kube-node-lease"}},
	"ServiceAccount":             {{"default", "default"}, {"kube-system", "default"}},
	"ConfigMap":                  {{"kube-system", "kube-root-ca.crt"}},
	"Service":                    {{"default", "kubernetes"}},
	"ClusterRole":                {{"", "cluster-admin"}},
	"ClusterRoleBinding":         {{"", "cluster-admin"}},
	"Role":                       {{"kube-system", "extension-apiserver-authentication-reader"}},
	"RoleBinding":                {{"kube-system", "system::leader-locking-kube-controller-manager"}},
	"APIService":                 {{"", "v1."}},
	"FlowSchema":                 {{"", "exempt"}},
	"PriorityLevelConfiguration": {{"", "exempt"}},
	"PriorityClass":              {{"", "system-node-critical"}},
}

// withBuiltIn are the kinds of a cluster: those, and the ones that every cluster has.
func withBuiltIn(kinds ...resource) []resource { return slices.Concat(builtInKinds, kinds) }

// newCluster is a store with what is built in.
func newCluster() *Store {
	store := newStore()
	for _, kind := range builtInKinds {
		for _, o := range builtIn[kind.kind] {
			path, meta := "/api/v1", object{"name": o.name}
			if kind.group != "" {
				path = "/apis/" + kind.groupVersion()
			}
			if o.namespace != "" {
				path, meta["namespace"] = path+"/namespaces/"+o.namespace, o.namespace
			}
			store.put(fmt.Sprintf("%s/%s/%s", path, kind.name, o.name), object{
				"kind": kind.kind, "apiVersion": kind.groupVersion(), "metadata": meta,
			})
		}
	}
	return store
}
