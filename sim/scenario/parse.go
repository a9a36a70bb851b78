package scenario

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxSize of a scenario file in bytes.
const maxSize = 1 << 20

// ParseFile reads a scenario from a file; see Parse.
func ParseFile(path string) (*Scenario, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the scenario: %w", err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read the scenario: %w", err)
	}
	return Parse(path, content)
}

// Parse reads a scenario, fills in the defaults and checks it. The name of the file stands in the errors, which are
// Mistakes.
func Parse(file string, content []byte) (*Scenario, error) {
	s, mistakes := parse(content)
	if len(mistakes) == 0 {
		return s, nil
	}
	for i := range mistakes {
		mistakes[i].File = file
	}
	return nil, mistakes.sorted()
}

func parse(content []byte) (*Scenario, Mistakes) {
	if len(content) > maxSize {
		return nil, Mistakes{{Line: 1, Message: fmt.Sprintf("is larger than %d bytes; a scenario is a page", maxSize)}}
	}
	root, mistake := document(content)
	if mistake != nil {
		return nil, Mistakes{*mistake}
	}
	s := &Scenario{}
	d := &decoder{places: map[string]place{}}
	d.decode(root, reflect.ValueOf(s).Elem(), "")
	if len(d.mistakes) > 0 {
		return nil, d.mistakes
	}
	s.Default()
	for _, problem := range s.Check() {
		at := d.placeOf(problem.Field)
		d.mistakes = append(d.mistakes, Mistake{Line: at.line, Column: at.column, Field: problem.Field, Message: message(problem)})
	}
	return s, d.mistakes
}

// MistakeIn is a mistake that shows only when the scenario is to be told, at the place of the field in the file.
func MistakeIn(file, path, message string) Mistake {
	m := Mistake{File: file, Line: 1, Field: path, Message: message}
	content, err := os.ReadFile(file)
	if err != nil {
		return m // it was there a moment ago; the field still says where to look
	}
	root, wrong := document(content)
	if wrong != nil {
		return m
	}
	d := &decoder{places: map[string]place{}}
	d.decode(root, reflect.ValueOf(&Scenario{}).Elem(), "")
	at := d.placeOf(path)
	m.Line, m.Column = at.line, at.column
	return m
}

var yamlLine = regexp.MustCompile(`^yaml: (?:unmarshal errors:\n\s*)?line (\d+): `)

// document is the one YAML document in the content.
func document(content []byte) (root *yaml.Node, mistake *Mistake) {
	stream := yaml.NewDecoder(bytes.NewReader(content))
	var first, second yaml.Node
	if err := stream.Decode(&first); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &Mistake{Line: 1, Message: "is empty; must be a Scenario"}
		}
		return nil, syntax(err)
	}
	switch err := stream.Decode(&second); {
	case err == nil:
		return nil, &Mistake{Line: second.Line, Column: second.Column, Message: "is a second document; a file holds one scenario"}
	case !errors.Is(err, io.EOF):
		return nil, syntax(err)
	}
	return first.Content[0], nil
}

func syntax(err error) *Mistake {
	text, line := err.Error(), 1
	if found := yamlLine.FindStringSubmatch(text); found != nil {
		line, _ = strconv.Atoi(found[1])
		text = text[len(found[0]):]
	}
	return &Mistake{Line: max(line, 1), Message: "not YAML: " + strings.TrimPrefix(text, "yaml: ")}
}

// placeOf a field, or of the nearest field above it that stands in the file.
func (d *decoder) placeOf(path string) place {
	for {
		if at, ok := d.places[path]; ok {
			return at
		}
		cut := strings.LastIndexAny(path, ".[")
		if cut < 0 {
			return cmp.Or(d.places[""], place{line: 1})
		}
		path = path[:cut]
	}
}

func message(problem *field.Error) string { return problem.ErrorBody() }
