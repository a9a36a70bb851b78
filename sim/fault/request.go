package fault

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/sim/choice"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Objects selects what an actor asks an API server about. What is not given fits everything.
type Objects struct {
	// Actor whose requests are harmed.
	Actor string `json:"actor"`
	// Target of the requests: a cluster, shoots, or shoot/<name>.
	Target string `json:"target"`
	// Group of the objects; core for the one without a name.
	Group string `json:"group,omitempty"`
	// Kind of the objects, such as Shoot.
	Kind string `json:"kind,omitempty"`
	// Namespace of the objects.
	Namespace string `json:"namespace,omitempty"`
	// Object is a single one, by its name.
	Object string `json:"name,omitempty"`
}

// Requests selects requests of an actor to an API server, and which of them a fault hits: all, unless nth, or from,
// every and times say otherwise.
type Requests struct {
	Objects `json:",inline"`
	// Verbs of the requests: get, list, watch, create, update, patch, apply, delete, deletecollection.
	Verbs []string `json:"verbs,omitempty"`
	// Subresource, such as status; none for requests about the object itself.
	Subresource   string `json:"subresource,omitempty"`
	requests.Turn `json:",inline"`
}

// Watches selects watches of an actor, and which of them a fault hits: all, unless nth, or from, every and times say
// otherwise.
type Watches struct {
	Objects       `json:",inline"`
	requests.Turn `json:",inline"`
}

// Traits are those of every fault of requests and watches.
func (o Objects) Traits() Traits { return Traits{Ability: world.BreakLinks, Actor: o.Actor} }

func (o Objects) match() kubeapi.Match {
	m := kubeapi.Match{Group: o.Group, Namespace: o.Namespace, Name: o.Object}
	if o.Kind != "" {
		plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: o.Kind})
		m.Resource = plural.Resource
	}
	return m
}

func (r Requests) match() kubeapi.Match {
	m := r.Objects.match()
	m.Verbs, m.Subresource = r.Verbs, r.Subresource
	return m
}

// once is the first turn, unless another is given.
func once(t requests.Turn) requests.Turn {
	if t == (requests.Turn{}) {
		t.Nth = 1
	}
	return t
}

func (o Objects) name(harm string, m kubeapi.Match) string {
	return strings.TrimSuffix(fmt.Sprintf("%s(%s,%s,%s", harm, o.Actor, o.Target, m), ",") + ")"
}

func (o Objects) check(path *field.Path, on landscape.Landscape, harm link.Fault) field.ErrorList {
	return append(o.checkLink(path, on), validate(path, harm)...)
}

func (r Requests) check(path *field.Path, on landscape.Landscape, harm link.Fault) field.ErrorList {
	errs := r.checkLink(path, on)
	known := kubeapi.Verbs()
	if _, crashes := harm.(requests.Crash); crashes {
		known = writing()
	}
	unknown := false
	for i, verb := range r.Verbs {
		if !slices.Contains(kubeapi.Verbs(), verb) {
			errs, unknown = append(errs, field.NotSupported(path.Child("verbs").Index(i), verb, known)), true
		}
	}
	if r.Subresource != "" && !subresource.MatchString(r.Subresource) {
		errs = append(errs, field.Invalid(path.Child("subresource"), r.Subresource, "must be a subresource, such as status"))
	}
	if unknown { // the harm would say it again, and not where
		return errs
	}
	return append(errs, validate(path, harm)...)
}

// writing are the verbs of writes.
func writing() []string {
	return slices.DeleteFunc(kubeapi.Verbs(), func(verb string) bool {
		return slices.Contains([]string{kubeapi.VerbGet, kubeapi.VerbList, kubeapi.VerbWatch}, verb)
	})
}

func (o Objects) checkLink(path *field.Path, on landscape.Landscape) field.ErrorList {
	errs := choice.Check(path.Child("actor"), o.Actor, on.Actors())
	errs = append(errs, choice.Check(path.Child("target"), o.Target, apiServers(on, o.Actor))...)
	switch {
	case o.Kind == "":
	case !kindName.MatchString(o.Kind):
		errs = append(errs, field.Invalid(path.Child("kind"), o.Kind, "must be a kind, such as Shoot"))
	case o.Group == "":
		if near := misspelt(o.Kind); near != "" {
			errs = append(errs, field.Invalid(path.Child("kind"), o.Kind,
				fmt.Sprintf("there is no such kind; did you mean %q? give the group of a kind of your own", near)))
		}
	default:
		if near := misspeltIn(o.Group, o.Kind); near != "" {
			errs = append(errs, field.Invalid(path.Child("kind"), o.Kind,
				fmt.Sprintf("there is no such kind in the group %s; did you mean %q?", o.Group, near)))
		}
	}
	if o.Group != "" && len(validation.IsDNS1123Subdomain(o.Group)) > 0 {
		errs = append(errs, field.Invalid(path.Child("group"), o.Group,
			"must be a group, such as core.gardener.cloud, or core"))
	}
	return append(errs, CheckPlace(path, o.Namespace, o.Object)...)
}

func validate(path *field.Path, harm link.Fault) field.ErrorList {
	if err := harm.Validate(); err != nil {
		return field.ErrorList{field.Invalid(path, harm.Name(), strings.ReplaceAll(err.Error(), "\n", "; "))}
	}
	return nil
}

// apiServers are the targets of an actor that speak the Kubernetes API. The cloud has faults of its own.
func apiServers(on landscape.Landscape, actor string) []string {
	return slices.DeleteFunc(on.TargetsOf(actor), func(target string) bool { return target == "cloud" })
}

func (o Objects) inject(ctx context.Context, w world.World, harm link.Fault, hook requests.Hook) (world.Injection,
	error) {
	return w.BreakLink(ctx, o.Actor, o.Target, harm, hook)
}
