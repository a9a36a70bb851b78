// Package versionrules are the rules by which versions in CloudProfiles and Shoots are accepted
// (docs/specification/versions.md#spec-4-2, docs/specification/versions.md#spec-4-3; shoot versions), and how a version
// that names only a part is completed. Everything is pure; who calls it reads the objects and answers the request. What
// nodes are updated in place to is checked by package rollout.
package versionrules
