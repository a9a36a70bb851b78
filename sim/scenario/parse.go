package scenario

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/api/spelling"
	"github.com/transplant-sim/transplant/api/userfile"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// maxSize of a scenario file in bytes.
const maxSize = 1 << 20

// ParseFile reads a scenario from a file; see Parse.
func ParseFile(path string, extensions ...landscape.Extension) (*Scenario, error) {
	content, err := readFile(path, maxSize)
	if err != nil {
		return nil, fmt.Errorf("read the scenario: %w", err)
	}
	return Parse(path, content, extensions...)
}

// readFile of at most so many bytes.
func readFile(path string, most int64) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("open %s: it is a folder; give the files in it, such as %s", path,
			filepath.Join(path, "*.yaml"))
	}
	return userfile.Read(path, most)
}

// Parse reads a scenario, fills in the defaults and checks it. The name of the file stands in the errors, which are
// Mistakes. The landscape has these extensions beside the reference provider.
func Parse(file string, content []byte, extensions ...landscape.Extension) (*Scenario, error) {
	s := &Scenario{}
	err := parse(file, content, s, func(unread Unread) field.ErrorList {
		s.Default()
		s.Spec.Landscape.Extensions = extensions
		return s.Check(unread)
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// parse the one object of a file, and check it. The error, if there is one, is Mistakes.
func parse(file string, content []byte, into any, check func(Unread) field.ErrorList) error {
	mistakes := find(content, into, check)
	if len(mistakes) == 0 {
		return nil
	}
	for i := range mistakes {
		mistakes[i].File = file
	}
	return mistakes.sorted()
}

func find(content []byte, into any, check func(Unread) field.ErrorList) Mistakes {
	object := reflect.ValueOf(into).Elem()
	if len(content) > maxSize {
		return Mistakes{{Line: 1, Message: fmt.Sprintf("is larger than %d bytes; a %s is a page", maxSize, called(object))}}
	}
	root, mistake := document(content, object)
	if mistake != nil {
		return Mistakes{*mistake}
	}
	d := &decoder{places: map[string]place{}}
	d.decode(root, object, "")
	for _, problem := range check(d.unread()) {
		d.mistakes = append(d.mistakes, d.mistakeOf(problem))
	}
	for _, large := range d.large {
		if !slices.ContainsFunc(d.mistakes, func(m Mistake) bool { return m.Field == large.Field }) {
			d.mistakes = append(d.mistakes, large)
		}
	}
	return d.mistakes
}

// called is what an object of a file is called in sentences.
func called(object reflect.Value) string {
	return strings.ToLower(object.Type().Name()[:1]) + object.Type().Name()[1:]
}

// MistakeIn is a mistake that shows only when the scenario is to be run, at the place of the field in the file.
func MistakeIn(file, path, message string) Mistake {
	return mistakeIn(file, path, message, &Scenario{})
}

func mistakeIn(file, path, message string, form any) Mistake {
	object := reflect.ValueOf(form).Elem()
	m := Mistake{File: file, Line: 1, Field: path, Message: message}
	content, err := readFile(file, maxSize)
	if err != nil {
		return m // it was there a moment ago; the field still says where to look
	}
	root, wrong := document(content, object)
	if wrong != nil {
		return m
	}
	d := &decoder{places: map[string]place{}}
	d.decode(root, object, "")
	at := d.placeOf(path)
	m.Line, m.Column = at.line, at.column
	return m
}

// document is the one YAML document in the content.
func document(content []byte, object reflect.Value) (root *yaml.Node, mistake *Mistake) {
	stream := yaml.NewDecoder(bytes.NewReader(content))
	var first, second yaml.Node
	if err := stream.Decode(&first); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &Mistake{Line: 1, Message: fmt.Sprintf("is empty; must be a %s", object.Type().Name())}
		}
		return nil, syntax(err, content)
	}
	switch err := stream.Decode(&second); {
	case err == nil:
		return nil, &Mistake{Line: second.Line, Column: second.Column,
			Message: fmt.Sprintf("is a second document; a file holds one %s", called(object))}
	case !errors.Is(err, io.EOF):
		return nil, syntax(err, content)
	}
	return first.Content[0], nil
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

// mistakeOf a problem, at its place in the file.
func (d *decoder) mistakeOf(problem *field.Error) Mistake {
	at := d.placeOf(problem.Field)
	return Mistake{Line: at.line, Column: at.column, Field: problem.Field, Message: problem.ErrorBody(),
		Meant: meant(problem)}
}

// inCall is the name in a condition such as shoot('alpha').
var inCall = regexp.MustCompile(`^\w+\('(.*)'\)$`)

// meant is the value of a closed set that is likeliest meant by a wrong one; empty if none is near.
func meant(problem *field.Error) string {
	if problem.Type != field.ErrorTypeNotSupported {
		return ""
	}
	var known []string
	for rest := problem.Detail; strings.Contains(rest, `"`); {
		rest = rest[strings.Index(rest, `"`):]
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return ""
		}
		value, _ := strconv.Unquote(quoted)
		known, rest = append(known, value), rest[len(quoted):]
	}
	return spelling.Likeliest(inCall.ReplaceAllString(fmt.Sprint(problem.BadValue), "$1"), known)
}
