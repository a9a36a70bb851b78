package oracle_test

import (
	"testing"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

func TestCloudEmptied(t *testing.T) {
	t.Parallel()
	there, gone := seen(shoot("a", "a", "Create", "Succeeded")), seen(timeline.ShootSeen{Absent: true})
	thing := func(verb, what, id string) timeline.Event {
		return by("machine-controller", "shoot--p--alpha", timeline.CloudCalled{Verb: verb, What: what, ID: id, Outcome: "OK",
			Took: true})
	}
	machine, balancer := thing("create", "machines", "m-1"), thing("create", "load-balancers", "lb-1")
	noMachine, noBalancer := thing("delete", "machines", "m-1"), thing("delete", "load-balancers", "lb-1")
	late := thing("delete", "machines", "m-1")
	late.Payload = timeline.CloudCalled{Verb: "delete", What: "machines", ID: "m-1", Outcome: "OK", Took: true,
		Made: seconds(3.5)}
	check(t, oracle.CloudEmptied{}, map[string]row{
		"in order": {events: whole(machine, steady(1), there, balancer, step("delete"), noBalancer,
			noMachine, gone)},
		"a balancer after its node": {events: whole(machine, steady(1), there, balancer, step("delete"), noMachine,
			noBalancer, gone), want: "load-balancers lb-1 goes only after machine m-1 has gone"},
		"a balancer is left": {events: whole(machine, steady(1), there, balancer, step("delete"), noMachine,
			gone), want: "alpha is gone, and has left load-balancers lb-1 in the cloud"},
		"a machine is left": {events: whole(machine, steady(1), there, step("delete"), gone),
			want: "has left machines m-1"},
		"a refused deletion": {events: whole(machine, steady(1), there, step("delete"),
			call("delete", "machines", 1, "QuotaExceeded"), gone), want: "has left machines m-1"},
		"backups and records are no case": {events: whole(machine, steady(1), there, thing("create", "objects", "o"),
			step("delete"), noMachine, gone)},
		"read late": {events: whole(machine, steady(1), there, gone, late)},
		"deleted late": {events: whole(machine, steady(1), there, gone, noMachine),
			want: "has left machines m-1"},
		"a node was replaced before": {events: whole(machine, steady(1), there, noMachine,
			thing("create", "machines", "m-2"), balancer, noBalancer, step("delete"), thing("delete", "machines", "m-2"), gone)},
		"the second life counts alone": {events: whole(machine, steady(1), there, noMachine, gone, there,
			thing("create", "machines", "m-2"), gone), want: "has left machines m-2"},
		"the record is cut off": {events: history(machine, steady(1), there, step("delete"), gone)},
		"it lives": {events: whole(machine, steady(1), there, balancer),
			lacks: "the end of a shoot with nodes"},
		"its end was not read": {events: whole(machine, steady(1), there, step("delete"), noMachine, gone,
			unreadLedger()), lacks: "the last entries of the cloud's ledger"},
		"the ledger was not read": {events: whole(steady(1), there, gone), lacks: "the cloud's ledger for alpha"},
	})
}
