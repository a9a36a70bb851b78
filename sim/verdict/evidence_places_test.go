package verdict_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// lessenedPlace is a record with a part of what was seen in one place taken away.
type lessenedPlace struct {
	lessened
	// promise that rests on it: it must be unknown then, where the whole record shows that it was kept. Empty for every
	// promise: the record contradicts itself.
	promise string
	// contradicts says that only records with heartbeats can show it: these records are compared with themselves.
	contradicts bool
}

// TestEvidence_PlaceHalfSeen_NeitherProvesNorAccuses takes away parts of what was seen in the cloud, on the seeds and
// in the shoots: those who looked there have looked, and seen too little.
func TestEvidence_PlaceHalfSeen_NeitherProvesNorAccuses(t *testing.T) {
	t.Parallel()
	table := &evidenceTable{cells: map[string]map[string]map[answer]int{}}
	t.Run("runs", func(t *testing.T) {
		for _, file := range recordedRuns(t) {
			t.Run(nameOfRun(file), func(t *testing.T) {
				t.Parallel()
				recorded := asOfToday(withEverything(t, readRecord(t, file), 1.5, 0.5))
				quiet := withoutHeartbeat(recorded)
				_, run, _ := timeline.First[timeline.RunStarted](recorded)
				full, _ := judged(t, quiet)
				for name, one := range lessenedPlaces(quiet) {
					if !one.contradicts {
						checkPlace(t, name, one, full, table)
					}
				}
				if full, _ = judged(t, recorded); run.Heartbeat == 0 {
					return
				}
				for name, one := range lessenedPlaces(recorded) {
					one.events = withTally(one.events)
					checkPlace(t, name+", with heartbeats", one, full, table)
				}
			})
		}
	})
	for _, kind := range []string{
		"the ledger's beginning", "entries of the ledger", "an entry twice", "an inventory of one place",
		"half of an inventory", "a whole look at objects", "half of a look at objects", "one class in all looks",
		"half of the data",
	} {
		if len(table.cells[kind]) == 0 {
			t.Errorf("no record has %s to take away", kind)
		}
	}
	table.write(t)
}

func checkPlace(t *testing.T, name string, one lessenedPlace, full answersOf, table *evidenceTable) {
	t.Helper()
	got, v := judged(t, one.events)
	if one.promise == "" && v != verdict.Error {
		t.Errorf("%s: the verdict is %s", name, v)
	}
	for _, promise := range slices.Sorted(maps.Keys(got)) {
		table.add(promise, one.kind, got[promise])
		switch {
		case got[promise] == missed && full[promise] != missed:
			t.Errorf("%s: %s is broken, and %s by the whole record", name, promise, full[promise])
		case got[promise] == kept && full[promise] != kept:
			t.Errorf("%s: %s is kept, and %s by the whole record", name, promise, full[promise])
		case got[promise] == kept && promise == one.promise:
			t.Errorf("%s: %s is kept", name, promise)
		}
	}
}

// asOfToday gives a record what older ones do not say: that there is a cloud, and where its ledger was when the run
// began.
func asOfToday(events []timeline.Event) []timeline.Event {
	events = slices.Clone(events)
	_, first, _ := timeline.First[timeline.CloudCalled](events)
	at := first.Number - 1
	for i, e := range events {
		if ready, is := e.Payload.(timeline.LandscapeReady); is {
			ready.Cloud, ready.LedgerAt = true, &at
			events[i].Payload = ready
		}
	}
	return events
}

// withTally has the end of a record count what is in it: the engine would have counted no more.
func withTally(events []timeline.Event) []timeline.Event {
	there := map[timeline.Kind]int{}
	for _, e := range events {
		there[e.Payload.Kind()]++
	}
	for i, e := range events {
		if ended, is := e.Payload.(timeline.RunEnded); is {
			ended.Recorded = there
			events[i].Payload = ended
		}
	}
	return events
}

func lessenedPlaces(whole []timeline.Event) map[string]lessenedPlace {
	all := map[string]lessenedPlace{}
	maps.Copy(all, lessenedLedgers(whole))
	maps.Copy(all, lessenedInventories(whole))
	maps.Copy(all, lessenedLooks(whole))
	return all
}

