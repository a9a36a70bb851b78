// Package backup keeps a shoot's etcd in a bucket and brings it back: full snapshots, a stream of deltas between
// them, a manifest per ownership epoch (docs/ownership.md#o7), restore and copy.
//
// Layout below the prefix of one etcd:
//
//	epochs/<n>.json                                          what epoch n started from; created once, never changed
//	e<n>/full-<first>-<last>[-final]-<sha256>.gz             an etcd snapshot at revision <last>
//	e<n>/delta-<first>-<last>-<sha256>.gz                    every change of the revisions <first> to <last>
//
// An object's name says all that is needed to choose it, and the digest of its bytes to trust it. Every put is
// create-only. Whatever an epoch uploads after a newer epoch has made its manifest belongs to no chain.
//
// It is not a general backup of etcd: there is one member, and a restore always bumps the revision and marks the old
// ones compacted, so that no client sees a revision go backwards without an error.
package backup
