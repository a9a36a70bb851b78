// Package contract is the contract between a gardenlet and an extension controller
// (docs/specification/extensions.md#spec-3) as a library: which request an object carries, what may be done with it, in
// which order status, finalizers and annotations are written, and one reconciler, generic over the kinds, that does it
// for every provider.
//
// It knows no provider, no cloud and no kind in particular: what an Infrastructure or a Worker is, the providers know.
// Two rules hold throughout and are what the known quirks of the field (docs/specification/quirks.md#spec-appendix-c)
// break:
//
//   - a request stays visible until its outcome is, so that a crash at any write repeats work and loses no request;
//   - an object is read from the API server, never from a cache, before anything is decided on it. What watches have
//     shown says when to look (Reconciler.Known). It also says that a shoot has not failed, for the first attempt at a
//     request (Kind.IgnoresCluster).
package contract
