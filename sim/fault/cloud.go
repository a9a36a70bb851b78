package fault

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/choice"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Callers selects calls to the cloud by who makes them, and for whom. What is not given fits everything.
type Callers struct {
	// Actor that calls: the gardenlet, the extensions, a third-party extension or the control planes of a seed, or
	// nodes.
	Actor string `json:"actor,omitempty"`
	// Shoot for which it calls.
	Shoot string `json:"shoot,omitempty"`
}

// Calls selects calls to the cloud, and which of them a fault hits: all, unless nth, or from and times say otherwise.
type Calls struct {
	Callers `json:",inline"`
	// Kinds of what the calls are about: networks, machines, records, objects and so on; names for questions to DNS.
	Kinds []string `json:"kinds,omitempty"`
	// Verbs of the calls: create, get, list, update, delete, put, reboot.
	Verbs []string `json:"verbs,omitempty"`
	// Nth call alone is hit, counted from 1 at the injection.
	Nth int `json:"nth,omitempty"`
	// From is the first call that is hit.
	From int `json:"from,omitempty"`
	// Times bounds how many calls are hit.
	Times int `json:"times,omitempty"`
}

// Kinds and verbs of the cloud's API that can be harmed.
var (
	cloudKinds = []string{
		cloud.KindNetworks, cloud.KindSubnets, cloud.KindRouters, cloud.KindSecurityGroups, cloud.KindKeyPairs,
		cloud.KindMachines,
		cloud.KindVolumes, cloud.KindLoadBalancers, cloud.KindZones, cloud.KindRecords, cloud.KindBuckets, cloud.KindObjects,
		cloud.KindFences, cloud.KindNames,
	}
	cloudVerbs = []string{
		cloud.VerbCreate, cloud.VerbGet, cloud.VerbList, cloud.VerbUpdate, cloud.VerbDelete, cloud.VerbPut, cloud.VerbReboot,
		cloud.VerbFence,
	}
)

// createdKinds are those that calls create: records and objects are put, fences set, names only asked for.
func createdKinds() []string {
	return slices.DeleteFunc(slices.Clone(cloudKinds), func(kind string) bool {
		return slices.Contains([]string{cloud.KindRecords, cloud.KindObjects, cloud.KindFences, cloud.KindNames}, kind)
	})
}

// Traits are those of every fault of calls.
func (c Callers) Traits() Traits { return Traits{Ability: world.BreakCloud, Actor: c.Actor} }

// calls to buckets.
func (c Callers) calls() Calls {
	return Calls{Callers: c, Kinds: []string{cloud.KindBuckets, cloud.KindObjects}}
}

func (c Callers) name(harm string) string {
	who := slices.DeleteFunc([]string{c.Actor, c.Shoot}, func(s string) bool { return s == "" })
	return fmt.Sprintf("%s(%s)", harm, strings.Join(who, ","))
}

func (c Calls) name(harm string) string {
	what := slices.Concat([]string{c.Actor, c.Shoot}, c.Verbs, c.Kinds)
	return fmt.Sprintf("%s(%s)", harm, strings.Join(slices.DeleteFunc(what, func(s string) bool { return s == "" }), ","))
}

func (c Calls) check(path *field.Path, on landscape.Landscape) field.ErrorList {
	var errs field.ErrorList
	oneOf := func(at *field.Path, value string, names []string) {
		if value != "" { // else it fits everything
			errs = append(errs, choice.Check(at, value, names)...)
		}
	}
	oneOf(path.Child("actor"), c.Actor, callersOn(on))
	oneOf(path.Child("shoot"), c.Shoot, on.ShootNames())
	for i, kind := range c.Kinds {
		errs = append(errs, choice.Check(path.Child("kinds").Index(i), kind, cloudKinds)...)
	}
	for i, verb := range c.Verbs {
		errs = append(errs, choice.Check(path.Child("verbs").Index(i), verb, cloudVerbs)...)
	}
	if min(c.Nth, c.From, c.Times) < 0 || c.Nth > 0 && (c.From > 0 || c.Times > 0) {
		errs = append(errs, field.Invalid(path, c.Nth, "must have nth alone, or from and times, none of them negative"))
	}
	return errs
}

// callersOn are the actors that call the cloud.
func callersOn(on landscape.Landscape) []string {
	callers := []string{"nodes"}
	for _, seed := range on.SeedNames() {
		callers = append(callers, "gardenlet-"+seed, "extensions-"+seed, "control-planes-"+seed)
		for _, e := range on.Extensions {
			callers = append(callers, e.ActorOn(seed))
		}
	}
	slices.Sort(callers)
	return callers
}

// fault of the cloud. Its shoots are named as in the scenario; the world knows what the cloud calls them.
func (c Calls) fault(effect cloud.Effect) cloud.Fault {
	f := cloud.Fault{Match: cloud.Match{Kinds: c.Kinds, Verbs: c.Verbs}, Nth: c.Nth, From: c.From, Times: c.Times,
		Effect: effect}
	if c.Actor != "" {
		f.Match.Identities = []string{c.Actor}
	}
	if c.Shoot != "" {
		f.Match.Shoots = []string{c.Shoot}
	}
	return f
}
