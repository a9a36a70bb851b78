package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v4"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/transplant-sim/transplant/api/spelling"
	"github.com/transplant-sim/transplant/sim/fault/chaosmesh"
	"github.com/transplant-sim/transplant/sim/fit"
	"github.com/transplant-sim/transplant/sim/mergepatch"
	"github.com/transplant-sim/transplant/sim/scenario/fields"
	"github.com/transplant-sim/transplant/sim/step/manifest"
)

// decoder fills Go values from YAML, strictly: it knows the place of every field and accepts no field, type or value
// that the Go types do not have.
type decoder struct {
	places   map[string]place // by path
	mistakes []Mistake
	large    []Mistake // numbers that are too large, if no check says it better
}

// What a file may have at most, whatever its fields are for: nobody means more, and no sum of durations overflows.
const (
	MaxDuration = 7 * 24 * time.Hour
	MaxText     = 4096 // bytes
	MaxItems    = 1000
)

// place in a file, both from 1.
type place struct{ line, column int }

func (d *decoder) fail(node *yaml.Node, path, format string, arguments ...any) {
	d.mistakes = append(d.mistakes, mistakeAt(node, path, format, arguments...))
}

func mistakeAt(node *yaml.Node, path, format string, arguments ...any) Mistake {
	return Mistake{Line: node.Line, Column: node.Column, Field: path, Message: fmt.Sprintf(format, arguments...)}
}

// maxQuantity is more bytes than any machine has.
var maxQuantity = resource.MustParse("1Pi")

var (
	durationType = reflect.TypeFor[metav1.Duration]()
	quantityType = reflect.TypeFor[resource.Quantity]()
	// foreignTypes are objects of others that the format has in it; they read themselves, from JSON.
	foreignTypes = []reflect.Type{reflect.TypeFor[chaosmesh.Experiment](), reflect.TypeFor[mergepatch.Merge](),
		reflect.TypeFor[mergepatch.Part](),
		reflect.TypeFor[manifest.Object](), reflect.TypeFor[runtime.RawExtension]()}
)

func (d *decoder) decode(node *yaml.Node, into reflect.Value, path string) {
	d.places[path] = place{node.Line, node.Column}
	switch {
	case node.Kind == yaml.AliasNode || node.Anchor != "":
		d.fail(node, path, "anchors and aliases are not supported; write the value out")
	case into.CanAddr() && slices.Contains(foreignTypes, into.Type()):
		d.foreign(node, into, path)
	case into.Type() == durationType:
		d.scalar(node, into, path, `a duration such as "30s"`+inSeconds(node), setDuration)
		if into.Interface().(metav1.Duration).Duration > MaxDuration {
			d.fail(node, path, "is %s; must be at most %s", describe(node), MaxDuration)
		}
	case into.Type() == quantityType:
		d.scalar(node, into, path, `a quantity such as "64Ki", from 0 to `+maxQuantity.String(), setQuantity)
	default:
		d.byKind(node, into, path)
	}
}

func (d *decoder) byKind(node *yaml.Node, into reflect.Value, path string) {
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		d.decode(node, into.Elem(), path)
	case reflect.Struct:
		d.structure(node, into, path)
	case reflect.Slice:
		d.list(node, into, path)
	case reflect.Map:
		d.mapping(node, into, path)
	case reflect.String:
		d.scalar(node, into, path, "a string", setString)
		d.text(node, path)
	case reflect.Bool:
		d.scalar(node, into, path, "true or false", setBool)
	case reflect.Int, reflect.Int32, reflect.Int64:
		d.number(node, into, path)
	default:
		panic("scenario: a field of type " + into.Type().String() + " cannot be decoded")
	}
}

