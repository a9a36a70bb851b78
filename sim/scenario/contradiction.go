package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// grade says how bad a contradiction is.
type grade int

const (
	// never: no run of the scenario can pass, but by luck, or nothing in it can show whether the promise is kept.
	// Such a scenario is refused.
	never grade = iota
	// late: times in the file and in its settings contradict each other. A run would say truly that a goal or a
	// deadline was missed, and a timeout multiplier may change that: it is a mistake in a file, but run only warns of
	// it.
	late
	// idle: nothing in the scenario puts the promise or goal to the test. It is only warned of.
	idle
)

// gradeWords say what follows from a contradiction.
var gradeWords = map[grade]string{never: "refused", late: "out of reach", idle: "warned of"}

// rule says when the rest of a scenario contradicts something in it, whatever the product does.
type rule struct {
	// of are the promises and measures that it is about, by their names.
	of    []string
	grade grade
	// where says in words for people when it applies: "where …".
	where string
	// against says what contradicts one of them in a scenario; empty when nothing does.
	against func(*course, goal) string
	// remedy is what to do about it.
	remedy string
}

// goal is what a measure may be at most; the zero value for promises.
type goal struct {
	time  time.Duration
	count int
}

// ofShoots are about shoots, and without any there is nothing to see.
var ofShoots = []string{
	"CloudEmptied", "CloudUntouched", "Linearizable", "MigrationEnds", "NoFalseAlarm", "NoLostMachine", "NoLostWrite",
	"NoNeedlessMove", "NodesPreserved", "NoOrphans", "Revisions", "ShootUntouched", "SingleWriter", "apiDowntime",
	"bystanderDowntime",
}

// Promises and measures that are judged by the writes of loads, and by what is left of them at the end.
var (
	promisesByWrites = []string{"Linearizable", "NoLostWrite"}
	measuresByWrites = []string{"rpo", "lostWrites"}
	byWrites         = slices.Concat(promisesByWrites, measuresByWrites)
)

const (
	orLeaveOut  = ", or leave it out"
	addRecovery = "a fault that costs a shoot its owner, such as loseCluster of its seed"
	addMove     = "add a migrate step, or " + addRecovery
	allowMore   = "allow more, or let seedLossGracePeriod and ownerCheckTimeout be shorter"
	fromBackups = "a shoot with a load must be restored from its backups"
	evacuation  = "it is shorter than what an evacuation waits for"
)

// about one promise or measure.
func about(name string) []string { return []string{name} }

// rules about promises and measures. Of one promise or measure, only the first rule that applies is reported.
var rules = []rule{
	{ofShoots, never, "the landscape has no shoots", withoutShoots, "add one to landscape.shoots" + orLeaveOut},

	{promisesByWrites, never, "no load step is there", withoutLoad, "add one" + orLeaveOut},
	{measuresByWrites, never, "no load step is there", unmeasuredWithoutLoad, ""},
	{byWrites, never, "every shoot with a load is deleted before the end",
		withoutLoadAtEnd, "load a shoot that stays" + orLeaveOut},
	{byWrites, never, "a shoot with a load sleeps at the end", asleepAtEnd, "wake it before the end" + orLeaveOut},
	{promisesByWrites, never, fromBackups + ": writes of the last `deltaInterval` may be lost then",
		loses, "leave it out, and bound the loss with a goal for rpo that is no shorter"},
	{about("rpo"), never, "it is shorter than `deltaInterval`, and " + fromBackups,
		losesTime, "allow as much, or let deltaInterval be shorter"},
	{about("lostWrites"), never, "it is less than what is written in a `deltaInterval`, and " + fromBackups,
		losesWrites, "allow as many, or bound the loss with a goal for rpo"},

	{about("rto"), never, "no fault is there", withoutFault, ""},
	{about("rto"), never, "no fault may cost a shoot its owner",
		withoutRecovery, "add " + addRecovery + ", or bound apiDowntime instead"},
	{about("rto"), never, "no load begins before the first fault", loadedTooLate, "begin one before"},
	{about("rto"), late, evacuation, tooLate, allowMore},

	{[]string{"apiDowntime", "bystanderDowntime"}, never, "every shoot sleeps all the time",
		withoutAnyAwake, "wake one" + orLeaveOut},
	{about("apiDowntime"), late, evacuation, tooLate, allowMore},
	{about("apiDowntime"), late, "it is 0, and a shoot is moved that is awake", stopsAPI, "allow more, such as 20s"},

	{about("restoresAtOnce"), never, "nothing may move a shoot", withoutMove, addMove},
	{about("restoresAtOnce"), never, "it is 0", restoresNone, "allow at least 1"},
	{about("restoresAtOnce"), idle, "there are no more shoots",
		restoresAll, "allow fewer than there are shoots" + orLeaveOut},
	{[]string{"ShootUntouched", "bystanderDowntime"}, never, "nothing may move a shoot",
		withoutMove, addMove + orLeaveOut},
	{about("MigrationEnds"), idle, "nothing may move a shoot", withoutMove, addMove},

	{about("CloudEmptied"), never, "no shoot with workers is deleted",
		withoutEnd, "add a delete step for one" + orLeaveOut},
	{[]string{"NodesPreserved", "NoLostMachine"}, never, "no shoot has workers",
		withoutNodes, "give one workers" + orLeaveOut},
	{about("NoNeedlessMove"), never, "a silent seed is dead without a second sign",
		withoutSecondSign, "set settings.secondSign" + orLeaveOut},
	{about("NoCircle"), never, "no seed is hosted by another",
		withoutHosted, "name the seed that hosts one in its hostedBy" + orLeaveOut},
	{about("CloudUntouched"), never, "a step applies a Service of type LoadBalancer",
		asksCloud, "leave it out, or the Service"},
}

