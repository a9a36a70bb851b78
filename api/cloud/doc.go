// Package cloud is the HTTP API of the simulated cloud: its types and a thin client.
//
// It is what the product (extensions, machine controller, ownership, etcd backup) and the engine share with the
// server in sim/cloud, and it knows nothing of how that server works. The client adds identity, scope and typed
// errors to plain HTTP; it never retries, caches or checks ownership, those are the caller's duties
// (docs/ownership.md#o8).
//
// Creating twice makes two, unless the caller passes a token of its own (ClientToken). Routers and security groups
// carry neither tag nor name and are listed for nobody but an admin or an observer, so whoever forgets their ids has
// lost them (docs/specification/extensions.md#spec-3-8).
package cloud
