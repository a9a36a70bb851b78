// Package validation says which values of Shoots, CloudProfiles, Seeds and Projects are refused
// (docs/specification/api.md#spec-1, 4, 7): values that no controller of this repository can act on, or on which
// controllers act against each other. All functions are pure and are named after what they validate. Whoever calls them
// reads the objects and answers the request.
//
// It is not all of admission. What depends on other shoots and seeds or on the state of an operation is in package
// shootrules, what depends on the user in package admission, and versions are in package versionrules. Defaults have
// been applied before. Package fields lists every field with its rule, and package ratchet lets objects keep values
// that were accepted once.
package validation
