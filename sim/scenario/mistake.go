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
	return m
}

// suggest says which names would be right, the likeliest first.
func suggest(wrong string, known []string) string {
	all := "known are " + strings.Join(known, ", ")
	if best := likeliest(wrong, known); best != "" {
		return fmt.Sprintf("did you mean %q? %s", best, all)
	}
	return all
}

// likeliest of the names that is meant by a wrong one; empty if none is near.
func likeliest(wrong string, known []string) string {
	best, distance := "", len(wrong)/2+1
	for _, name := range known {
		if d := editDistance(strings.ToLower(wrong), strings.ToLower(name)); d < distance {
			best, distance = name, d
		}
	}
	if len(wrong) > 100 {
		return ""
	}
	return best
}

func editDistance(a, b string) int {
	if len(a) > 100 || len(b) > 100 {
		return 100
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
