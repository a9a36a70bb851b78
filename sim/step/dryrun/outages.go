package dryrun

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// outage is of a cluster that a fault has surely lost or frozen, and that is not healed yet. A fault that waits for its
// moment may never strike, and makes none.
type outage struct {
	fault, cluster string
	lost           bool
}

func (o outage) String() string {
	harm := "frozen"
	if o.lost {
		harm = "lost"
	}
	return fmt.Sprintf("cluster %q is %s by the fault %q at this step", o.cluster, harm, o.fault)
}

// ineffective is a fault of an actor's traffic that hits nothing before a cluster is back.
type ineffective struct {
	fault, actor string
	path         *field.Path
	outage       outage
}

// killed is a process that must run again where it was for the fault that has killed it to be healed.
type killed struct {
	fault, cluster string
	returns        bool // with its cluster, when that was lost
}

func (k killed) mistake(path *field.Path, o outage) *field.Error {
	return field.Forbidden(path, fmt.Sprintf("%s, and what %q has killed there cannot run again: heal %q before", o,
		k.fault, o.fault))
}

// begun is a fault that has begun at its step.
type begun struct {
	fault string
	path  *field.Path
}

func (i ineffective) mistake() *field.Error {
	return field.Invalid(i.path, i.actor,
		fmt.Sprintf("has no traffic that it could hit: %s, and not healed before this fault is; heal %q before", i.outage,
			i.outage.fault))
}

// Inject carries the state on over a fault of this name that begins at this step, and finds what is not there for it.
func (s *State) Inject(path *field.Path, name string, f fault.Fault) field.ErrorList {
	if s.Unsure {
		return nil
	}
	var errs field.ErrorList
	traits := f.Traits()
	if o, is := s.outageOf(traits.Place.On(s.Landscape)); is && (o.lost || !traits.ReachesFrozen()) {
		errs = append(errs, field.Forbidden(path.Child(traits.Place.Field), o.String()+": heal it before"))
	}
	if actor := traits.Actor; actor != "" {
		if o, is := s.outageOf(s.Landscape.HomeOf(actor)); is {
			s.ineffective = append(s.ineffective,
				ineffective{fault: name, actor: actor, path: path.Child("actor"), outage: o})
		}
	}
	if home := traits.Revives.On(s.Landscape); home != "" && len(errs) == 0 {
		s.killed = append(s.killed, killed{fault: name, cluster: home, returns: traits.Revives.Cluster != ""})
	}
	s.begun = append(s.begun, begun{fault: name, path: path})
	if harm := traits.Harm; harm.Cluster != "" {
		s.outages = append(s.outages, outage{fault: name, cluster: harm.Cluster, lost: !harm.Frozen})
	}
	return errs
}

// outageOf finds what keeps a cluster down, first what has lost it.
func (s *State) outageOf(cluster string) (found outage, is bool) {
	for _, o := range s.outages {
		if o.cluster == cluster && (!is || o.lost && !found.lost) {
			found, is = o, true
		}
	}
	return found, is
}

// Garden finds what keeps the garden from being written to at this place, be it that its etcd has no quorum.
func (s *State) Garden(path *field.Path) field.ErrorList {
	if errs := s.GardenUp(path); len(errs) > 0 || s.Unsure {
		return errs
	}
	members := s.Landscape.Garden.Members
	down := slices.DeleteFunc(slices.Clone(members), func(member string) bool {
		_, is := s.outageOf(member)
		return !is
	})
	if len(members) == 0 || 2*len(down) < len(members) {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, fmt.Sprintf("the garden has no quorum at this step: of its members %s, "+
		"these are lost or frozen: %s; heal one before", strings.Join(members, ", "), strings.Join(down, ", ")))}
}

// GardenUp finds what keeps the whole garden from answering at this place. Without a quorum it may answer with what it
// has seen, and shoots are reached.
func (s *State) GardenUp(path *field.Path) field.ErrorList {
	if o, is := s.outageOf(landscape.Garden); is && !s.Unsure {
		return field.ErrorList{field.Forbidden(path, o.String()+": heal it before")}
	}
	return nil
}

// Heal carries the state on over the heal of a fault, and finds what it would wait for in vain. A fault that could hit
// nothing until it is healed is a mistake.
func (s *State) Heal(path *field.Path, name string) (errs field.ErrorList) {
	if s.Unsure {
		return nil
	}
	ofGarden := func(o outage) bool { return o.fault == name && o.cluster == landscape.Garden && o.lost }
	returns := slices.ContainsFunc(s.outages, ofGarden)
	s.outages = slices.DeleteFunc(s.outages, func(o outage) bool { return o.fault == name })
	if returns { // its API server is ready when its etcd is
		errs = s.Garden(path)
	}
	s.ineffective = slices.DeleteFunc(s.ineffective, func(i ineffective) bool {
		_, still := s.outageOf(i.outage.cluster)
		if still && i.fault == name {
			errs = append(errs, i.mistake())
		}
		return !still || i.fault == name
	})
	s.killed = slices.DeleteFunc(s.killed, func(k killed) bool {
		if o, is := s.outageOf(k.cluster); is && k.fault == name && len(errs) == 0 && !(k.returns && o.lost) {
			errs = append(errs, k.mistake(path, o))
		}
		return k.fault == name
	})
	return errs
}

// End heals what is left when the scenario is over, the last fault first.
func (s *State) End() (errs field.ErrorList) {
	for _, b := range slices.Backward(s.begun) {
		errs = append(errs, s.Heal(b.path, b.fault)...)
	}
	return errs
}
