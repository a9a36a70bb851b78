// Package shootrules has the rules about Shoots that need more than the values of one: other objects of the garden, the
// state of an operation, or the old Shoot (docs/specification/migration.md#spec-2-2). They are pure functions of the
// request and of what the garden has, one file for each family; shootRules lists them. The rules about values are
// package validation's.
package shootrules
