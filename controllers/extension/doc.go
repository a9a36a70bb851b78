// Package extension is the reference provider, type "transplant": every extension kind of
// docs/specification/api.md#spec-1-9 on the simulated cloud. The kinds are in the folders below, on the contract of
// controllers/extension/contract; this package puts them together, and says how healthy their objects are.
//
// It reaches the cloud through narrow interfaces and never without asking who owns the shoot (docs/ownership.md#o8):
// each mutating call is checked against the validity of the shoot's guard, or where none runs of its owner record in
// DNS, and carries the epoch (package fence). It adopts before it creates, so that a call whose answer was lost, or a
// state that lags behind, makes no second network and no second bucket.
//
// It is not the machine controller, which turns the machine objects of the Worker into machines, and it knows nothing
// of the harness around it.
package extension
