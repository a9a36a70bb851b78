// Package fields lists every field of Shoots, CloudProfiles, Seeds and Projects with what becomes of its value: it is
// checked, or any value is fine, or it is accepted without effect and the client is warned of that. The tests of this
// package and of package admission compare the lists with the schema and the code. The lists are the source of
// docs/fields.md.
//
// It refuses nothing: that is package validation's and package admission's.
package fields

import (
	"cmp"
	"slices"
	"strings"
)

//go:generate go run ./table ../../../docs/fields.md

// Kinds are those whose fields are listed.
func Kinds() []string { return []string{"Shoot", "CloudProfile", "Seed", "Project"} }

// Row is what becomes of the values of a field, and of the fields below it that have no row of their own. Exactly one
// of Rule, Free and Warning is set, or Rule and Warning: a value may be checked, and have no effect all the same.
type Row struct {
	// Path names the field; [] stands for the items of a list, {} for the values of a map.
	Path string
	// Rule says which values are accepted.
	Rule string
	// Free says why every value is.
	Free string
	// Warning is for clients that set the field to another value than Unless, which it has here in any case.
	Warning string
	Unless  any
	// Simulated is whether the field has an effect for shoots whose nodes run pods (docs/machines.md): the warning is only
	// for those whose nodes are simulated.
	Simulated bool
}

// Reasons that several rows have.
const (
	noEffect  = "accepted, without effect here"
	handedOn  = "passed to an extension unchanged"
	eitherWay = "both values are supported"
	forPeople = "descriptive: no controller acts on it"
)

func checked(path, rule string) Row           { return Row{Path: path, Rule: rule} }
func free(path, why string) Row               { return Row{Path: path, Free: why} }
func ignored(path string) Row                 { return Row{Path: path, Warning: noEffect} }
func warned(path, warning string) Row         { return Row{Path: path, Warning: warning} }
func checkedButIgnored(path, rule string) Row { return Row{Path: path, Rule: rule, Warning: noEffect} }

// Table are the rows of a kind.
type Table []Row

// Of is the table of a kind; empty for one that is not listed.
func Of(kind string) Table {
	switch kind {
	case "Shoot":
		return shootRows()
	case "CloudProfile":
		return cloudProfileRows()
	case "Seed":
		return seedRows()
	case "Project":
		return projectRows()
	}
	return nil
}

// Find is the row for a field: its own, or that of the nearest field above it that has one.
func (t Table) Find(path string) (Row, bool) {
	best, found := Row{}, false
	for _, row := range t {
		if (path == row.Path || isBelow(path, row.Path)) && len(row.Path) >= len(best.Path) {
			best, found = row, true
		}
	}
	return best, found
}

// isBelow is whether a field is a part of another one.
func isBelow(path, parent string) bool {
	rest, found := strings.CutPrefix(path, parent)
	return found && rest != "" && strings.ContainsRune(".[{", rune(rest[0]))
}

// Sorted is the table in the order of its fields.
func (t Table) Sorted() Table {
	return slices.SortedFunc(slices.Values(t), func(a, b Row) int { return cmp.Compare(a.Path, b.Path) })
}
