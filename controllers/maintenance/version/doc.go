// Package version classifies the versions that a CloudProfile offers and chooses among them
// (docs/specification/versions.md#spec-4-1, docs/specification/versions.md#spec-4-4; shoot versions): what an automatic
// and what a forced update goes to, and why no further.
//
// It knows neither shoots nor what else a version must fit: callers hand it the offers that are worth choosing from.
// Versions that cannot be read are never chosen and never an error of the others.
package version
