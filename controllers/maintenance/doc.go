// Package maintenance decides what a shoot's maintenance does (docs/specification/versions.md#spec-4; shoot versions,
// shoot updates): which Kubernetes and machine image versions change, what must change with them, which credentials are
// rotated, what is reported.
//
// Decide is pure: it is given the shoot, its CloudProfile and the time, and returns the shoot as it shall be together
// with the reason for every choice. It follows the repaired rules of docs/specification/versions.md#spec-4-11. Its
// parts are packages of their own: version (classes, choice), image (what fits a pool), window (when), sidechange (what
// goes with a version), versionrules (what admission accepts), overlay (how a plan becomes a patch).
//
// Reconciler is what carries plans out; it runs in the garden-controller-manager. Retry asks for another try of shoots
// that their cloud has throttled. Neither touches a control plane: that is the gardenlet's.
package maintenance
