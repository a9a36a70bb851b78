package scenario

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/sim/expression"
	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/step"
	"github.com/transplant-sim/transplant/sim/step/manifest"
)

// course is what a scenario does to its shoots, as far as its file says so: what is sure, and what may be. The rules
// about contradictions ask it. It is made from a scenario whose steps are possible, and changes nothing.
type course struct {
	of     *Scenario
	shoots map[string]*passage

	// loads are the steps that begin one, and quietAtEnd those of them whose shoot sleeps when the scenario ends.
	loads      []int
	quietAtEnd []string
	// written is whether a load goes to a shoot that is there, and awake, at the end.
	written bool
	// nodes is whether any shoot has any, awake whether any is awake at some time, ends whether one with nodes is
	// deleted.
	nodes, awake, ends bool
	// moves is whether a step asks for a move, stops whether of a shoot that is awake.
	moves, stops bool
	// mayRecover is whether a shoot may get an owner, or its etcd its data, without a hand-over.
	mayRecover bool
	// firstFault is the first step that begins a fault at once; math.MaxInt without one.
	firstFault int
	faults     bool
	// losses are the recoveries that are sure.
	losses []loss
	// missed are expectations that cannot be met in time, and strays those that can never be.
	missed []missed
	strays []stray
	// cloudObjects are steps that have the cloud make or delete something.
	cloudObjects []int

	harms map[string]harm
}

// passage is a shoot on its course.
type passage struct {
	seeds  []string // where its control plane may be; nil where nobody knows
	ever   []string // where it may ever be by plan
	there  bool
	asleep bool
	nodes  bool
	load   *step.Load
}

// on is whether the control plane is surely on this seed.
func (p *passage) on(seed string) bool { return p.there && slices.Equal(p.seeds, []string{seed}) }

// harm is a fault that has surely begun, and that is not healed yet.
type harm struct {
	fault.Harm
	fault string
	step  int
	// struck are the shoots that were surely hit, as they were then.
	struck map[string]passage
	// elapsed is how long the scenario may have gone on since, at most; what steps without a deadline take is added
	// generously.
	elapsed  time.Duration
	mayCause bool // of recoveries
}

// loss of an owner, or of the data of its etcd, which a shoot has to recover from.
type loss struct {
	fault, shoot string
	step         int
	load         *step.Load // that the shoot has; nil without one
	asleep       bool
	// elsewhere is whether the shoot is evacuated, so that the waits of an evacuation are part of the recovery.
	elsewhere bool
}

// missed is an expectation that is asked for earlier than it can be met.
type missed struct {
	step          int
	shoot, fault  string
	given, needed time.Duration
}

// stray is an expectation of a shoot on a seed to which nothing moves it.
type stray struct {
	step        int
	shoot, seed string
}

// margin is what a step without a deadline of its own may take, at most.
const margin = 30 * time.Second

// courseOf a scenario whose steps are possible.
func courseOf(s *Scenario) *course {
	c := &course{of: s, shoots: map[string]*passage{}, firstFault: math.MaxInt, harms: map[string]harm{}}
	later := step.Later(s.Spec.Steps)
	for _, shoot := range s.Spec.Landscape.Shoots {
		c.shoots[shoot.Name] = &passage{ever: []string{shoot.Seed}}
		c.nodes = c.nodes || shoot.Workers > 0
		if !later[shoot.Name] {
			c.create(shoot)
		}
	}
	for _, one := range s.Spec.Steps {
		if m := one.Migrate; m != nil && !m.Refused {
			c.shoots[m.Shoot].ever = append(c.shoots[m.Shoot].ever, m.To)
		}
	}
	for i := range s.Spec.Steps {
		c.take(i, &s.Spec.Steps[i])
	}
	for _, i := range c.loads {
		name := s.Spec.Steps[i].Load.Shoot
		switch p := c.shoots[name]; {
		case p.load != s.Spec.Steps[i].Load: // it was deleted
		case p.asleep:
			c.quietAtEnd = append(c.quietAtEnd, name)
		default:
			c.written = true
		}
	}
	return c
}

func (c *course) create(shoot landscape.Shoot) {
	p := c.shoots[shoot.Name]
	*p = passage{seeds: []string{shoot.Seed}, ever: p.ever, there: true, asleep: shoot.Hibernated,
		nodes: shoot.Workers > 0}
	c.awake = c.awake || !shoot.Hibernated
}

func (c *course) take(i int, one *step.Spec) {
	took := margin
	switch {
	case one.Load != nil:
		c.loads = append(c.loads, i)
		c.shoots[one.Load.Shoot].load = one.Load
	case one.Migrate != nil && !one.Migrate.Refused:
		c.migrate(one.Migrate)
		took += one.Migrate.Within.Duration
	case one.Expect != nil:
		c.meet(i, one.Expect.That, one.Expect.Within.Duration)
		took = one.Expect.Within.Duration
	case one.Wait != nil:
		if one.Wait.Until != "" {
			c.meet(i, one.Wait.Until, one.Wait.Within.Duration)
		}
		took = one.Wait.For.Duration + one.Wait.Within.Duration
	case one.Create != nil:
		shoot, _ := c.of.Spec.Landscape.Shoot(one.Create.Shoot)
		c.create(shoot)
		took = one.Create.Within.Duration
	case one.Delete != nil && !one.Delete.Refused:
		p := c.shoots[one.Delete.Shoot]
		c.ends = c.ends || p.nodes
		p.there, p.load = false, nil
	case one.Hibernate != nil:
		c.shoots[one.Hibernate.Shoot].asleep = true
	case one.Wake != nil:
		c.shoots[one.Wake.Shoot].asleep = false
		c.awake = true
	case one.Patch != nil && strings.Contains(one.Patch.Merge.String(), constants.ShootForceRestore):
		c.scatter()
	case one.RestoreOutside != nil && !one.RestoreOutside.Refused:
		c.scatter()
	case one.HandOver != nil:
		c.migrate(&step.Migrate{Shoot: one.HandOver.Shoot, To: one.HandOver.To})
	case one.Apply != nil && becomesCloud(one.Apply.Object) && c.shoots[one.Apply.Shoot].nodes &&
		c.shoots[one.Apply.Shoot].there:
		c.cloudObjects = append(c.cloudObjects, i)
	case one.Fault != nil:
		c.inject(i, one.Fault)
	case one.Heal != nil:
		delete(c.harms, string(*one.Heal))
	}
	for name, h := range c.harms {
		if h.step != i {
			h.elapsed += took
			c.harms[name] = h
		}
	}
}

