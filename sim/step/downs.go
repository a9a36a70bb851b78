package step

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// down is a cluster that a fault has surely lost or frozen, and that is not healed yet. One that waits for its moment
// may never strike, and is none.
type down struct {
	fault, cluster string
	lost           bool
}

func (d down) String() string {
	harm := "frozen"
	if d.lost {
		harm = "lost"
	}
	return fmt.Sprintf("cluster %q is %s by the fault %q at this step", d.cluster, harm, d.fault)
}

// unheard is a fault of an actor's traffic that nobody can feel before a cluster is back.
type unheard struct {
	fault, actor string
	path         *field.Path
	down         down
}

// killed is a process that must run again where it was for the fault that has killed it to be healed.
type killed struct {
	fault, cluster string
	returns        bool // with its cluster, when that was lost
}

func (k killed) mistake(path *field.Path, d down) *field.Error {
	return field.Forbidden(path, fmt.Sprintf("%s, and what %q has killed there cannot run again: heal %q before", d,
		k.fault, d.fault))
}

// begun is a fault that has begun at its step.
type begun struct {
	fault string
	path  *field.Path
}

func (u unheard) mistake() *field.Error {
	return field.Invalid(u.path, u.actor,
		fmt.Sprintf("has no traffic that could feel it: %s, and not healed before this fault is; heal %q before", u.down,
			u.down.fault))
}

// inject carries the plot on over a fault that begins at this step, and finds what is not there for it.
func (p *Plot) inject(path *field.Path, i *Inject) field.ErrorList {
	kind, f := i.Fault()
	if f == nil || i.When != nil { // it may begin when the cluster is back
		return nil
	}
	path = path.Child(kind)
	var errs field.ErrorList
	member, cluster := fault.Ground(f, p.Landscape)
	if d, is := p.downed(cluster); is && (d.lost || !reachesFrozen(f)) {
		errs = append(errs, field.Forbidden(path.Child(member), d.String()+": heal it before"))
	}
	if actor := fault.Speaker(f); actor != "" {
		if d, is := p.downed(p.Landscape.HomeOf(actor)); is {
			p.unheard = append(p.unheard, unheard{fault: i.Name, actor: actor, path: path.Child("actor"), down: d})
		}
	}
	if home, returns := fault.Revival(f, p.Landscape); home != "" && len(errs) == 0 {
		p.killed = append(p.killed, killed{fault: i.Name, cluster: home, returns: returns})
	}
	p.begun = append(p.begun, begun{fault: i.Name, path: path})
	switch f.(type) {
	case *fault.LoseCluster:
		p.downs = append(p.downs, down{fault: i.Name, cluster: cluster, lost: true})
	case *fault.FreezeCluster:
		p.downs = append(p.downs, down{fault: i.Name, cluster: cluster})
	}
	return errs
}

// reachesFrozen says whether a fault does something to what stands still: a signal does.
func reachesFrozen(f fault.Fault) bool {
	switch f.(type) {
	case *fault.LoseCluster, *fault.Kill, *fault.Freeze, *fault.Crash:
		return true
	}
	return false
}

// downed finds what keeps a cluster down, first what has lost it.
func (p *Plot) downed(cluster string) (found down, is bool) {
	for _, d := range p.downs {
		if d.cluster == cluster && (!is || d.lost && !found.lost) {
			found, is = d, true
		}
	}
	return found, is
}

// garden finds what keeps the garden from answering at this place.
func (p *Plot) garden(path *field.Path) field.ErrorList {
	if d, is := p.downed(landscape.Garden); is {
		return field.ErrorList{field.Forbidden(path, d.String()+": heal it before")}
	}
	return nil
}

// heal carries the plot on over the heal of a fault, and finds what it would wait for in vain. A fault that nobody
// could feel until now never was.
func (p *Plot) heal(path *field.Path, name string) (errs field.ErrorList) {
	p.downs = slices.DeleteFunc(p.downs, func(d down) bool { return d.fault == name })
	p.unheard = slices.DeleteFunc(p.unheard, func(u unheard) bool {
		_, still := p.downed(u.down.cluster)
		if still && u.fault == name {
			errs = append(errs, u.mistake())
		}
		return !still || u.fault == name
	})
	p.killed = slices.DeleteFunc(p.killed, func(k killed) bool {
		if d, is := p.downed(k.cluster); is && k.fault == name && len(errs) == 0 && !(k.returns && d.lost) {
			errs = append(errs, k.mistake(path, d))
		}
		return k.fault == name
	})
	return errs
}

// End heals what is left when the story is over, the last fault first.
func (p *Plot) End() (errs field.ErrorList) {
	for _, b := range slices.Backward(p.begun) {
		errs = append(errs, p.heal(b.path, b.fault)...)
	}
	return errs
}