func withoutShoots(c *course, _ goal) string {
	return unless(len(c.of.Spec.Landscape.Shoots) > 0, "is about shoots, and the landscape has none")
}

func withoutLoad(c *course, _ goal) string {
	return unless(len(c.loads) > 0, "is judged by the writes of loads, and the scenario has no load step")
}

func unmeasuredWithoutLoad(c *course, _ goal) string {
	return unless(len(c.loads) > 0, "cannot be measured without a load step")
}

func withoutLoadAtEnd(c *course, _ goal) string {
	return unless(c.written || len(c.quietAtEnd) > 0, "is judged by the data at the end, and every shoot with a "+
		"load is deleted before")
}

func asleepAtEnd(c *course, _ goal) string {
	return unless(len(c.quietAtEnd) == 0, "is judged by the data at the end, which nobody can read then: %s has a "+
		"load, and sleeps", strings.Join(c.quietAtEnd, ", "))
}

// lossOf the first load, if any has one for sure.
func (c *course) lossOf(matter func(loss) bool) (first loss, any bool) {
	i := slices.IndexFunc(c.losses, func(l loss) bool { return matter(l) })
	if i < 0 {
		return loss{}, false
	}
	return c.losses[i], true
}

func underLoad(l loss) bool { return l.load != nil && !l.asleep }

func loses(c *course, _ goal) string {
	l, any := c.lossOf(underLoad)
	return unless(!any, "cannot be promised: %s, so that writes of the last deltaInterval, %s, are lost", l,
		c.deltaInterval())
}

func losesTime(c *course, g goal) string {
	l, any := c.lossOf(underLoad)
	return unless(!any || g.time >= c.deltaInterval(), "%s cannot be promised: %s, so that writes of the last "+
		"deltaInterval, %s, are lost", g.time, l, c.deltaInterval())
}

func losesWrites(c *course, g goal) string {
	l, any := c.lossOf(func(l loss) bool { return underLoad(l) && g.count < l.writesIn(c.deltaInterval()) })
	if !any {
		return ""
	}
	return fmt.Sprintf("%d cannot be promised: %s, so that writes of the last deltaInterval are lost, %d a second "+
		"for %s", g.count, l, l.load.WritesPerSecond, c.deltaInterval())
}

func (l loss) String() string {
	return fmt.Sprintf("the fault %q of step %d lets %s be restored from its backups while it is written to", l.fault,
		l.step+1, l.shoot)
}

// writesIn an interval, rounded up.
func (l loss) writesIn(interval time.Duration) int {
	return int((time.Duration(l.load.WritesPerSecond)*interval + time.Second - 1) / time.Second)
}

func (c *course) deltaInterval() time.Duration {
	return c.of.Spec.Landscape.Settings.DeltaInterval.Duration
}

func withoutFault(c *course, _ goal) string {
	return unless(c.faults, "cannot be measured without a fault: it is the time from a fault to the first good "+
		"answer after the recovery from it")
}

func withoutRecovery(c *course, _ goal) string {
	return unless(c.mayRecover, "cannot be measured: nothing in the scenario costs a shoot its owner, so that there "+
		"is no recovery")
}

func loadedTooLate(c *course, _ goal) string {
	return unless(len(c.loads) == 0 || c.loads[0] < c.firstFault,
		"cannot be measured: the first load begins after the first fault, so that nobody knows who acknowledged "+
			"writes before it")
}

// recovery is what an evacuation takes at least: until the loss is noticed, and until the owner before has surely
// ended.
func (c *course) recovery() time.Duration {
	s := c.of.Spec.Landscape.Settings
	return s.LossNoticed() + s.OwnerWait()
}

func tooLate(c *course, g goal) string {
	s := c.of.Spec.Landscape.Settings
	l, any := c.lossOf(func(l loss) bool { return l.elsewhere && !l.asleep })
	return unless(!any || g.time >= c.recovery(), "%s is too short: after the fault %q of step %d %s needs at least "+
		"%s, of which %s pass until the loss of its seed is noticed (seedLossGracePeriod), and %s until its owner "+
		"has surely ended (ownerCheckTimeout, ownerCheckInterval)",
		g.time, l.fault, l.step+1, l.shoot, c.recovery(), s.LossNoticed(), s.OwnerWait())
}

