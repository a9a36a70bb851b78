// Package processnode is a node of an embedded cluster: an agent that registers a Node and runs the pods bound to it as
// child processes, each container in PID, mount and host name namespaces of its own, each pod on an address of its own
// in 127.0.0.0/8 (ARCHITECTURE.md#processes).
//
// It also does what other clusters leave to kube-proxy, a storage provisioner and a cloud's load balancers. It is no
// container runtime: images are folders of programs, resources are not limited, and pods share the host's network.
// What a pod asks for and cannot get makes it fail, with an event that says why. It needs Linux.
package processnode
