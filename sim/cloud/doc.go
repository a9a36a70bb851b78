// Package cloud is the server behind api/cloud: `transplant cloud`, the simulated cloud with its DNS server.
//
// It keeps what a cloud bill would list (networks, machines, load balancers), what a control plane needs of a cloud
// (DNS zones, buckets), and the evidence (an append-only ledger of every mutating call). It moves no packets, runs no
// machines (sim/nodes does) and judges nothing.
//
// The ledger is the source of truth. The state is the fold of its entries, live and after a restart by the same code;
// a call is answered when its entry is on disk. Contents of objects lie in a blob store, the ledger names them.
package cloud
