package expression

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// structs of expressions, by the name CEL knows them under.
var structs = map[string]reflect.Type{
	"Shoot":       reflect.TypeFor[Shoot](),
	"Operation":   reflect.TypeFor[Operation](),
	"State":       reflect.TypeFor[State](),
	"Maintenance": reflect.TypeFor[Maintenance](),
	"Workers":     reflect.TypeFor[Workers](),
	"Seed":        reflect.TypeFor[Seed](),
	"Cloud":       reflect.TypeFor[Cloud](),
}

// object is one of the structs as a CEL value.
type object struct{ value reflect.Value }

var _ ref.Val = object{}

func (o object) ConvertToNative(to reflect.Type) (any, error) {
	if o.value.Type().AssignableTo(to) {
		return o.value.Interface(), nil
	}
	return nil, fmt.Errorf("convert a %s to %s: no such conversion", o.value.Type().Name(), to)
}

func (o object) ConvertToType(to ref.Type) ref.Val {
	return types.NewErr("no conversion of a %s to %s", o.value.Type().Name(), to.TypeName())
}

func (o object) Equal(other ref.Val) ref.Val {
	return types.Bool(reflect.DeepEqual(o.value.Interface(), other.Value()))
}

func (o object) Type() ref.Type { return cel.ObjectType(o.value.Type().Name()) }
func (o object) Value() any     { return o.value.Interface() }

// provider adds the structs to the types that CEL knows.
type provider struct{ *types.Registry }

func (p provider) FindStructType(name string) (*types.Type, bool) {
	if _, ours := structs[name]; ours {
		return types.NewTypeTypeWithParam(cel.ObjectType(name)), true
	}
	return p.Registry.FindStructType(name)
}

func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	if form, ours := structs[name]; ours {
		return fieldNames(form), true
	}
	return p.Registry.FindStructFieldNames(name)
}

func (p provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	form, ours := structs[name]
	if !ours {
		return p.Registry.FindStructFieldType(name, field)
	}
	for i := range form.NumField() {
		if form.Field(i).Tag.Get("cel") == field {
			return &types.FieldType{
				Type:    celType(form.Field(i).Type),
				IsSet:   func(any) bool { return true },
				GetFrom: func(target any) (any, error) { return p.get(target, field, i) },
			}, true
		}
	}
	return nil, false
}

// unknownError says that a field could not be read.
type unknownError struct{ field, why string }

func (e *unknownError) Error() string { return fmt.Sprintf("%s is unknown: %s", e.field, e.why) }

func isUnknown(err error) bool {
	_, is := errors.AsType[*unknownError](err)
	return is
}

func (p provider) get(target any, field string, index int) (any, error) {
	value := reflect.ValueOf(target)
	unknown, _ := value.FieldByName("Unknown").Interface().(Unknown)
	why, is := unknown[field]
	if !is {
		why, is = unknown["*"]
	}
	if is && why != "" {
		return nil, &unknownError{field, why}
	}
	if member := value.Field(index); member.Kind() == reflect.Struct {
		return object{member}, nil
	}
	return p.NativeToValue(value.Field(index).Interface()), nil
}

func celType(form reflect.Type) *types.Type {
	if form == reflect.TypeFor[time.Duration]() {
		return cel.DurationType
	}
	switch form.Kind() {
	case reflect.Bool:
		return cel.BoolType
	case reflect.Int:
		return cel.IntType
	case reflect.String:
		return cel.StringType
	case reflect.Slice:
		return cel.ListType(celType(form.Elem()))
	case reflect.Map:
		return cel.MapType(celType(form.Key()), celType(form.Elem()))
	case reflect.Struct:
		return cel.ObjectType(form.Name())
	}
	panic("expression: no CEL type for " + form.String())
}

func fieldNames(form reflect.Type) []string {
	var names []string
	for i := range form.NumField() {
		if name := form.Field(i).Tag.Get("cel"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// Word is something that expressions may ask for.
type Word struct {
	// Written is how, such as shoot('…').
	Written string
	// Form is the struct that it gives, whose fields have their names as the tag "cel".
	Form reflect.Type
}

// Vocabulary is what expressions may ask for: functions, the variable, and the structs in what they give.
func Vocabulary() []Word {
	var words []Word
	for name, form := range structs {
		written := strings.ToLower(name[:1]) + name[1:]
		switch name {
		case "Shoot", "Seed":
			written += "('…')"
		case "Operation":
			written = "lastOperation"
		}
		words = append(words, Word{written, form})
	}
	slices.SortFunc(words, func(a, b Word) int { return strings.Compare(a.Written, b.Written) })
	return words
}

// vocabulary says it for people, in one line.
func vocabulary() string {
	var parts []string
	for _, word := range Vocabulary() {
		parts = append(parts, word.Written+" has "+strings.Join(fieldNames(word.Form), ", "))
	}
	return strings.Join(parts, "; ")
}
