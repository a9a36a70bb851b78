package reference

import (
	"encoding/json"
	"fmt"
	"go/doc"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/transplant-sim/transplant/sim/expression"
	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/scenario/fields"
	"github.com/transplant-sim/transplant/sim/step"
)

// Page is docs/steps.md: every word that may stand in a scenario, one item each. Like Schema it must be called from the
// folder of package scenario.
func Page() ([]byte, error) {
	from, err := reflector()
	if err != nil {
		return nil, err
	}
	p := &page{comments: from.CommentMap}
	p.say("# Reference of scenario files\n\nEvery step, fault, setting, condition and promise of a scenario, with all " +
		"fields. `make generate` writes this page and the [schema](../scenarios/scenario.schema.json) from the Go types. " +
		"[scenarios.md](scenarios.md) begins with a whole file that works.\n")
	p.say("A field marked * is required. A duration is written as `30s` and is at most %.0fh, a size as `64Ki`. A list "+
		"has at most %d items, a text %d bytes.", scenario.MaxDuration.Hours(), scenario.MaxItems, scenario.MaxText)
	p.section("Metadata", "What stands in `metadata`.", reflect.TypeFor[scenario.Metadata]())
	p.section("The file", "What stands in `spec`.", reflect.TypeFor[scenario.Spec]())
	p.steps()
	p.faults()
	p.section("When a fault begins",
		"Under `when` of a `fault` step: one of these. Without `when` the fault begins at its step.",
		reflect.TypeFor[step.When]())
	if err := p.settings(); err != nil {
		return nil, err
	}
	p.conditions()
	p.oracles()
	p.contradictions()
	p.links()
	p.say("\n## Parts of the above")
	for i := 0; i < len(p.parts); i++ { // parts have parts
		t := p.parts[i]
		p.say("\n### %s\n\n%s\n", t.Name(), p.of(t))
		p.fields(t, "")
	}
	return []byte(p.text.String()), nil
}

// page is being written.
type page struct {
	comments map[string]string
	text     strings.Builder
	parts    []reflect.Type // that have a section of their own in the end
}

// say adds lines. One that is too long is wrapped.
func (p *page) say(format string, arguments ...any) {
	for line := range strings.SplitSeq(fmt.Sprintf(format, arguments...), "\n") {
		p.text.WriteString(wrap(line) + "\n")
	}
}

// pageColumns is where a line of the page ends at the latest, unless a word in it is longer.
const pageColumns = 120

// special is a word that would mean something else at the beginning of a line: an item of a list, a heading, a
// quotation, a row of a table.
var special = regexp.MustCompile(`^(([-+*]|#+|\d+[.)])$|[>|])`)

// wrap breaks a line of Markdown at its spaces. What follows an item of a list is indented like its text.
func wrap(line string) string {
	text := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(text)]
	if strings.HasPrefix(text, "- ") {
		indent += "  "
	}
	var out strings.Builder
	width := 0
	for i, word := range strings.Split(line, " ") {
		length := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case width+1+length > pageColumns && !special.MatchString(word):
			out.WriteString("\n" + indent)
			width = len(indent)
		default:
			out.WriteString(" ")
			width++
		}
		out.WriteString(word)
		width += length
	}
	return out.String()
}

// of is the first sentence about a type, or about a field of it.
func (p *page) of(t reflect.Type, field ...string) string {
	key := strings.Join(append([]string{t.PkgPath() + "." + t.Name()}, field...), ".")
	return new(doc.Package).Synopsis(p.comments[key])
}

// documented is a place in the documents, as Go comments name it.
var documented = regexp.MustCompile(`\bdocs/([\w/-]+\.md(?:#[\w-]+)?)`)

// item is a line about a word: the sentence begins with it, as Go comments do.
func item(word, goName, sentence string) string {
	sentence = strings.ReplaceAll(sentence, "<", `\<`) // it is no HTML
	sentence = documented.ReplaceAllString(sentence, "[$1]($1)")
	if rest, does := strings.CutPrefix(sentence, goName); does && rest != "" && strings.ContainsAny(rest[:1], " ,:") {
		return fmt.Sprintf("- `%s`%s", word, rest)
	}
	return fmt.Sprintf("- `%s`: %s", word, sentence)
}

func (p *page) section(title, about string, t reflect.Type) {
	p.say("\n## %s\n\n%s\n", title, about)
	p.fields(t, "")
}

// fields of a type, one line each, and what is embedded by reference.
func (p *page) fields(t reflect.Type, indent string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, optional := fields.Tag(f)
		switch {
		case f.Anonymous:
			p.say("%s- and %s", indent, p.part(f.Type))
		case name != "":
			line := item(name, f.Name, p.of(t, f.Name))
			if !optional {
				line = strings.Replace(line, "`"+name+"`", "`"+name+"`*", 1)
			}
			p.say("%s%s%s", indent, line, p.form(f.Type))
		}
	}
}

// form is what there is to say about the values of a type.
func (p *page) form(t reflect.Type) string {
	if s := schemaOf(t); s != nil {
		var values []string
		for _, v := range s.Enum {
			values = append(values, fmt.Sprint(v))
		}
		if len(values) > 0 {
			return " One of " + strings.Join(values, ", ") + "."
		}
		return ""
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return p.form(t.Elem())
	case reflect.Struct:
		if t != reflect.TypeFor[step.Spec]() && t != reflect.TypeFor[landscape.Settings]() &&
			t != reflect.TypeFor[step.When]() {
			return " See " + p.part(t) + "."
		}
	}
	return ""
}

