// Package node keeps pods off new nodes of a shoot until the components are ready without which no pod runs well there
// (docs/specification/nodes-and-seeds.md#spec-7-1): nodes come with a taint, and it decides when the taint may go.
//
// The decision is pure: a node and what runs on it goes in, what stands in the way comes out; the Reconciler carries it
// out in the resource manager of each shoot. It never puts the taint on, and it does not look after what makes
// components ready.
package node
