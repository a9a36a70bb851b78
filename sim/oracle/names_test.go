package oracle_test

import (
	"slices"
	"testing"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

func isEnd(e timeline.Event) bool { return e.Kind == timeline.RunEnded{}.Kind() }

// The names of a shoot follow it, all of them.
func TestNamesFollowTheShoot(t *testing.T) {
	t.Parallel()
	record := func(verb, actor, name string, values ...string) timeline.Event {
		return by(actor, id, timeline.CloudCalled{Verb: verb, What: "records", ID: "zone/A/" + name, Name: name,
			Values: values, Outcome: "OK", Took: true})
	}
	put := func(seed, name, value string) timeline.Event { return record("put", "extensions-"+seed, name, value) }
	const internal, external = "api.alpha.internal", "api.alpha.external"
	// from is a shoot that rests on seed a, with two names.
	from := func(more ...timeline.Event) []timeline.Event {
		return whole(append([]timeline.Event{put("a", internal, "1"), put("a", external, "1"), steady(0),
			seen(shoot("a", "a", "Create", "Succeeded")), step("migrate")}, more...)...)
	}
	released, restored := seen(shoot("b", "b", "Migrate", "Succeeded")), seen(shoot("b", "b", "Restore", "Succeeded"))
	asleep := shoot("b", "b", "Restore", "Succeeded")
	asleep.WantsToSleep, asleep.Hibernated = true, true
	late := put("b", external, "2")
	late.Payload = timeline.CloudCalled{Verb: "put", What: "records", ID: "zone/A/" + external, Name: external,
		Values: []string{"2"}, Took: true, Made: seconds(7.5)}
	wiped := func(is bool) timeline.Event {
		return of("fire", timeline.FaultInjected{Fault: "loseCluster(garden)", Clusters: []string{"garden"}, Wiped: is})
	}
	own := of("", timeline.RunStarted{Extensions: []string{"dns"}})
	check(t, oracle.CloudUntouched{}, map[string]row{
		"a third-party extension has": {events: from(own, released, record("put", "dns-b", internal, "2"),
			record("put", "dns-b", external, "2"), restored)},
		"nobody's own has": {events: from(released, record("put", "dns-b", internal, "2"), put("b", external, "2"), restored),
			want: "leads to 2, where dns-b has put it"},
		"both have":                {events: from(released, put("b", internal, "2"), put("b", external, "2"), restored)},
		"read after it was done":   {events: from(released, put("b", internal, "2"), restored, late)},
		"on the way they have not": {events: from(released, put("b", internal, "2"))},
		"one has not": {events: from(released, put("b", internal, "2"), restored),
			want: "alpha rests on seed b, but its name api.alpha.external leads to 1, where extensions-a has put it"},
		"the record is cut off": {events: slices.DeleteFunc(from(released, restored), isEnd)},
		"one has not until it was back": {events: from(put("b", internal, "2"), restored,
			seen(shoot("a", "b", "Restore", "Succeeded")), put("a", internal, "1"),
			seen(shoot("a", "a", "Restore", "Succeeded"))),
			want: "alpha rests on seed b, but its name api.alpha.external leads to 1"},
		"one leads elsewhere": {events: from(put("b", internal, "2"), put("b", external, "3"), restored),
			want: "its name api.alpha.external leads to 3, but api.alpha.internal to 2"},
		"one leads nowhere": {events: from(put("b", internal, "2"), record("put", "extensions-b", external),
			restored), want: "its name api.alpha.external leads to nowhere, but api.alpha.internal to 2"},
		"the old seed takes one back": {events: from(put("b", internal, "2"), put("b", external, "2"), restored,
			put("a", external, "1")), want: "its name api.alpha.external leads to 1, where extensions-a has put it"},
		"a garden from before the move shows its source": {events: from(released, put("b", internal, "2"),
			put("b", external, "2"), restored, wiped(true), seen(shoot("a", "a", "Create", "Succeeded")))},
		"a garden that has only gone and come back does": {events: from(released, put("b", internal, "2"),
			put("b", external, "2"), restored, wiped(false), put("a", internal, "1"),
			seen(shoot("a", "a", "Create", "Succeeded"))),
			want: "alpha rests on seed a, but its name api.alpha.external leads to 2"},
		"the source of such a garden has acted since": {events: from(released, put("b", internal, "2"),
			put("b", external, "2"), restored, wiped(true), put("a", internal, "1"),
			seen(shoot("a", "a", "Create", "Succeeded")), seen(shoot("a", "a", "Reconcile", "Processing")),
			seen(shoot("a", "a", "Reconcile", "Succeeded"))),
			want: "alpha rests on seed a, but its name api.alpha.external leads to 2"},
		"who sleeps has none": {events: from(step("hibernate"), record("delete", "extensions-a", internal),
			record("delete", "extensions-a", external), seen(asleep))},
		"the record of the owner is no name": {events: from(by("gardenlet-b", id,
			timeline.CloudCalled{Verb: "put", What: "records", ID: "zone/TXT/owner.alpha", Name: "owner.alpha", Outcome: "OK",
				Took: true}), put("b", internal, "2"), put("b", external, "2"), restored)},
	})
}
