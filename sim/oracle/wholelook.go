package oracle

import (
	"maps"
	"slices"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// builtIn are objects that Kubernetes makes in every cluster, and makes again where they are deleted. A look at
// everything in a cluster has not seen everything if one of them is not in it.
var builtIn = []objectKey{
	{class: namespacesClass, name: "default"},
	{class: namespacesClass, name: "kube-system"},
	{class: "serviceaccounts", namespace: "default", name: "default"},
	{class: "serviceaccounts", namespace: "kube-system", name: "default"},
	{class: "configmaps", namespace: "kube-system", name: "kube-root-ca.crt"},
	{class: "services", namespace: "default", name: "kubernetes"},
	{class: "clusterroles.rbac.authorization.k8s.io", name: "cluster-admin"},
	{class: "clusterrolebindings.rbac.authorization.k8s.io", name: "cluster-admin"},
	{
		class: "roles.rbac.authorization.k8s.io", namespace: "kube-system",
		name: "extension-apiserver-authentication-reader",
	},
	{
		class: "rolebindings.rbac.authorization.k8s.io", namespace: "kube-system",
		name: "system::leader-locking-kube-controller-manager",
	},
	{class: "apiservices.apiregistration.k8s.io", name: "v1."},
	{class: "flowschemas.flowcontrol.apiserver.k8s.io", name: "exempt"},
	{class: "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io", name: "exempt"},
	{class: "priorityclasses.scheduling.k8s.io", name: "system-node-critical"},
}

// missingFrom a look at everything in a cluster is what must be in it: what is built in, and the namespaces of all that
// is. Of a class that could not be read nothing is expected.
func missingFrom(there map[objectKey]bool, unreadable []string) (missing []string) {
	unread := func(class string) bool { return isUnread(unreadable, timeline.Item{Class: class}) }
	for _, key := range builtIn {
		if !there[key] && !unread(key.class) {
			missing = append(missing, key.String())
		}
	}
	for key := range there {
		space := objectKey{class: namespacesClass, name: key.namespace}
		if key.namespace != "" && !there[space] && !unread(namespacesClass) {
			missing = append(missing, space.String())
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// missingFromSeed is what must be in an inventory of a seed, and is not: any of the classes that are certain, too. A
// seed without a shoot need not have folders.
func missingFromSeed(seen timeline.InventorySeen, certain []string) []string {
	there, classes := map[objectKey]bool{}, map[string]bool{}
	for _, item := range seen.Items {
		classes[item.Class] = true
		if item.Class != folderClass && item.Class != processClass {
			there[objectKey{item.Class, item.Namespace, item.Name}] = true
		}
	}
	missing := missingFrom(there, seen.Unreadable)
	for _, class := range certain {
		if !classes[class] && class != folderClass && !isUnread(seen.Unreadable, timeline.Item{Class: class}) {
			missing = append(missing, "any "+class)
		}
	}
	return missing
}

const (
	folderClass  = "folder"
	processClass = "process"
)

// followed are the nodes and pods of a shoot as those saw them who follow them. A look at all of its objects must show
// each that was there before it and was seen unchanged after it, or was not seen any more.
type followed struct {
	now   map[objectKey]string // the UID that each has
	looks []*objectLook
}

// take what a follower has seen.
func (f *followed) take(p timeline.Payload) {
	switch p := p.(type) {
	case timeline.NodeSeen:
		f.see(objectKey{class: nodesClass, name: p.Name}, p.UID, p.Gone)
	case timeline.PodSeen:
		f.see(objectKey{class: podsClass, name: p.Name}, p.UID, p.Gone)
	}
}

func (f *followed) see(key objectKey, uid string, gone bool) {
	if gone {
		uid = ""
	}
	for _, look := range f.looks {
		if look.open[key] && look.due[key] != uid { // it may have changed before the look
			delete(look.due, key)
		}
		delete(look.open, key)
	}
	if f.now == nil {
		f.now = map[objectKey]string{}
	}
	if f.now[key] = uid; uid == "" {
		delete(f.now, key)
	}
}

// look at everything: what was seen before is due in it.
func (f *followed) look(l *objectLook) {
	l.due, l.open = maps.Clone(f.now), map[objectKey]bool{}
	for key := range l.due {
		l.open[key] = true
	}
	f.looks = append(f.looks, l)
}

// forget all: the shoot is gone, and when its nodes and pods went was perhaps not seen.
func (f *followed) forget() {
	for _, look := range f.looks {
		look.expectNot(func(key objectKey) bool { return look.open[key] })
	}
	f.now = nil
}

// expectNot takes from what is due in a look what was not seen after it, of some.
func (l *objectLook) expectNot(which func(objectKey) bool) {
	maps.DeleteFunc(l.due, func(key objectKey, _ string) bool { return which(key) })
}

// missing from the look is what must be in it.
func (l *objectLook) missing() []string {
	there := map[objectKey]bool{}
	for key := range l.objects {
		there[key] = true
	}
	missing := missingFrom(there, l.unreadable)
	if _, read := l.kinds[definitionsClass]; !read && !isUnread(l.unreadable, timeline.Item{Class: definitionsClass}) {
		missing = append(missing, definitionsClass)
	}
	for key, uid := range l.due {
		if l.byUID[uid].class != key.class && !isUnread(l.unreadable, timeline.Item{Class: key.class}) {
			missing = append(missing, key.String())
		}
	}
	slices.Sort(missing)
	return missing
}