func (c *course) migrate(m *step.Migrate) {
	p := c.shoots[m.Shoot]
	c.moves, c.stops = true, c.stops || !p.asleep
	if p.seeds != nil {
		p.seeds = append(slices.Clone(p.seeds), m.To)
	}
}

// scatter: from here on shoots may be recovered anywhere.
func (c *course) scatter() {
	c.mayRecover = true
	for _, p := range c.shoots {
		p.seeds = nil
	}
}

func (c *course) inject(i int, inject *step.Inject) {
	_, f := inject.Fault()
	c.faults = true
	traits := f.Traits()
	h := traits.Harm
	one := harm{Harm: h, fault: inject.Name, step: i, struck: map[string]passage{}, mayCause: c.mayCause(traits)}
	if inject.When == nil {
		c.firstFault = min(c.firstFault, i)
		for _, name := range sorted(c.shoots) {
			p := c.shoots[name]
			if h.Cluster != "" && p.on(h.Cluster) || h.Shoot == name && p.there && !p.asleep {
				one.struck[name] = *p
				if h.Wiped {
					c.lose(one, name, false)
				}
			}
		}
	} else {
		one.Harm = fault.Harm{} // it may never begin
	}
	c.harms[inject.Name] = one
	if one.mayCause {
		c.scatter()
	}
}

// mayCause says whether a fault may lead to a recovery of a shoot of this scenario. Of a seed that has no shoot, and
// never gets one, nothing is lost.
func (c *course) mayCause(t fault.Traits) bool {
	on := c.of.Spec.Landscape
	if !t.MayLoseOwner(on) {
		return false
	}
	homes := slices.DeleteFunc([]string{t.Place.On(on), on.HomeOf(t.Actor)},
		func(home string) bool { return home == "" })
	return len(homes) == 0 || slices.ContainsFunc(homes, c.mayHold)
}

// mayHold says whether a shoot may ever be on a cluster, or depend on it.
func (c *course) mayHold(cluster string) bool {
	for _, p := range c.shoots {
		if cluster == landscape.Garden || c.mayRecover || slices.Contains(p.ever, cluster) {
			return true
		}
	}
	return false
}

func (c *course) lose(h harm, shoot string, elsewhere bool) {
	was := h.struck[shoot]
	c.losses = append(c.losses, loss{fault: h.fault, shoot: shoot, step: h.step, load: was.load, asleep: was.asleep,
		elsewhere: elsewhere})
}

// meet carries the course on to where a condition is true.
func (c *course) meet(i int, that string, within time.Duration) {
	e, err := expression.Compile(that)
	if err != nil {
		return // which is reported elsewhere
	}
	demands := e.Demands()
	for _, name := range sorted(demands) {
		d := demands[name]
		p, known := c.shoots[name]
		if !known {
			continue
		}
		for _, seed := range []string{d.Seed, d.SpecSeed} {
			if seed != "" && p.there && p.seeds != nil && !slices.Contains(p.seeds, seed) {
				c.strays = append(c.strays, stray{i, name, seed})
				break
			}
		}
		for _, by := range sorted(c.harms) {
			h := c.harms[by]
			was, hit := h.struck[name]
			if !hit || h.Cluster == "" || d.Seed == "" || d.Seed == h.Cluster {
				continue
			}
			c.lose(h, name, true)
			needed := c.of.Spec.Landscape.Settings.LossNoticed()
			if d.Healthy && !was.asleep {
				needed += c.of.Spec.Landscape.Settings.OwnerWait()
			}
			if given := h.elapsed + within; given < needed {
				c.missed = append(c.missed, missed{i, name, h.fault, within, needed})
			}
			delete(h.struck, name) // it is lost once
		}
		if d.Seed != "" && d.Healthy && c.calmFor(d.Seed) {
			p.seeds = []string{d.Seed}
		}
	}
}

// sorted names, so that the report is the same each time.
func sorted[T any](by map[string]T) []string { return slices.Sorted(maps.Keys(by)) }

// calmFor says whether nothing is at work that may take a shoot away from a seed again.
func (c *course) calmFor(seed string) bool {
	for _, h := range c.harms {
		if h.mayCause && (h.Cluster == "" || h.Cluster == seed) {
			return false
		}
	}
	return true
}

// becomesCloud says whether an object of a shoot stands for something in the cloud.
func becomesCloud(object manifest.Object) bool {
	content, err := json.Marshal(object)
	if err != nil {
		return false
	}
	var service struct {
		APIVersion, Kind string
		Spec             struct{ Type string }
	}
	return json.Unmarshal(content, &service) == nil && service.APIVersion == "v1" && service.Kind == "Service" &&
		service.Spec.Type == "LoadBalancer"
}
