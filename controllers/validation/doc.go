// Package validation says which values of Shoots, CloudProfiles, Seeds and Projects are refused (SPEC 1, 4, 7): those
// that a controller of this repository could not act on, or would act on in a way that nobody means. Everything is a
// pure function of objects; whoever calls it reads them, and answers the request.
//
// It is not all of admission: what depends on other shoots and seeds, on the state of an operation or on who asks is
// package admission's, and versions are package versionrules'. Defaults have been applied before. Package fields, below
// it, lists every field with the rule that holds for it.
package validation