// part is a link to the section of a type.
func (p *page) part(t reflect.Type) string {
	if !slices.Contains(p.parts, t) {
		p.parts = append(p.parts, t)
	}
	return fmt.Sprintf("[%s](#%s)", t.Name(), strings.ToLower(t.Name()))
}

func (p *page) steps() {
	p.say("\n## Steps\n\nEach item of `steps` is one of these.\n")
	form := reflect.TypeFor[step.Spec]()
	for i := range form.NumField() {
		verb, _ := fields.Tag(form.Field(i))
		t := form.Field(i).Type.Elem()
		if t == reflect.TypeFor[step.Inject]() {
			p.say("%s It has a `name`*, one of the [faults](#faults), and optionally [`when`](#when-a-fault-begins).",
				item(verb, t.Name(), p.of(t)))
			continue
		}
		p.say("%s", item(verb, t.Name(), p.of(t)))
		if t.Kind() == reflect.Struct && schemaOf(t) == nil {
			p.fields(t, "  ")
		}
	}
}

func (p *page) faults() {
	p.say("\n## Faults\n\nA `fault` step has one of these. It ends with a `heal` step of its name, or after the last " +
		"step. " +
		"A fault must hit something: a run in which one hits nothing is Inconclusive, unless it has Failed. The " +
		"first step begins when every shoot is ready.\n")
	form := reflect.TypeFor[fault.Spec]()
	for i := range form.NumField() {
		if f := form.Field(i); f.Type.Kind() == reflect.Pointer {
			kind, _ := fields.Tag(f)
			p.say("%s", item(kind, f.Type.Elem().Name(), p.of(f.Type.Elem())))
			p.fields(f.Type.Elem(), "  ")
		}
	}
}

// settings with their defaults, which are those of scenarios.
func (p *page) settings() error {
	s := landscape.Settings{}
	s.Default()
	content, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("marshal the default settings: %w", err)
	}
	var defaults map[string]any
	if err := json.Unmarshal(content, &defaults); err != nil {
		return fmt.Errorf("read the default settings: %w", err)
	}
	p.say("\n## Settings\n\nUnder `landscape.settings`; all are optional.\n")
	t := reflect.TypeFor[landscape.Settings]()
	for i := range t.NumField() {
		f := t.Field(i)
		name, _ := fields.Tag(f)
		line := item(name, f.Name, p.of(t, f.Name))
		if value, has := defaults[name]; has {
			line += fmt.Sprintf(" Default: %v.", value)
		}
		p.say("%s", line)
	}
	return nil
}

func (p *page) conditions() {
	p.say("\n## Conditions\n\n`expect`, `wait` and `when` have conditions in [CEL](https://cel.dev), with the variables " +
		"and functions below.\n")
	p.say("If something could not be read, a condition that depends on it is unknown, and not met. If it was read and " +
		"is not there, such as a condition that a shoot does not have, the whole condition is false.\n")
	p.say("When the time of an `expect` is over, its last observation decides, whatever was seen before: false is a " +
		"violation, and unknown makes the run Inconclusive.\n")
	p.say("Care writes the conditions that `healthy` needs: once in `careSyncPeriod`, and when an operation has " +
		"succeeded. Extensions check what care asks them for as often. So give an `expect` of `healthy` two of these " +
		"periods more than the operation takes. When its time is over, it names what is not as it must be, each " +
		"condition with its reason and message.\n")
	for _, word := range expression.Vocabulary() {
		p.say("%s", item(word.Written, word.Form.Name(), p.of(word.Form)))
		for i := range word.Form.NumField() {
			if f := word.Form.Field(i); f.Tag.Get("cel") != "" {
				p.say("  %s", item(f.Tag.Get("cel"), f.Name, p.of(word.Form, f.Name)))
			}
		}
	}
}

func (p *page) oracles() {
	p.say("\n## Promises\n\n`always` names promises, which must hold at every moment. [Measure](#measure) has the " +
		"goals.\n")
	for _, o := range oracle.All() {
		p.say("%s", item(o.Name(), o.Name(), p.of(reflect.TypeOf(o))))
	}
}

func (p *page) contradictions() {
	p.say("\n## Contradictions\n\n`validate` and `run` report before the run what a scenario makes impossible by " +
		"itself:\n")
	p.say("- *refused*: no run can meet it but by luck, or no run can show whether it is met.")
	p.say("- *out of reach*: a time contradicts the settings. That is a mistake for `validate`. `run` warns, and goes " +
		"on: by how much a goal is missed is an answer, and `--timeout-multiplier` may change it.")
	p.say("- *warned of*: nothing puts it to the test.\n")
	for _, r := range scenario.Rules() {
		p.say("- %s: %s where %s.", r.Of, r.Follows, r.Where)
	}
}

// links are those of a landscape with one seed.
func (p *page) links() {
	p.say("\n## Links\n\n`actor` and `target` of a fault name a link: who connects to whom. SEED is the name of a seed.\n")
	l := landscape.Landscape{Seeds: []landscape.Seed{{Name: "SEED"}}, Settings: landscape.Settings{SecondSign: true}}
	for _, actor := range l.Actors() {
		p.say("- `%s` to %s", actor, strings.Join(l.TargetsOf(actor), ", "))
	}
	p.say("- `NAME-SEED` to SEED, cloud: a [third-party extension](third-party-extensions.md) of that name, if " +
		"the run has it.")
	p.say("- `resource-manager-SEED` to SEED, if the run has third-party extensions")
	p.say("\n`shoots` are all shoots, `shoot/NAME` is one. `garden-controller-manager` connects to shoots only with the " +
		"setting `secondSign`.")
}
