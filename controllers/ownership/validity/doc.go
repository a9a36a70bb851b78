// Package validity says for how long somebody may still believe in an epoch (docs/ownership.md#spec-9-2). A Guard wins
// validity from the two authorities, and a Holder gets its share of it from a guard, over HTTP. A Term is what both
// have of it.
//
// The core is pure: Term and Guard are state machines over an injected clock.
//
// A lapse makes nobody else owner: see package ownership. And the package does not stop or start anything. Package
// etcd/guard and the gateway do that, by asking a Term before every message.
package validity
