// Package guard stands in front of an etcd member: the only way to its client port. Requests and answers pass only
// while the ownership of its epoch is proven fresh (docs/ownership.md#guard).
//
// The proxy knows nothing of etcd's API: it passes messages of any service as bytes. The rules of validity are in
// package ownership/validity; this package applies them to connections, and carries a fence through to its end. It
// does not start or stop etcd: that a fenced etcd is of no use to anybody is enough until its owner scales it down.
package guard
