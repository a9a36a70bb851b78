// Package link carries the traffic of one actor to one target: the arrows of the landscape (DESIGN section 2).
//
// A [Link] ends TLS, sees whole requests and passes bodies, trailers, streams and upgrades through untouched. A [Proxy]
// is an HTTP CONNECT proxy for targets that are reached by name; every host behind it is a [Link] of its own. A [Fault]
// harms a link until it is healed; it acts on open connections too, on open watches above all, and counts how often it
// was felt.
//
// A link judges nothing, retries nothing, caches no answers and knows no Kubernetes: it is a wire that can be broken.
// Faults act between the client and the link, on the bytes of the client's connection, so that a client under a fault
// sees what it would see on a bad network: handshakes that hang, pings without an answer, dead connections.
package link
