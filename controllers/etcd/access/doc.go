// Package access decides who may ask what of a shoot's guard and of its backup sidecar (docs/ownership.md#spec-9-1,
// docs/ownership.md#spec-9-2).
//
// Both serve an API over mutual TLS. Client certificates come from the shoot's etcd CA, which moves with the shoot.
// The common name of a certificate is the identity of the caller; nothing in a request says who the caller is. On
// every seed the gardenlet makes one certificate for each identity, in the Secret guard-client-<identity> of the
// control-plane namespace; etcd-client and etcd-main are in the Secrets etcd-client and etcd-server. Its own it
// issues when it needs it. Certificates are renewed at half of their validity; servers and clients read the files for
// every connection.
//
// This table is checked against the routes that the servers have. Whoever is not named is refused with 403.
//
//	guard    GET  /validity       extensions gateway machine-controller
//	guard    GET  /revocation     extensions gardenlet gateway machine-controller
//	guard    POST /revoked        extensions gateway machine-controller
//	guard    POST /left           extensions gateway machine-controller
//	guard    POST /fence          gardenlet
//	guard    GET  /state          gardenlet observer
//	guard    etcd's client port   etcd-client
//	etcd     etcd's peer port     etcd-main
//	sidecar  GET  /latest         gardenlet observer
//	sidecar  POST /snapshot/full  etcd-main gardenlet
//
// etcd-client is the shoot's API server, etcd-main the guard itself, observer is for people and probes. A holder is
// one process of an identity. The query "instance" distinguishes the processes of one identity, and reaches no other
// identity's.
//
// Liveness, readiness and metrics are open to everybody, on a port of their own without TLS.
//
// An identity has at most MaxRequests requests under way on a server, so that no identity takes the turn of another.
// Requests have no body, and small headers.
//
// It is not an authorization service: the table is code. It does not hold against those who can read the Secrets of
// the control-plane namespace: they can be any identity, and with ca-etcd sign for any. These are the gardenlet, the
// machine-controller, the gardener-resource-manager and the extensions of the seed, third-party ones among them. A
// seed that the shoot has left may have kept ca-etcd, which moves with the shoot: where it reaches the guard it can
// fence it. Only a new etcd CA would end that, and nothing rotates it.
package access
