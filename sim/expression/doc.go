// Package expression evaluates the CEL expressions of scenarios over a snapshot of the world, and says why one is not
// true yet. Expressions are compiled and type-checked when the file is read.
//
// It reads no cluster: whoever takes the snapshot does. What could not be read is unknown, which is neither true nor
// false: an expression that depends on it is not met, and says so.
package expression
