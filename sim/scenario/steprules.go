package scenario

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/step"
)

// stepRule says when steps, or what is waited for after them, contradict the rest of a scenario.
type stepRule struct {
	// of is what it is about, in words of scenarios.
	of    string
	grade grade
	// where says in words for people when it applies: "where …".
	where string
	// find what is wrong. The path is that of spec.
	find func(*course, *field.Path) field.ErrorList
}

var stepRules = []stepRule{
	{"`expect`, `wait`", never, "it demands a shoot on a seed to which nothing moves it", findStrays},
	{"`expect`, `wait`", late, "it demands that a shoot has left a lost seed before an evacuation can have come so far",
		findMissed},
	{"`fault`", never, "it harms the traffic of control planes on a seed to which no shoot ever comes",
		findWithoutTraffic},
	{"`fault`", idle, "it does harm only while it lasts, and no step follows", findMomentary},
	{"`settleWithin`", late, fmt.Sprintf("it is shorter than %s, for which nothing may move", Quiet),
		findTooShortToSettle},
}

// Rule says for people what follows where the rest of a scenario contradicts something in it.
type Rule struct{ Of, Follows, Where string }

// Rules are all of them, those about promises and measures before those about steps.
func Rules() []Rule {
	var all []Rule
	for _, r := range rules {
		of := "`" + strings.Join(r.of, "`, `") + "`"
		if len(r.of) == len(ofShoots) {
			of = "every promise, `apiDowntime`"
		}
		all = append(all, Rule{of, gradeWords[r.grade], r.where})
	}
	for _, r := range stepRules {
		all = append(all, Rule{r.of, gradeWords[r.grade], r.where})
	}
	return all
}

// Quiet is how long nothing may move for everything to have settled.
const Quiet = 3 * time.Second

// condition of a step that waits for one: the names of its verb and field, and the text.
func condition(one step.Spec) (verb, member, text string) {
	if one.Wait != nil {
		return "wait", "until", one.Wait.Until
	}
	return "expect", "that", one.Expect.That
}

func findStrays(c *course, spec *field.Path) (errs field.ErrorList) {
	for _, s := range c.strays {
		verb, member, text := condition(c.of.Spec.Steps[s.step])
		errs = append(errs, field.Invalid(spec.Child("steps").Index(s.step).Child(verb, member), text,
			fmt.Sprintf("never becomes true: nothing before this step moves %s to seed %q; migrate it before, or "+
				"name another seed", s.shoot, s.seed)))
	}
	return errs
}

func findMissed(c *course, spec *field.Path) (errs field.ErrorList) {
	for _, m := range c.missed {
		verb, _, _ := condition(c.of.Spec.Steps[m.step])
		errs = append(errs, field.Invalid(spec.Child("steps").Index(m.step).Child(verb, "within"), m.given.String(),
			fmt.Sprintf("is too short: %s gets there %s after the fault %q at the earliest (seedLossGracePeriod, "+
				"ownerCheckTimeout); give it more time, or let the settings be shorter",
				m.shoot, m.needed, m.fault)))
	}
	return errs
}

func findWithoutTraffic(c *course, spec *field.Path) (errs field.ErrorList) {
	on := c.of.Spec.Landscape
	for i, one := range c.of.Spec.Steps {
		if one.Fault == nil {
			continue
		}
		kind, f := one.Fault.Fault()
		actor := f.Traits().Actor
		if seed := on.HomeOf(actor); on.RoleOf(actor) == "control-planes" && !c.mayHold(seed) {
			errs = append(errs, field.Invalid(spec.Child("steps").Index(i).Child("fault", kind, "actor"), actor,
				fmt.Sprintf("has no traffic that it could hit: no shoot ever comes to seed %q; name another actor",
					seed)))
		}
	}
	return errs
}

func findMomentary(c *course, spec *field.Path) field.ErrorList {
	last := len(c.of.Spec.Steps) - 1
	one := c.of.Spec.Steps[last].Fault
	if one == nil {
		return nil
	}
	if _, f := one.Fault(); one.When == nil && f.Traits().Momentary {
		return nil
	}
	return field.ErrorList{field.Invalid(spec.Child("steps").Index(last).Child("fault"), one.Name,
		"ends when it has begun, as no step follows; add one that lasts, such as an expect")}
}

func findTooShortToSettle(c *course, spec *field.Path) field.ErrorList {
	given := c.of.Spec.SettleWithin.Duration
	if given >= Quiet {
		return nil
	}
	return field.ErrorList{field.Invalid(spec.Child("settleWithin"), given.String(),
		fmt.Sprintf("is too short: nothing may move for %s before all has settled; give it more time", Quiet))}
}
