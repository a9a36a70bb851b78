package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// syntax is why content is no YAML, where that is, and what to do about it.
func syntax(err error, content []byte) *Mistake {
	found := (*yaml.LoadError)(nil)
	if !errors.As(err, &found) {
		return &Mistake{Line: 1, Message: "not YAML: " + err.Error()}
	}
	what, _, _ := strings.Cut(found.Message, " (value:") // of a byte that cannot be printed
	s := spot{lines: bytes.Split(content, []byte("\n")), at: place{found.Mark.Line, found.Mark.Column},
		from: place{found.ContextMark.Line, found.ContextMark.Column}}
	if s.at.line == 0 { // the reader knows no lines
		s.at = firstUnreadable(content)
	}
	at, remedy := s.remedy(what)
	if remedy != "" {
		what += "; " + remedy
	}
	return &Mistake{Line: max(at.line, 1), Column: at.column, Message: "not YAML: " + what}
}

// spot is where a parser gave up, and where what it was reading began.
type spot struct {
	lines    [][]byte
	at, from place
}

// remedy for what the parser says, and the place that is to blame.
func (s spot) remedy(what string) (at place, text string) {
	says := func(part string) bool { return strings.Contains(what, part) }
	switch {
	case says("tab character"), s.char(s.at) == "\t":
		return s.at, fmt.Sprintf("indent with spaces: line %d has a tab", s.at.line)
	case says("cannot start any token"):
		return s.at, fmt.Sprintf("put a text that begins with %s in quotes", s.char(s.at))
	case says("expected alphabetic or numeric character"):
		return s.from, fmt.Sprintf("put a text that begins with %s in quotes", s.char(s.from))
	case says("unknown anchor"):
		return s.at, "write the value out, or put a text that begins with * in quotes"
	case says("tag handle"):
		return s.at, "put a text that begins with ! in quotes"
	case says("escape character"):
		return s.at, `put a text with \ in it in single quotes`
	case says("could not find expected ':'"):
		return s.from, "a key has a colon and a space after it"
	case says("mapping values are not allowed") && bytes.Contains(s.before(), []byte(": ")):
		return s.at, `put a text with a colon in it in quotes, such as "a: b", and end every quote above it`
	case says("mapping values are not allowed"):
		return s.at, fmt.Sprintf(
			"check the indentation of line %d, and above it for a key without its colon and a quote without its end", s.at.line)
	case says("block sequence entries are not allowed"):
		return s.at, "begin the list on a line of its own, or put the text in quotes"
	case says("expected key"), says("expected '-' indicator"), says("expected <document start>"):
		return s.at, s.misplaced()
	case says("expected ',' or"):
		return s.unclosed()
	case says("unexpected end of stream"):
		return s.from, "the quote here does not end"
	case says("expected node content") && s.char(s.at) == "":
		return s.last(), "a bracket is left open: close it"
	case says("control characters"):
		return s.at, "leave it out"
	case says("UTF-8"):
		return s.at, "write the file in UTF-8"
	}
	return s.at, ""
}

// misplaced is what neither goes on with what stands above it nor is part of it.
func (s spot) misplaced() string {
	if len(bytes.TrimSpace(s.before())) > 0 {
		return "nothing may follow a value that ends with a quote or a bracket: put the whole text in quotes, or leave " +
			"this out"
	}
	return fmt.Sprintf("check the indentation of line %d: it must be that of the lines beside it", s.at.line)
}

// unclosed is a bracket that is closed too late, or never; on one line it may be that only a comma is missing.
func (s spot) unclosed() (place, string) {
	if s.from.line == s.at.line {
		return s.at, fmt.Sprintf("put a comma before it, or close the %q of line %d, column %d", s.char(s.from), s.from.line,
			s.from.column)
	}
	return s.from, fmt.Sprintf("the %q here is not closed before line %d, column %d", s.char(s.from), s.at.line,
		s.at.column)
}

// before is what stands on the line before the spot.
func (s spot) before() []byte {
	if s.at.line < 1 || s.at.line > len(s.lines) {
		return nil
	}
	line := s.lines[s.at.line-1]
	for range s.at.column - 1 {
		_, size := utf8.DecodeRune(line)
		line = line[size:]
	}
	return bytes.TrimSuffix(s.lines[s.at.line-1], line)
}

// char that stands at a place; empty at the end of a line.
func (s spot) char(at place) string {
	s.at = at
	if at.line < 1 || at.line > len(s.lines) {
		return ""
	}
	rest := s.lines[at.line-1][len(s.before()):]
	_, size := utf8.DecodeRune(rest)
	return string(rest[:size])
}

// last place where something stands.
func (s spot) last() place {
	for i := len(s.lines) - 1; i >= 0; i-- {
		if line := bytes.TrimRight(s.lines[i], " \r"); len(line) > 0 {
			return place{i + 1, utf8.RuneCount(line)}
		}
	}
	return place{line: 1}
}

// firstUnreadable is the place of the first byte that stands in no text.
func firstUnreadable(content []byte) place {
	at := place{1, 0}
	for len(content) > 0 {
		char, size := utf8.DecodeRune(content)
		at.column++
		switch {
		case char == '\n':
			at = place{at.line + 1, 0}
		case char == utf8.RuneError && size == 1, char < ' ' && char != '\t' && char != '\r', char == 0x7f:
			return at
		}
		content = content[size:]
	}
	return place{line: 1} // the reader minds something else
}
