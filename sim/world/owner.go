package world

import corev1 "k8s.io/api/core/v1"

// PodOwners is a World that knows whose pods are on its clusters.
type PodOwners interface {
	// OwnerOf a pod of a cluster, by what the pod says of itself; false for pods that are nobody's a scenario knows,
	// such as those of a cluster's DNS. It asks nobody.
	OwnerOf(cluster string, pod *corev1.Pod) (PodOwner, bool)
}

// PodOwner is whom a pod belongs to, as scenarios name it.
type PodOwner struct {
	// Actor that it is, such as gardenlet-a, or control-planes-a.
	Actor string
	// Extension is the name of the third-party extension that it is; empty for what a landscape brings along.
	Extension string
	// Shoot whose control plane it is a part of; empty for actors.
	Shoot string
}
