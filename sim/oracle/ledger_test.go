package oracle_test

import (
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// ledgerFrom is a landscape whose ledger had so many entries before the run.
func ledgerFrom(last int64) timeline.Event {
	return of("", timeline.LandscapeReady{Cloud: true, LedgerAt: &last})
}

func TestCloudUntouched_LedgerWithGaps_IsLacked(t *testing.T) {
	t.Parallel()
	update := func(number int64) timeline.Event {
		return by("extensions-a", id, timeline.CloudCalled{
			Number: number, Verb: "update", What: "machines", Outcome: "OK", Took: true,
		})
	}
	for name, c := range map[string]struct {
		events []timeline.Event
		want   string
	}{
		"Whole":                 {[]timeline.Event{ledgerFrom(40), update(41), update(42)}, ""},
		"WholeFromTheVeryFirst": {[]timeline.Event{ledgerFrom(0), update(1)}, ""},
		"BeginningMissing": {
			[]timeline.Event{ledgerFrom(40), update(44), update(45)},
			"3 entries of the cloud's ledger from number 41 on",
		},
		"VeryFirstMissing": {
			[]timeline.Event{ledgerFrom(0), update(2)},
			"1 entries of the cloud's ledger from number 1 on",
		},
		"TwoMissing": {
			[]timeline.Event{ledgerFrom(40), update(41), update(44)},
			"2 entries of the cloud's ledger from number 42 on",
		},
		"BeginningUnknown": {[]timeline.Event{update(41), update(42)}, ""},
		"BeginningUnknown_Missing": {
			[]timeline.Event{update(41), update(44)},
			"2 entries of the cloud's ledger from number 42 on",
		},
		"NodesWithoutMachines": {
			[]timeline.Event{of("", timeline.LandscapeReady{Cloud: true}), update(41), steady(2)},
			"by which 2 of the 2 machines of alpha were made",
		},
		"DeletedAndNeverMade": {
			[]timeline.Event{machine("delete", 1, 1, "OK")},
			"by which machines m-1 (pool-1) was made, which entry 0 deletes",
		},
	} {
		events := history(append(c.events, steady(0))...)
		lacks := strings.Join(oracle.CloudUntouched{}.Lacks(events), "; ")
		if c.want == "" && lacks != "" || !strings.Contains(lacks, c.want) {
			t.Errorf("%s: lacks %q, want %q", name, lacks, c.want)
		}
	}
}

// numbered gives the entries of the ledger their numbers, but for one that was dropped. It has the record know where
// the ledger begins.
func numbered(dropped int64, events ...timeline.Event) []timeline.Event {
	all, number := []timeline.Event{ledgerFrom(0)}, int64(0)
	for _, e := range events {
		call, is := e.Payload.(timeline.CloudCalled)
		if !is {
			all = append(all, e)
			continue
		}
		if number++; number == dropped {
			continue
		}
		call.Number = number
		e.Payload = call
		all = append(all, e)
	}
	return whole(all...)
}

// Whichever entry is missing, the oracles that rest on the ledger lack it, and accuse nobody of what it would explain.
func TestLedger_AnyEntryMissing_NeitherProvesNorAccuses(t *testing.T) {
	t.Parallel()
	name := func(seed string) timeline.Event {
		return by("extensions-"+seed, id, timeline.CloudCalled{Verb: "put", What: "records", ID: "zone/A/api", Name: "api",
			Values: []string{seed}, Outcome: "OK", Took: true})
	}
	onA, onB := seen(shoot("a", "a", "Create", "Succeeded")), seen(shoot("b", "b", "Restore", "Succeeded"))
	gone := seen(timeline.ShootSeen{Absent: true})
	made := func(n int) timeline.Event { return machine("create", n, 1, "OK") }
	ends := func(n int) timeline.Event { return machine("delete", n, 1, "OK") }
	settled := of("", timeline.Settling{})
	for what, c := range map[string]struct {
		oracle  oracle.Oracle
		entries int64
		events  []timeline.Event
	}{
		"Names": {oracle.CloudUntouched{}, 4, []timeline.Event{
			made(1), name("a"), steady(1), onA, name("b"), onB, made(9),
		}},
		"Machines": {oracle.NoLostMachine{}, 6, []timeline.Event{
			made(1), made(2), steady(2), made(3), ends(1), made(4), ends(2), settled,
		}},
		"Deletion": {oracle.CloudEmptied{}, 4, []timeline.Event{
			made(1), made(2), steady(2), onA, step("delete"), ends(1), ends(2), gone,
		}},
		"Nodes": {oracle.NodesPreserved{}, 2, []timeline.Event{
			made(1), node("m-1", "1", "b"), pod(timeline.PodSeen{UID: "p", Phase: "Running", Node: "m-1"}), ends(1), steady(1),
			of("alpha", timeline.NodeSeen{Name: "m-1", Gone: true}), settled, data(), onA,
		}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if what != "Names" { // where the last call is a fault of the product
				events := numbered(0, c.events...)
				if found, lacks := c.oracle.Judge(events), c.oracle.Lacks(events); len(found)+len(lacks) > 0 {
					t.Fatalf("the whole record: found %v, lacks %v", found, lacks)
				}
			}
			for dropped := int64(1); dropped < c.entries; dropped++ {
				events := numbered(dropped, c.events...)
				for _, v := range c.oracle.Judge(events) {
					if !strings.Contains(v.Message, "create machines m-9") {
						t.Errorf("without entry %d: found %v", dropped, v)
					}
				}
				if lacks := strings.Join(c.oracle.Lacks(events), "; "); !strings.Contains(lacks, "cloud's ledger") {
					t.Errorf("without entry %d: lacks %q", dropped, lacks)
				}
			}
		})
	}
}
