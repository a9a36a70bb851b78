// Package cloudcontroller is what the cloud adds to the control plane of a shoot with workers: load balancers for its
// Services of type LoadBalancer, and volumes for its PersistentVolumes, as a cloud-controller-manager and a CSI
// driver's controllers make and remove them (docs/specification/cleanup.md#spec-6-7). As the former does, it removes
// nodes whose machines have ended.
//
// What it makes in the cloud carries the shoot's tag and is found by its name before it is made, so that an answer that
// was lost, or a control plane that has moved, makes nothing twice. An object of the shoot has a finalizer before there
// is anything in the cloud for it: that is why it does not go before what it stands for has gone, and why a deletion
// that is too quick is a real obstacle. The cloud is called only while the shoot's guard says that this seed owns the
// shoot.
//
// It routes no packet and stores no byte, registers no driver on nodes, and takes no snapshots. What somebody has taken
// the finalizers off is left to the Infrastructure extension, which removes whatever carries the shoot's tag.
package cloudcontroller
