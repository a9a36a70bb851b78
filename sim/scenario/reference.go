package scenario

import (
	"encoding/json"
	"fmt"
	"go/doc"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/transplant-sim/transplant/sim/expression"
	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/step"
)

// Reference is a page for people with every word that may stand in a scenario, one line each. Like the Schema it is
// made of the Go types and their comments, and must be called from this package's folder.
func Reference() ([]byte, error) {
	from, err := reflector()
	if err != nil {
		return nil, err
	}
	p := &page{comments: from.CommentMap}
	p.say("# The words of scenarios\n\nEvery word that may stand in a scenario, from the Go types by `make generate`, " +
		"as the [schema](../scenarios/scenario.schema.json) is.")
	p.say("[The stories](../scenarios/README.md) are examples; `transplant validate` finds mistakes, `transplant plan` " +
		"shows what is filled in.")
	p.say("Durations are such as `30s` and at most %.0fh, sizes such as `64Ki`. A list has at most %d items, a text %d "+
		"bytes. A field marked * must be given.",
		maxDuration.Hours(), maxItems, maxText)
	p.section("Metadata", "What stands in `metadata`.", reflect.TypeFor[Metadata]())
	p.section("The file", "What stands in `spec`.", reflect.TypeFor[Spec]())
	p.steps()
	p.faults()
	p.section("When a fault begins",
		"Under `when` of a `fault` step: one of these. Without it the fault begins at its step.",
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

func (p *page) say(format string, arguments ...any) { fmt.Fprintf(&p.text, format+"\n", arguments...) }

// of is the first sentence about a type, or about a field of it.
func (p *page) of(t reflect.Type, fields ...string) string {
	key := strings.Join(append([]string{t.PkgPath() + "." + t.Name()}, fields...), ".")
	return new(doc.Package).Synopsis(p.comments[key])
}

// documented is a place in the documents, as Go comments name it.
var documented = regexp.MustCompile(`\bdocs/([\w/-]+\.md(?:#[\w-]+)?)`)

// told is a line about a word: the sentence begins with it, as Go comments do.
func told(word, goName, sentence string) string {
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
		name, optional := jsonTag(f)
		switch {
		case f.Anonymous:
			p.say("%s- and %s", indent, p.part(f.Type))
		case name != "":
			line := told(name, f.Name, p.of(t, f.Name))
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
	p.say("\n## Steps\n\nEach of `steps` is one of these.\n")
	form := reflect.TypeFor[step.Spec]()
	for i := range form.NumField() {
		verb, _ := jsonTag(form.Field(i))
		t := form.Field(i).Type.Elem()
		if t == reflect.TypeFor[step.Inject]() {
			p.say("%s With a `name`*, one of the [faults](#faults), and [`when`](#when-a-fault-begins), which is optional.",
				told(verb, t.Name(), p.of(t)))
			continue
		}
		p.say("%s", told(verb, t.Name(), p.of(t)))
		if t.Kind() == reflect.Struct && schemaOf(t) == nil {
			p.fields(t, "  ")
		}
	}
}

func (p *page) faults() {
	p.say("\n## Faults\n\nIn a `fault` step stands one of these. It ends with a `heal` step of its name, or with the " +
		"story.")
	p.say("A fault must hit something: a run in which one hits nothing is Inconclusive, unless a promise was broken.")
	p.say("The first step begins when every shoot is ready.\n")
	form := reflect.TypeFor[fault.Spec]()
	for i := range form.NumField() {
		if f := form.Field(i); f.Type.Kind() == reflect.Pointer {
			kind, _ := jsonTag(f)
			p.say("%s", told(kind, f.Type.Elem().Name(), p.of(f.Type.Elem())))
			p.fields(f.Type.Elem(), "  ")
		}
	}
}

// settings with their defaults, which are those of stories.
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
		name, _ := jsonTag(f)
		line := told(name, f.Name, p.of(t, f.Name))
		if value, has := defaults[name]; has {
			line += fmt.Sprintf(" Default: %v.", value)
		}
		p.say("%s", line)
	}
	return nil
}

func (p *page) conditions() {
	p.say("\n## Conditions\n\n`expect`, `wait` and `when` take conditions in [CEL](https://cel.dev).")
	p.say("What cannot be read cannot be told, and nothing that depends on it is met. What was read and is not there, " +
		"as a condition that a shoot does not have, makes the whole false.")
	p.say("When the time of an `expect` is over its last look decides, whatever was seen before: false is a violation, " +
		"and what cannot be told is inconclusive.")
	p.say("Care writes the conditions that `healthy` asks for: once in `careSyncPeriod`, and when an operation has " +
		"succeeded. Extensions check as often what care asks them for. So give an `expect` of `healthy` two of these " +
		"periods more than the operation takes. When its time is over, it names what is not as it shall be, each " +
		"condition with its reason and message.")
	p.say("They may ask for these.\n")
	for _, word := range expression.Vocabulary() {
		p.say("%s", told(word.Written, word.Form.Name(), p.of(word.Form)))
		for i := range word.Form.NumField() {
			if f := word.Form.Field(i); f.Tag.Get("cel") != "" {
				p.say("  %s", told(f.Tag.Get("cel"), f.Name, p.of(word.Form, f.Name)))
			}
		}
	}
}

func (p *page) oracles() {
	p.say("\n## Promises\n\n`always` names those that must hold at every moment; what `measure` bounds is in " +
		"[Measure](#measure).\n")
	for _, o := range oracle.All() {
		p.say("%s", told(o.Name(), o.Name(), p.of(reflect.TypeOf(o))))
	}
}

// gradeWords say what follows from a contradiction.
var gradeWords = map[grade]string{never: "refused", late: "out of reach", idle: "warned of"}

func (p *page) contradictions() {
	p.say("\n## Contradictions\n\n`validate` and `run` tell before the run what a scenario makes impossible by itself:\n")
	p.say("- *refused* is what no run can hold but by luck, and what no run can show to be kept or broken.")
	p.say("- *out of reach* are times that contradict the settings. They are a mistake for `validate`. `run` warns of")
	p.say("  them, and goes on: by how much a goal is missed is an answer, and `--timeout-multiplier` may change it.")
	p.say("- *warned of* is what nothing puts to the test.\n")
	for _, r := range rules {
		var names []string
		for _, name := range r.of {
			names = append(names, "`"+name+"`")
		}
		if len(r.of) == len(ofShoots) {
			names = []string{"every promise, `apiDowntime`"}
		}
		p.say("- %s: %s where %s.", strings.Join(names, ", "), gradeWords[r.grade], r.where)
	}
	for _, r := range stepRules {
		p.say("- %s: %s where %s.", r.of, gradeWords[r.grade], r.where)
	}
}

// links are those of a landscape with one seed.
func (p *page) links() {
	p.say("\n## Links\n\nWho speaks to whom, which `actor` and `target` of a fault name; SEED is the name of a seed.\n")
	l := landscape.Landscape{Seeds: []landscape.Seed{{Name: "SEED"}}, Settings: landscape.Settings{SecondSign: true}}
	for _, actor := range l.Actors() {
		p.say("- `%s` to %s", actor, strings.Join(l.TargetsOf(actor), ", "))
	}
	p.say("- `NAME-SEED` to SEED, cloud: an [extension of one's own](own-extension.md) of that name, where the run is " +
		"given it.")
	p.say("\n`shoots` are all of them, `shoot/NAME` is one. `garden-controller-manager` speaks to shoots only with the " +
		"setting `secondSign`.")
}