func withoutAnyAwake(c *course, _ goal) string {
	return unless(c.awake, "cannot be measured: every shoot sleeps from the beginning to the end")
}

func stopsAPI(c *course, g goal) string {
	return unless(!c.stops || g.time > 0, "0s cannot be reached: a migrate step lets the API server stop on one "+
		"seed before it starts on the other")
}

func withoutMove(c *course, _ goal) string {
	return unless(c.moves || c.mayRecover, "is about moves, and nothing in the scenario moves a shoot")
}

func restoresNone(_ *course, g goal) string {
	return unless(g.count > 0, "0 can never be measured: where no shoot is restored there is no such number")
}

func restoresAll(c *course, g goal) string {
	shoots := len(c.of.Spec.Landscape.Shoots)
	return unless(g.count < shoots, "%d is never exceeded: the landscape has %s", g.count, count(shoots, "shoot"))
}

func withoutEnd(c *course, _ goal) string {
	return unless(c.ends, "is about the end of shoots with nodes, and the scenario deletes none")
}

func withoutNodes(c *course, _ goal) string {
	return unless(c.nodes, "is about nodes, and no shoot of the landscape has any")
}

func withoutSecondSign(c *course, _ goal) string {
	return unless(c.of.Spec.Landscape.Settings.SecondSign, "is about shoots of silent seeds that still answer, and "+
		"nobody asks them")
}

func withoutHosted(c *course, _ goal) string {
	return unless(len(c.of.Spec.Landscape.HostedSeeds()) > 0, "is about seeds that are shoots, and the landscape has "+
		"none")
}

func asksCloud(c *course, _ goal) string {
	if len(c.cloudObjects) == 0 {
		return ""
	}
	return fmt.Sprintf("cannot be kept: step %d applies a Service of type LoadBalancer, for which the cloud makes a "+
		"load balancer", c.cloudObjects[0]+1)
}

// unless says what is wrong, if it is.
func unless(fine bool, format string, arguments ...any) string {
	if fine {
		return ""
	}
	return fmt.Sprintf(format, arguments...)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// finding is what a rule has found.
type finding struct {
	*field.Error
	grade grade
}

// breach is what contradicts a promise or a measure.
type breach struct {
	problem string
	grade   grade
}

// breaks is the first rule that contradicts a promise or a measure; nil if none does.
func (c *course) breaks(name string, g goal) *breach {
	for _, r := range rules {
		if !slices.Contains(r.of, name) {
			continue
		}
		if problem := r.against(c, g); problem != "" {
			if r.remedy != "" {
				problem += "; " + r.remedy
			}
			return &breach{problem, r.grade}
		}
	}
	return nil
}

// contradictions in a scenario whose steps are possible.
func (s *Scenario) contradictions() []finding {
	c, spec := courseOf(s), field.NewPath("spec")
	var found []finding
	judge := func(path *field.Path, name string, g goal) {
		if b := c.breaks(name, g); b != nil {
			found = append(found, finding{field.Invalid(path, name, b.problem), b.grade})
		}
	}
	for i, name := range s.Spec.Always {
		judge(spec.Child("always").Index(i), string(name), goal{})
	}
	for name, g := range s.Spec.Measure.goals() {
		judge(spec.Child("measure", name), name, g)
	}
	for _, r := range stepRules {
		for _, problem := range r.find(c, spec) {
			found = append(found, finding{problem, r.grade})
		}
	}
	return found
}

// goals by the names of measures, in the order of the fields.
func (m *Measure) goals() func(yield func(string, goal) bool) {
	return func(yield func(string, goal) bool) {
		for _, one := range []struct {
			name  string
			bound *Bound
			count *Count
		}{
			{name: "apiDowntime", bound: m.APIDowntime}, {name: "bystanderDowntime", bound: m.BystanderDowntime},
			{name: "rto", bound: m.RTO}, {name: "rpo", bound: m.RPO},
			{name: "lostWrites", count: m.LostWrites}, {name: "restoresAtOnce", count: m.RestoresAtOnce},
		} {
			g := goal{}
			switch {
			case one.bound != nil:
				g.time = one.bound.Max.Duration
			case one.count != nil:
				g.count = one.count.Max
			default:
				continue
			}
			if !yield(one.name, g) {
				return
			}
		}
	}
}

// Doubt is a contradiction that does not keep a scenario from being run.
type Doubt struct {
	*field.Error
	// Late says that times in it contradict each other, so that a run misses a goal or a deadline; else something in it
	// is never put to the test.
	Late bool
}

// Doubts about a scenario without mistakes, when it is run with this timeout multiplier.
func (s *Scenario) Doubts(multiplier float64) ([]Doubt, error) {
	stretched, err := s.copied()
	if err != nil {
		return nil, err
	}
	stretched.Stretch(multiplier)
	var doubts []Doubt
	for _, f := range stretched.contradictions() {
		if f.grade != never {
			doubts = append(doubts, Doubt{f.Error, f.grade == late})
		}
	}
	return doubts, nil
}
