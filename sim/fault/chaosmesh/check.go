package chaosmesh

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/chaos-mesh/chaos-mesh/api/genericwebhook"
	"github.com/chaos-mesh/chaos-mesh/api/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/choice"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// Check finds whatever Chaos Mesh itself would refuse, what no backend can do, and targets that the landscape does not
// have. The path is that of the experiment.
func (e Experiment) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	if e.object == nil {
		return field.ErrorList{field.Required(path, "an object of Chaos Mesh: "+alternatives(Kinds()))}
	}
	if s, never := supportOf(e.kind(), ""); never && s.Never != "" {
		return field.ErrorList{field.Invalid(path.Child("kind"), s.Kind, fmt.Sprintf("no backend can do it: %s; must be %s",
			s.Never, alternatives(Kinds())))}
	}
	var errs field.ErrorList
	if e.object.GetName() == "" { // it is created under it where there is Chaos Mesh
		errs = append(errs, field.Required(path.Child("metadata", "name"),
			"an object of Chaos Mesh has a name, such as {metadata: {name: chaos}}"))
	}
	spec := path.Child("spec")
	if !e.hasSpec() {
		return append(errs, field.Required(spec, "says what is done, and to which pods"))
	}
	if s, is := seriesOf(e.object); is {
		return append(errs, checkSeries(spec, s)...)
	}
	for _, problem := range genericwebhook.Validate(e.object) {
		errs = append(errs, e.clear(problem, path))
	}
	if remote := e.common().RemoteCluster; remote != "" {
		errs = append(errs, choice.Check(spec.Child("remoteCluster"), remote, on.Clusters())...)
	}
	for _, u := range unusedOf(e.object) {
		errs = append(errs, u.mistake(spec))
	}
	p := e.plan()
	if p.mesh == nil {
		for _, l := range p.lacks {
			errs = append(errs, l.mistake(spec))
		}
	}
	if p.problem != nil && len(errs) == 0 { // else it is reported at its field
		errs = append(errs, field.Invalid(spec, p.action, p.problem.Error()))
	}
	errs = append(errs, checkMode(spec.Child("mode"), p.mode)...)
	if n, is := e.object.(*v1alpha1.NetworkChaos); is && n.Spec.Target != nil {
		errs = append(errs, checkMode(spec.Child("target", "mode"), n.Spec.Target.Mode)...)
	}
	if life, err := p.life(); err == nil && life < 0 { // else Chaos Mesh has reported it
		errs = append(errs, field.Invalid(spec.Child("duration"), *p.duration, "must not be negative"))
	}
	for _, harm := range p.harms {
		if err := harm.Validate(); err != nil {
			errs = append(errs, field.Invalid(spec, harm.Name(), err.Error()))
		}
	}
	for i, target := range p.targets {
		errs = append(errs, choice.Check(spec.Child("externalTargets").Index(i), target, on.Targets())...)
	}
	return errs
}

func checkMode(path *field.Path, mode v1alpha1.SelectorMode) field.ErrorList {
	if mode == "" {
		return field.ErrorList{field.Required(path,
			"must be one of "+strings.Trim(strings.ReplaceAll(fmt.Sprint(modes()), " ", ", "), "[]"))}
	}
	return choice.Check(path, mode, modes())
}

// clear says what Chaos Mesh refuses in our own words, where it would show how its code has read the value.
func (e Experiment) clear(problem *field.Error, path *field.Path) *field.Error {
	problem.Field = path.String() + fieldInFile(problem.Field)
	value := reflect.Indirect(reflect.ValueOf(problem.BadValue))
	if value.Kind() == reflect.Struct {
		problem.BadValue = e.what() // nobody wants to read all of it
	}
	text := fmt.Sprint(value)
	_, err := time.ParseDuration(text)
	switch name := problem.Field[strings.LastIndex(problem.Field, ".")+1:]; {
	case name == "value":
		problem.Detail = e.needsValue(problem.Field)
		if text == "" {
			problem.Type = field.ErrorTypeRequired
		}
	case err != nil && slices.Contains([]string{"duration", "latency", "jitter", "delay"}, name):
		problem.Detail = `must be a duration such as "30s"`
	case name == "rate":
		problem.Detail = `must be a whole number and a unit, such as "1mbps"`
	}
	return problem
}

// needsValue is what a mode needs as its value, in that field.
func (e Experiment) needsValue(valueField string) string {
	mode := e.plan().mode
	if n, is := e.object.(*v1alpha1.NetworkChaos); is && n.Spec.Target != nil && strings.HasSuffix(valueField,
		".target.value") {
		mode = n.Spec.Target.Mode
	}
	if mode == v1alpha1.FixedMode {
		return fmt.Sprintf(`mode %s needs how many pods, such as "1"`, mode)
	}
	return fmt.Sprintf(`mode %s needs a percentage from 1 to 100, such as "50"`, mode)
}

// mistake is a lack that no backend makes up for.
func (l lack) mistake(spec *field.Path) *field.Error {
	at := spec
	if l.field != "" {
		at = at.Child(l.field)
	}
	switch {
	case l.wrong == nil:
		return field.Forbidden(at, "no backend can do it in this experiment; leave it out")
	case l.wrong == "":
		return field.Required(at, l.right)
	case l.field == "":
		return field.Invalid(at, l.wrong, l.right)
	}
	return field.Invalid(at, l.wrong, "no backend can do it; "+l.right)
}

// fieldInFile makes a field in a file of a field in Go, as Chaos Mesh names it.
func fieldInFile(goField string) string {
	var path strings.Builder
	for name := range strings.SplitSeq(goField, ".") {
		switch name {
		case "", "TcParameter", "PodSelector", "ContainerSelector", "GenericSelectorSpec", "PodHttpChaosActions":
			// Inline in files.
		default:
			path.WriteString("." + strings.ToLower(name[:1]) + name[1:])
		}
	}
	return path.String()
}
