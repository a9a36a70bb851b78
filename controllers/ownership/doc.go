// Package ownership keeps a shoot in one pair of hands: who may run its control plane and touch its cloud resources,
// since which epoch, and for how long one may still believe it (docs/ownership.md#spec-9-1,
// docs/ownership.md#spec-9-2).
//
// The core is pure: Term and Guard are state machines over an injected clock, Takeover is the procedure of a new owner
// over two injected authorities. Around it are the adapters: LeaseAuthority (the claim, in the garden), TXTAuthority
// (the decision, in DNS), and Holder, which asks a guard over HTTP.
//
// It is not a leader election: a lapse never makes anybody else owner, only a change of both records does. And it does
// not stop or start anything; package etcd/guard and the gateway do that, by asking a Term before every message.
package ownership
