package fault

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/chaos-mesh/chaos-mesh/api/genericwebhook"
	"github.com/chaos-mesh/chaos-mesh/api/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Chaos is an experiment of Chaos Mesh, as one would create it in a cluster. A cluster that has Chaos Mesh is given the
// object, if a probe of ours can see whether it bites; elsewhere it is carried out with the faults of this package.
// What neither can do the backend refuses before the run, by name. It ends after its duration, or with the heal.
type Chaos struct {
	Cluster `json:",inline"`
	// Object is a PodChaos, a NetworkChaos or an HTTPChaos.
	Object Experiment `json:"object"`
}

var _ Fault = &Chaos{}

// plan is how an experiment is carried out.
type plan struct {
	action   string
	needs    world.Ability
	mode     v1alpha1.SelectorMode
	lacks    []lack   // what no fault of ours can do
	targets  []string // links that must be known
	duration *string
	harms    []link.Fault
	problem  error    // found while planning
	mesh     *applied // nil for what is not left to Chaos Mesh
	inject   func(context.Context, world.World, string) (world.Injection, error)
}

func (c *Chaos) plan() plan {
	var p plan
	switch object := c.Object.object.(type) {
	case *v1alpha1.PodChaos:
		p = planPod(object)
	case *v1alpha1.NetworkChaos:
		p = planNetwork(object)
	case *v1alpha1.HTTPChaos:
		p = planHTTP(object)
	default:
		p = plan{lacks: []lack{{}}} // the kind itself
	}
	return p
}

// lack is what an experiment asks for although no fault of ours does it.
type lack struct {
	what  string // in one or two words
	field string // of the spec, the spec itself when empty
	// wrong is what stands in the field; nil where the field itself is too much, and an empty text where it is missing.
	wrong any
	right string // what must stand there
}

// lack notes a field of the spec that is too much, when it is given.
func (p *plan) lack(what, field string, given bool) {
	if given {
		p.lacks = append(p.lacks, lack{what: what, field: field})
	}
}

// lackAction notes an action that is none of these, not even for Chaos Mesh.
func (p *plan) lackAction(action, known string) {
	p.mesh = nil
	p.lacks = append(p.lacks, lack{what: strings.TrimSpace("action " + action), field: "action", wrong: action,
		right: "must be " + known})
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

// words for what the experiment asks for in vain.
func (p *plan) words() string {
	var words []string
	for _, l := range p.lacks {
		words = append(words, l.what)
	}
	return strings.Join(words, ", ")
}

// Name is "chaos(cluster,kind action)".
func (c *Chaos) Name() string {
	return fmt.Sprintf("chaos(%s,%s)", c.Cluster.Cluster, strings.TrimSpace(c.Object.kind()+" "+c.plan().action))
}

// Needs what carries the experiment out. One that no fault of ours can be needs Chaos Mesh, and one that it cannot
// prove either an ability of its own name, which no backend has: the check refuses it.
func (c *Chaos) Needs() world.Ability {
	p := c.plan()
	switch {
	case len(p.lacks) > 0 && p.mesh != nil:
		return world.RunChaosMesh.For(fmt.Sprintf("%s with %s", c.Object.kind(), p.words()))
	case len(p.lacks) > 0:
		return world.Ability(strings.TrimSuffix(fmt.Sprintf("do %s of Chaos Mesh with %s", c.Object.kind(), p.words()),
			" with "))
	}
	return p.needs
}

func (c *Chaos) beyond() string {
	if p := c.plan(); len(p.lacks) > 0 {
		return "object.spec." + p.lacks[0].field
	}
	return ""
}

// Check finds unknown clusters, whatever Chaos Mesh itself would refuse, what no backend can do, and unknown targets.
func (c *Chaos) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	errs := c.check(path, on)
	if c.Object.object == nil {
		return append(errs, field.Required(path.Child("object"), "an object of Chaos Mesh: "+alternatives(Experiments())))
	}
	object := path.Child("object")
	if kind, can := c.Object.kind(), Experiments(); !slices.Contains(can, kind) {
		return append(errs, field.Invalid(object.Child("kind"), kind, "no backend can do it; must be "+alternatives(can)))
	}
	if c.Object.object.GetName() == "" { // it is created under it where there is Chaos Mesh
		errs = append(errs, field.Required(object.Child("metadata", "name"),
			"an object of Chaos Mesh has a name, such as {metadata: {name: chaos}}"))
	}
	spec := object.Child("spec")
	if !c.Object.hasSpec() {
		return append(errs, field.Required(spec, "says what is done, and to which pods"))
	}
	errs = append(errs, genericwebhook.Default(c.Object.object)...)
	for _, problem := range genericwebhook.Validate(c.Object.object) {
		errs = append(errs, c.clear(problem, object))
	}
	p := c.plan()
	if p.mesh == nil {
		for _, l := range p.lacks {
			errs = append(errs, l.mistake(spec))
		}
	}
	if p.problem != nil && len(errs) == 0 { // else it is reported at its field
		errs = append(errs, field.Invalid(spec, p.action, p.problem.Error()))
	}
	if modes := modes(); p.mode == "" {
		errs = append(errs, field.Required(spec.Child("mode"),
			"must be one of "+strings.Trim(strings.ReplaceAll(fmt.Sprint(modes), " ", ", "), "[]")))
	} else if !slices.Contains(modes, p.mode) {
		errs = append(errs, field.NotSupported(spec.Child("mode"), p.mode, modes))
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
		if known := on.Targets(); !slices.Contains(known, target) {
			errs = append(errs, field.NotSupported(spec.Child("externalTargets").Index(i), target, known))
		}
	}
	return errs
}

