// Package worldtest is a small world for tests of the engine, the probes and the steps: API servers with stores, a
// public name, a cloud's ledger, and somebody who moves control planes, all in this process and over real HTTP.
//
// It is no Kubernetes and no Gardener: it keeps JSON objects by path, with resource versions and watches, and does the
// least that a planned migration is seen by. Bugs can be planted in it, so that oracles can be seen to notice.
package worldtest
