// Package ownership says who owns a shoot: who may run its control plane and touch its cloud resources, and since which
// epoch (docs/ownership.md#spec-9-1, docs/ownership.md#spec-9-2).
//
// The core is pure: Takeover is the procedure of a new owner over two authorities and a clock, both of them injected.
// Around it are the adapters: LeaseAuthority (the claim, in the garden) and TXTAuthority (the decision, in DNS).
//
// It is not a leader election: only a change of both records makes another seed the owner. For how long an owner may
// still believe in its epoch is in package validity.
package ownership