// clear says what Chaos Mesh refuses in our own words, where it would show how its code has read the value.
func (c *Chaos) clear(problem *field.Error, object *field.Path) *field.Error {
	problem.Field = object.String() + fieldInFile(problem.Field)
	text := fmt.Sprint(reflect.Indirect(reflect.ValueOf(problem.BadValue)))
	_, err := time.ParseDuration(text)
	switch name := problem.Field[strings.LastIndex(problem.Field, ".")+1:]; {
	case name == "value":
		problem.Detail = c.needsValue(problem.Field)
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
func (c *Chaos) needsValue(valueField string) string {
	mode := c.plan().mode
	if n, is := c.Object.object.(*v1alpha1.NetworkChaos); is && n.Spec.Target != nil && strings.HasSuffix(valueField,
		".target.value") {
		mode = n.Spec.Target.Mode
	}
	if mode == v1alpha1.FixedMode {
		return fmt.Sprintf(`mode %s needs how many pods, such as "1"`, mode)
	}
	return fmt.Sprintf(`mode %s needs a percentage from 1 to 100, such as "50"`, mode)
}

// Inject carries the experiment out.
func (c *Chaos) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	p := c.plan()
	if p.mesh != nil {
		begun, injection, err := p.mesh.inject(ctx, w, c)
		if begun || err != nil {
			return injection, err
		}
	}
	switch {
	case len(p.lacks) > 0:
		return world.Injection{}, cannot(c.Name(), c.Needs())
	case p.problem != nil:
		return world.Injection{}, p.problem
	}
	life, err := p.life()
	if err != nil {
		return world.Injection{}, err
	}
	injection, err := p.inject(ctx, w, c.Cluster.Cluster)
	if err != nil || life == 0 {
		return injection, err
	}
	return lasting(ctx, injection, life), nil
}

// life of the experiment; 0 when only the heal ends it.
func (p *plan) life() (time.Duration, error) {
	if p.duration == nil || *p.duration == "" {
		return 0, nil
	}
	life, err := time.ParseDuration(*p.duration)
	if err != nil {
		return 0, fmt.Errorf("read the duration %q: %w", *p.duration, err)
	}
	return life, nil
}

// fieldInFile makes a field in a file of a field in Go, as Chaos Mesh names it.
func fieldInFile(goField string) string {
	var path strings.Builder
	for name := range strings.SplitSeq(goField, ".") {
		switch name {
		case "", "TcParameter", "PodSelector", "ContainerSelector", "GenericSelectorSpec", "PodHttpChaosActions": // inline in files
		default:
			path.WriteString("." + strings.ToLower(name[:1]) + name[1:])
		}
	}
	return path.String()
}
