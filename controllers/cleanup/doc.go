// Package cleanup empties a shoot that is being deleted, step by step, so that nothing it made in the cloud is left
// behind (docs/specification/cleanup.md#spec-6).
//
// What is decided here is pure: the objects that are there and the time go in, what is to be done now with each comes
// out, and what holds the deletion up. It does not delete the infrastructure: that is the extensions', afterwards.
package cleanup
