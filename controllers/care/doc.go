// Package care watches over shoots: it decides the conditions and constraints of a shoot's status, the label with its
// overall status, and which pods are garbage (docs/specification/care.md#spec-5). Webhooks have a package of their own
// below.
//
// What is decided is pure: what was seen goes in as an Observation with the time, the decision comes out. What could
// not be seen is unknown, never healthy and never unhealthy. The Reconciler looks and writes, in the gardenlet, once a
// period; the Labeler keeps the label, in the garden-controller-manager. They repair nothing but webhooks and garbage,
// and run no operations on shoots.
package care
