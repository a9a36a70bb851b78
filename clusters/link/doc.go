// Package link carries the traffic of one actor to one target: the arrows of the landscape (ARCHITECTURE.md#links).
//
// A [Link] ends TLS, sees whole requests and passes bodies, trailers, streams and upgrades through untouched. A [Proxy]
// is an HTTP CONNECT proxy for targets that are reached by name; every host behind it is a [Link] of its own. A [Fault]
// harms a link until it is healed; it acts on open connections too, on open watches above all, and counts its hits.
//
// A link judges nothing and retries nothing: it is a wire that faults can break. This package holds the links, and
// knows which faults act on each; what a fault does is in the packages below. Faults of package wire act between the
// client and the link, on the bytes of the client's connection, so that a client under a fault sees what it would see
// on a bad network: handshakes that hang, pings without an answer, dead connections.
//
// Faults of packages requests and watches act inside the link, and only there does it know Kubernetes, by package
// kubeapi: a request's verb and resource, the ends of a watch's events, how an API server refuses. While no such fault
// is set no body is looked into and nothing is kept: package forward passes all on.
package link
