// Package spelling finds the name that was meant by a misspelt one.
//
// It knows no names of its own and corrects nothing: it is for messages to people.
package spelling

import (
	"fmt"
	"strings"
)

// longest is how many bytes a name may have to be compared.
const longest = 100

// Likeliest of the names that is meant by a wrong one; empty if none is near. Up to half of the letters may be wrong:
// it is for short lists, where something is meant for certain.
func Likeliest(wrong string, known []string) string { return Nearest(wrong, known, len(wrong)/2) }

// Suggest says which names would be right, the likeliest first.
func Suggest(wrong string, known []string) string {
	all := "known are " + strings.Join(known, ", ")
	if best := Likeliest(wrong, known); best != "" {
		return fmt.Sprintf("did you mean %q? %s", best, all)
	}
	return all
}

// Question asks for the likeliest of the names at the end of a sentence; it is empty if none is near.
func Question(wrong string, known []string) string { return question(Likeliest(wrong, known)) }

// AlmostQuestion is a Question about what is Almost one of the names.
func AlmostQuestion(wrong string, known []string) string { return question(Almost(wrong, known)) }

func question(best string) string {
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// Almost is the name that an unknown one is for certain, since at most a fifth of the letters is wrong: it is for names
// beside which there may be others, which must not be taken for these.
func Almost(wrong string, known []string) string { return Nearest(wrong, known, max(1, len(wrong)/5)) }

// Nearest of the names that differ from a wrong one in that many letters at most, whatever their case; empty if there
// is none. Of those that are as near it is the one that begins most alike: people cut names short.
func Nearest(wrong string, known []string, most int) string {
	best, distance, begun := "", most+1, 0
	if len(wrong) > longest {
		return ""
	}
	wrong = strings.ToLower(wrong)
	for _, name := range known {
		d, begins := editDistance(wrong, strings.ToLower(name)), commonPrefix(wrong, strings.ToLower(name))
		if d < distance || d == distance && d <= most && begins > begun {
			best, distance, begun = name, d, begins
		}
	}
	return best
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func editDistance(a, b string) int {
	if len(b) > longest {
		return longest
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