func (d *decoder) structure(node *yaml.Node, into reflect.Value, path string) {
	if node.Kind != yaml.MappingNode {
		d.fail(node, path, "is %s; must be a mapping with %s", describe(node), strings.Join(fields.Names(into.Type()), ", "))
		return
	}
	seen, meant := map[string]bool{}, map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		child := join(path, key.Value)
		target, form, known := fields.ByName(into, key.Value)
		switch {
		case !known || key.Kind != yaml.ScalarNode:
			names := fields.Names(into.Type())
			meant[spelling.Likeliest(key.Value, names)] = true
			d.fail(key, child, "unknown field; %s", spelling.Suggest(key.Value, names))
		case seen[key.Value]:
			d.fail(key, child, "is given twice; leave one out")
		default:
			seen[key.Value] = true
			before := len(d.mistakes)
			if form.Type == durationType && isNegative(value) {
				d.places[child] = place{value.Line, value.Column}
				d.fail(value, child, "is %s; %s", describe(value), notNegative(form))
				continue
			}
			d.decode(value, target, child)
			if len(d.mistakes) == before && target.IsZero() && fields.MeansAbsence(form) {
				d.fail(value, child, "is %s, which would count as not given; must be above 0, or be left out", describe(value))
			}
		}
	}
	for _, name := range fields.Required(into.Type()) {
		if !seen[name] && !meant[name] { // else it is reported already, as the unknown field
			d.fail(node, join(path, name), "is missing; it must be given")
		}
	}
}

// foreign lets a type read itself. What it finds not to fit is reported where it stands, any other mistake of its own
// where its object begins. For mistakes that checks find later, the places of all its fields are kept.
func (d *decoder) foreign(node *yaml.Node, into reflect.Value, path string) {
	if node.Kind != yaml.MappingNode {
		d.fail(node, path, "is %s; must be a mapping", describe(node))
		return
	}
	if other := anchored(node); other != nil {
		d.fail(other, path, "anchors and aliases are not supported; write the value out")
		return
	}
	var plain any
	content, err := []byte(nil), node.Decode(&plain)
	if err == nil {
		content, err = json.Marshal(plain)
	}
	if err == nil {
		err = into.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(content)
	}
	d.mark(node, path)
	if misfits := fit.Misfits(nil); errors.As(err, &misfits) {
		for _, m := range misfits {
			at := d.placeOf(join(path, m.Path))
			d.mistakes = append(d.mistakes, Mistake{Line: at.line, Column: at.column, Field: join(path, m.Path),
				Message: m.String(), Meant: m.Meant})
		}
	} else if err != nil {
		d.fail(node, path, "%v", err)
	}
}

// mark keeps the places of a node and of everything in it. What begins in the line after its name stands where the name
// does.
func (d *decoder) mark(node *yaml.Node, path string) {
	d.places[path] = place{node.Line, node.Column}
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value, child := node.Content[i], node.Content[i+1], join(path, node.Content[i].Value)
			d.mark(value, child)
			if value.Line != key.Line {
				d.places[child] = place{key.Line, key.Column}
			}
		}
	case yaml.SequenceNode:
		for i, element := range node.Content {
			d.mark(element, fmt.Sprintf("%s[%d]", path, i))
		}
	}
}

// anchored finds a node that is an anchor or an alias.
func anchored(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode || node.Anchor != "" {
		return node
	}
	for _, child := range node.Content {
		if found := anchored(child); found != nil {
			return found
		}
	}
	return nil
}

func (d *decoder) list(node *yaml.Node, into reflect.Value, path string) {
	if node.Kind != yaml.SequenceNode {
		d.fail(node, path, "is %s; must be a list", describe(node))
		return
	}
	if len(node.Content) > MaxItems {
		d.fail(node, path, "has %d items; must have at most %d", len(node.Content), MaxItems)
		return
	}
	list := reflect.MakeSlice(into.Type(), len(node.Content), len(node.Content))
	for i, element := range node.Content {
		d.decode(element, list.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
	into.Set(list)
}

// mapping of strings to other values, such as labels.
func (d *decoder) mapping(node *yaml.Node, into reflect.Value, path string) {
	if node.Kind != yaml.MappingNode {
		d.fail(node, path, "is %s; must be a mapping such as {key: value}", describe(node))
		return
	}
	if n := len(node.Content) / 2; n > MaxItems {
		d.fail(node, path, "has %d items; must have at most %d", n, MaxItems)
		return
	}
	entries := reflect.MakeMap(into.Type())
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, child := node.Content[i], path+"["+node.Content[i].Value+"]"
		switch name := reflect.ValueOf(key.Value); {
		case key.Kind != yaml.ScalarNode || key.Anchor != "":
			d.fail(key, path, "has a key that is %s; must be a string", describe(key))
		case entries.MapIndex(name).IsValid():
			d.fail(key, child, "is given twice; leave one out")
		default:
			value := reflect.New(into.Type().Elem()).Elem()
			d.decode(node.Content[i+1], value, child)
			entries.SetMapIndex(name, value)
		}
	}
	into.Set(entries)
}

func (d *decoder) scalar(node *yaml.Node, into reflect.Value, path, want string,
	set func(reflect.Value, *yaml.Node) bool) {
	if node.Kind != yaml.ScalarNode || node.ShortTag() == "!!null" || !set(into, node) {
		d.fail(node, path, "is %s; must be %s%s", describe(node), want, unquoted(into, node, set))
	}
}

// unquoted says that a text would be right without its quotes.
func unquoted(into reflect.Value, node *yaml.Node, set func(reflect.Value, *yaml.Node) bool) string {
	for _, tag := range []string{"!!int", "!!bool"} {
		bare := &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: node.Value}
		if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str" && set(reflect.New(into.Type()).Elem(), bare) {
			return ", without quotes: " + node.Value
		}
	}
	return ""
}

