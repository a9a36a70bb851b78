package oracle_test

import (
	"fmt"
	"testing"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

func machine(verb string, number int, epoch int64, outcome string) timeline.Event {
	return by("mcm-a", id, timeline.CloudCalled{
		Verb: verb, What: "machines", ID: fmt.Sprintf("m-%d", number), Name: fmt.Sprintf("pool-%d", number), Epoch: epoch,
		Outcome: outcome, Took: outcome == "OK",
	})
}

func unreadLedger() timeline.Event {
	return of("", timeline.Unseen{Probe: "cloud ledger", Error: "read the ledger behind entry 7: refused", Final: true})
}

func TestNoLostMachine(t *testing.T) {
	t.Parallel()
	made := func(n int) timeline.Event { return machine("create", n, 1, "OK") }
	gone := func(n int) timeline.Event { return machine("delete", n, 1, "OK") }
	ended := of("", timeline.Settling{})
	twins := machine("create", 9, 2, "OK")
	twins.Payload = timeline.CloudCalled{Verb: "create", What: "machines", ID: "m-9", Name: "pool-3", Epoch: 1,
		Outcome: "OK", Took: true}
	check(t, oracle.NoLostMachine{}, map[string]row{
		"nothing happens": {events: history(made(1), made(2), steady(2), ended)},
		"a roll": {events: history(made(1), made(2), steady(2), made(3), gone(1), made(4), gone(2),
			ended)},
		"deleted twice":            {events: history(made(1), made(2), steady(2), made(3), gone(1), gone(1), ended)},
		"a roll that is cut short": {events: history(made(1), made(2), steady(2), made(3))},
		"refused calls": {events: history(made(1), made(2), steady(2), machine("create", 3, 1, "Quota"),
			machine("delete", 1, 1, "Throttled"), ended)},
		"asleep": {events: history(made(1), steady(1), step("hibernate"), gone(1))},
		"one is lost": {events: history(made(1), made(2), steady(2), gone(1)),
			want: "has ended machine m-1 (pool-1), which leaves 1 of 2"},
		"lost and replaced": {events: history(made(1), steady(1), gone(1), made(2), ended), want: "leaves 0 of 1"},
		"two in exchange": {events: history(made(1), steady(1), made(2), made(3), gone(1), gone(2), ended),
			want: "machine m-3 (pool-3) makes 3, where 1 and one in exchange are wanted"},
		"one too many in the end": {events: history(made(1), steady(1), made(2), ended),
			want: "in the end there are 2 machines, 1 are wanted"},
		"a machine twice": {events: history(made(1), steady(1), made(3), gone(1), twins, gone(3), ended),
			want: "has made machine pool-3 a second time, as m-9"},
		"an old owner calls": {events: history(made(1), steady(1), machine("create", 2, 2, "OK"),
			machine("delete", 1, 2, "OK"), machine("create", 3, 1, "StaleEpoch"), ended),
			want: "as owner of epoch 1, though epoch 2 has begun"},
		"its end was not read": {events: history(made(1), steady(1), ended, unreadLedger()),
			lacks: "the last entries of the cloud's ledger"},
		"once it was not read": {events: history(made(1), of("", timeline.Unseen{Probe: "cloud ledger", Error: "busy"}),
			steady(1), ended)},
		"nothing is known of cloud": {events: history(steady(1), ended), lacks: "the cloud's ledger for alpha"},
	})
}
