package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Mistake in a scenario file.
type Mistake struct {
	File    string
	Line    int    // from 1
	Column  int    // from 1; 0 when only the line is known
	Field   string // path such as spec.steps[2].migrate.to; empty for the file as a whole
	Message string // what is wrong, and what would be right
}

func (m Mistake) Error() string {
	text := strings.Join(strings.Fields(m.Message), " ") // one line, whatever the message quotes
	if m.Field != "" {
		text = strings.Join(strings.Fields(m.Field), " ") + ": " + text
	}
	if m.Column == 0 {
		return fmt.Sprintf("%s:%d: %s", m.File, m.Line, text)
	}
	return fmt.Sprintf("%s:%d:%d: %s", m.File, m.Line, m.Column, text)
}

// Mistakes are all mistakes of a file, in order of their places. As a text they are one line each.
type Mistakes []Mistake

func (m Mistakes) Error() string {
	lines := make([]string, 0, len(m))
	for _, mistake := range m {
		lines = append(lines, mistake.Error())
	}
	return strings.Join(lines, "\n")
}

func (m Mistakes) sorted() Mistakes {
	slices.SortStableFunc(m, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(m) // others' checks report some things twice
}
