// Package care watches over shoots: it observes them, writes the conditions and constraints of their status and the
// label with their overall status, and deletes pods that are garbage (docs/specification/care.md#spec-5). What an
// observation means is decided in package health, and which webhooks are problematic in package webhooks.
//
// The Reconciler looks and writes, in the gardenlet, once a period; the Labeler keeps the label, in the
// garden-controller-manager. They repair nothing but webhooks and garbage, and run no operations on shoots.
package care