// text is short enough for a line of a report, and harms no terminal that shows it.
func (d *decoder) text(node *yaml.Node, path string) {
	switch {
	case len(node.Value) > MaxText:
		d.fail(node, path, "has %d bytes; must have at most %d", len(node.Value), MaxText)
	case strings.ContainsFunc(node.Value, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		d.fail(node, path, "is %s; must have no control characters", describe(node))
	}
}

// number is a whole number. What checks say of one that is too large is better, since they know what it is for.
func (d *decoder) number(node *yaml.Node, into reflect.Value, path string) {
	const inRange = "is %s; must be from 0 to %d"
	if _, err := strconv.ParseInt(node.Value, 10, 64); errors.Is(err, strconv.ErrRange) {
		d.fail(node, path, inRange, describe(node), math.MaxInt32)
		return
	}
	d.scalar(node, into, path, "a whole number", setInt)
	if number := into.Int(); number > math.MaxInt32 || number < math.MinInt32 {
		d.large = append(d.large, mistakeAt(node, path, inRange, describe(node), math.MaxInt32))
	}
}

func setString(into reflect.Value, node *yaml.Node) bool {
	if node.ShortTag() != "!!str" {
		return false
	}
	into.SetString(node.Value)
	return true
}

func setBool(into reflect.Value, node *yaml.Node) bool {
	into.SetBool(node.Value == "true")
	return node.ShortTag() == "!!bool" && (node.Value == "true" || node.Value == "false")
}

func setInt(into reflect.Value, node *yaml.Node) bool {
	number, err := strconv.ParseInt(node.Value, 10, 64)
	if err != nil || node.ShortTag() != "!!int" || into.OverflowInt(number) {
		return false
	}
	into.SetInt(number)
	return true
}

func setDuration(into reflect.Value, node *yaml.Node) bool {
	duration, err := time.ParseDuration(node.Value)
	if err != nil || node.ShortTag() != "!!str" || duration < 0 {
		return false
	}
	into.Set(reflect.ValueOf(metav1.Duration{Duration: duration}))
	return true
}

// inSeconds asks whether a number that is no duration is meant in seconds.
func inSeconds(node *yaml.Node) string {
	if number, err := strconv.ParseFloat(node.Value, 64); err != nil || number <= 0 || math.IsInf(number, 0) {
		return ""
	}
	if _, err := time.ParseDuration(node.Value + "s"); err != nil { // YAML and Go have more ways to write numbers
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", node.Value+"s")
}

func isNegative(node *yaml.Node) bool {
	duration, err := time.ParseDuration(node.Value)
	return err == nil && duration < 0 && node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str"
}

// notNegative says what a duration must be that is.
func notNegative(f reflect.StructField) string {
	if fields.MeansAbsence(f) {
		return "must be above 0, or be left out"
	}
	return "must not be negative"
}

func setQuantity(into reflect.Value, node *yaml.Node) bool {
	quantity, err := resource.ParseQuantity(node.Value)
	if err != nil || quantity.Sign() < 0 || quantity.Cmp(maxQuantity) > 0 {
		return false
	}
	into.Set(reflect.ValueOf(quantity))
	return true
}

func describe(node *yaml.Node) string {
	switch {
	case node.Kind == yaml.MappingNode:
		return "a mapping"
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case node.ShortTag() == "!!null":
		return "empty"
	case len(node.Value) > 60:
		return fmt.Sprintf("%.60q…", node.Value)
	}
	return strconv.Quote(node.Value)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
