package expression

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/google/cel-go/cel"
)

// explain turns the compiler's first complaint into one line, and says what would be right where that is known.
func explain(issues *cel.Issues, text string) error {
	first := issues.Errors()[0]
	message, _, _ := strings.Cut(first.Message, "\n")
	message = strings.TrimSuffix(message, " (in container '')")
	column := first.Location.Column()
	return fmt.Errorf("column %d: %s", column+1, message+remedy(message, rest(text, first.Location.Line(), column)))
}

// rest of the expression from a place on, as far as its line goes.
func rest(text string, line, column int) string {
	lines := strings.Split(text, "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	characters := []rune(lines[line-1])
	return string(characters[min(column, len(characters)):])
}

var (
	undeclared = regexp.MustCompile(`^undeclared reference to '(\w+)'`)
	overload   = regexp.MustCompile(`^found no matching overload for '(\w*?)_?([^\w']*)_?' applied to '\((.*)\)'`)
)

// writtenTime is how times are.
const writtenTime = "a time is written as duration('75ms')"

// remedy for a complaint about what stands there; empty if there is nothing to add.
func remedy(message, there string) string {
	switch name, types := undeclared.FindStringSubmatch(message), overload.FindStringSubmatch(message); {
	case name != nil && (name[1] == "shoot" || name[1] == "seed"):
		return fmt.Sprintf("; write %s('…'), with its name", name[1])
	case name != nil || strings.HasPrefix(message, "undefined field"):
		return "; " + vocabulary()
	case types != nil:
		return suits(types[1]+types[2], types[3])
	case strings.HasPrefix(message, "invalid duration"):
		return "; " + writtenTime
	case strings.HasPrefix(message, "expected type 'bool'"):
		return "; both sides of && and || must be true or false, such as shoot('…').healthy"
	case strings.HasPrefix(message, "Syntax error"):
		return misplaced(there)
	}
	return ""
}

// suits says which types an operator or function takes instead of these.
func suits(operator, types string) string {
	switch {
	case operator == "shoot" || operator == "seed":
		return fmt.Sprintf("; it takes one name, such as %s('…')", operator)
	case operator == "!":
		return "; ! needs what is true or false, such as shoot('…').healthy"
	case strings.Contains(types, "duration"):
		return "; both sides must be of one type: " + writtenTime
	case types == "string, int" || types == "int, string":
		return "; both sides must be of one type: a text stands in quotes, a number without"
	case strings.Contains(types, ", ") && !strings.ContainsAny(operator, "abcdefghijklmnopqrstuvwxyz"):
		return "; both sides must be of one type"
	}
	return ""
}

// meant says how what others write is written in CEL.
var meant = map[string]string{
	"=": "equality is ==", "is": "equality is ==", "&": "and is &&", "and": "and is &&", "|": "or is ||", "or": "or is ||",
	"not": "not is !",
}

// misplaced says where a syntax error stands, and how what others write there is written.
func misplaced(there string) string {
	if there = strings.TrimSpace(there); there == "" {
		return "; the expression ends too early: something is left open or missing"
	}
	word := strings.Fields(there)[0]
	if right := meant[word]; right != "" {
		return fmt.Sprintf("; it stands at %q: %s", word, right)
	}
	return fmt.Sprintf("; it stands at %.20q", there)
}
