package scenario

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Mistake in a scenario file.
type Mistake struct {
	File    string `json:"file"`
	Line    int    `json:"line"`             // from 1
	Column  int    `json:"column,omitempty"` // from 1; 0 when only the line is known
	Field   string `json:"field,omitempty"`  // path such as spec.steps[2].migrate.to; empty for the file as a whole
	Message string `json:"message"`          // what is wrong, and what would be right
	Meant   string `json:"meant,omitempty"`  // of the values that would be right, the likeliest one; empty if none is near
}

func (m Mistake) Error() string {
	text := strings.Join(strings.Fields(m.Message), " ") // one line, whatever the message quotes
	if m.Meant != "" {
		text += fmt.Sprintf("; did you mean %q?", m.Meant)
	}
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

// Unread are the fields of a file that could not be read. Checks of the others must not report what is merely their
// consequence. The zero value is a file that could be read.
type Unread struct {
	paths []string
	given map[string]place // the fields that stand in the file
}

func (d *decoder) unread() Unread {
	u := Unread{given: d.places}
	for _, m := range d.mistakes {
		u.paths = append(u.paths, m.Field)
	}
	return u
}

// in says whether a field, or anything in it, could not be read.
func (u Unread) in(path string) bool {
	return u.lacks(path) || slices.ContainsFunc(u.paths, func(wrong string) bool { return isPart(wrong, path) })
}

// lacks says whether a field could not be read as a whole. One that is not in the file may be what an unknown field
// beside it means, or what one beside a field around it means.
func (u Unread) lacks(path string) bool {
	if path == "" {
		return slices.Contains(u.paths, "")
	}
	_, given := u.given[path]
	return slices.ContainsFunc(u.paths, func(wrong string) bool {
		return isPart(path, wrong) || !given && parent(wrong) == parent(path)
	}) || !given && u.lacks(parent(path))
}

// partOf a file in which one mistake may be the consequence of another.
var partOf = regexp.MustCompile(`^(spec\.steps\[\d+\]|spec\.landscape\.\w+|(spec|metadata)\.\w+|\w+)`)

// dependsOn are parts of a file in which mistakes may be consequences of those in others.
var dependsOn = map[string]string{"spec.landscape.shoots": "spec.landscape.seeds", "spec.sweep": "spec.steps"}

// explains says whether a problem may be there only because something could not be read.
func (u Unread) explains(problem *field.Error) bool {
	part := partOf.FindString(problem.Field)
	other, depends := dependsOn[part]
	return u.in(part) || depends && u.in(other)
}

// isPart says whether a path is that of a field or of something in it. All is in the field without a name.
func isPart(path, of string) bool {
	rest, is := strings.CutPrefix(path, of)
	return is && (of == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}

func parent(path string) string { return path[:max(strings.LastIndexAny(path, ".["), 0)] }
