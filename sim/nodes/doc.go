// Package nodes is `transplant nodes`: the worker nodes of all shoots, one for each running machine of the cloud.
//
// A machine boots by the node file in its user data (api/userdata), whatever form these have: its files are laid out
// below a folder of its own, its Node is registered in the shoot's API server, by name and through the proxy, as a
// kubelet would reach it; then one kwok process per API server keeps leases and heartbeats alive and runs the pods,
// while the leases of the nodes' agents are renewed from here, and those of the kubelets once before each kwok. A
// control plane that goes away, moves or comes back changes nothing here: everything keeps trying.
//
// It deletes nothing in a shoot: a terminated machine falls silent, and its Node is for the shoot's controllers to
// delete, also one that was registered when the machine had just ended. It runs no container, but for the pods of
// shoots whose nodes are real (package real), whose machines have the volumes of the cloud, and power while nobody
// takes it.
//
// When an API server answers again after a silence of some seconds, its kwok is started again, for the second
// and the last of the reasons below, and because its renewals were seen to stay away for half a minute after an outage
// of a minute.
//
// What kwok v0.8.0 was found to do, and what is done about it:
//   - With an annotation selector it never lets go of a node: it drops the event that shows the annotation gone, and
//     renews the lease of a dead machine for ever. So nodes are chosen by a label, which the API server filters.
//   - A deletion that it missed (found by listing again) is dropped too. It then renews the lease of a node that is
//     gone, or even makes it anew. Such a lease is noticed, and kwok is started again.
//   - A restarted kwok has a new identity and would wait until the old leases end, long enough for nodes to be
//     declared lost. So the holders are cleared before it starts.
//   - It may look for its leases before it has listed any. It then tries to make one that is there already, is refused,
//     and tries again only when the next renewal is due. When a second move followed within a minute, it began before
//     that, and a lease of 40 s was over. So the leases of nodes that live are renewed from here when their holders are
//     cleared.
//   - If the write of a Stage breaks off, it is repeated only when the connection was refused or the server said so.
//     Otherwise it waits for the next listing, which mostly follows soon. Nodes and pods that stay behind are noticed,
//     and kwok is started again.
package nodes