func lessenedLedgers(whole []timeline.Event) map[string]lessenedPlace {
	all := map[string]lessenedPlace{}
	var calls []timeline.Event
	for e := range timeline.Of[timeline.CloudCalled](whole) {
		calls = append(calls, e)
	}
	from := func(kind string, gone func(i int) bool) lessenedPlace {
		left := map[int]bool{}
		for i, e := range calls {
			left[e.Seq] = !gone(i)
		}
		return lessenedPlace{promise: "CloudUntouched", lessened: lessened{kind, keep(whole, func(e timeline.Event) bool {
			_, is := e.Payload.(timeline.CloudCalled)
			return !is || left[e.Seq]
		})}}
	}
	for _, first := range []int{1, 3, len(calls) / 4, len(calls) / 2} {
		all[fmt.Sprintf("without the first %d entries", first)] = from("the ledger's beginning",
			func(i int) bool { return i < first })
	}
	for rest := range 5 {
		all[fmt.Sprintf("without each fifth entry from %d on", rest)] = from("entries of the ledger",
			func(i int) bool { return i%5 == rest && i < len(calls)-1 })
	}
	for _, i := range []int{0, len(calls) / 2, len(calls) - 1} {
		twice := slices.Insert(slices.Clone(whole), calls[i].Seq, calls[i])
		all[fmt.Sprintf("call %d twice", i)] = lessenedPlace{contradicts: true,
			lessened: lessened{"an entry twice", keep(twice, func(timeline.Event) bool { return true })}}
	}
	return all
}

func lessenedInventories(whole []timeline.Event) map[string]lessenedPlace {
	all := map[string]lessenedPlace{}
	_, ready, _ := timeline.First[timeline.LandscapeReady](whole)
	for look, seen := range timeline.Of[timeline.InventorySeen](whole) {
		if seen.When == timeline.Left {
			continue
		}
		name := look.Subject + " " + seen.When
		all["no inventory of "+name] = lessenedPlace{promise: "NoOrphans", lessened: lessened{"an inventory of one place",
			keep(whole, func(e timeline.Event) bool { return e.Seq != look.Seq })}}
		for rest := range 2 {
			if !slices.Contains(ready.Seeds, look.Subject) { // nothing is in a cloud for sure before there is a shoot
				continue
			}
			half := seen
			half.Items = each(seen.Items, rest)
			all[fmt.Sprintf("half %d of the inventory of %s", rest, name)] = lessenedPlace{promise: "NoOrphans",
				lessened: lessened{"half of an inventory", instead(whole, look.Seq, half)}}
		}
	}
	return all
}

func lessenedLooks(whole []timeline.Event) map[string]lessenedPlace {
	all := map[string]lessenedPlace{}
	for look, seen := range timeline.Of[timeline.ObjectsSeen](whole) {
		name := fmt.Sprintf("of the objects of %s by event %d", look.Subject, look.Seq)
		empty, half, bare := seen, seen, seen
		empty.Resources = nil
		half.Resources = each(seen.Resources, 0)
		bare.Resources = nil
		for _, resource := range seen.Resources {
			resource.Objects = nil
			bare.Resources = append(bare.Resources, resource)
		}
		for what, lesser := range map[string]timeline.ObjectsSeen{"nothing": empty, "only classes": bare} {
			all[what+" "+name] = lessenedPlace{promise: "ShootUntouched",
				lessened: lessened{"a whole look at objects", instead(whole, look.Seq, lesser)}}
		}
		all["half "+name] = lessenedPlace{promise: "ShootUntouched",
			lessened: lessened{"half of a look at objects", instead(whole, look.Seq, half)}}
	}
	for _, class := range []string{"serviceaccounts", "nodes", "pods"} {
		unseen := slices.Clone(whole)
		for look, seen := range timeline.Of[timeline.ObjectsSeen](whole) {
			seen.Resources = slices.Clone(seen.Resources)
			for i := range seen.Resources {
				if seen.Resources[i].Class == class {
					seen.Resources[i].Objects = nil
				}
			}
			unseen = instead(unseen, look.Seq, seen)
		}
		all["no "+class+" in any look"] = lessenedPlace{promise: "ShootUntouched",
			lessened: lessened{"one class in all looks", unseen}}
	}
	for look, seen := range timeline.Of[timeline.DataSeen](whole) {
		if len(seen.Keys) < 2 {
			continue
		}
		seen.Keys = each(seen.Keys, 0)
		all["half of the data of "+look.Subject] = lessenedPlace{contradicts: true,
			lessened: lessened{"half of the data", instead(whole, look.Seq, seen)}}
	}
	return all
}

// each second one, from the first or the second on.
func each[T any](all []T, from int) (left []T) {
	for i := from; i < len(all); i += 2 {
		left = append(left, all[i])
	}
	return left
}

// instead of what an event says it says something else.
func instead(whole []timeline.Event, seq int, payload timeline.Payload) []timeline.Event {
	changed := slices.Clone(whole)
	changed[seq-1].Payload = payload
	return changed
}
