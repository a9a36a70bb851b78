package report

import (
	"fmt"
	"maps"
	"slices"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// clusterRows: what the garden says of the shoots, what the seeds' control planes say of themselves, and what the
// cloud was asked for.
func clusterRows(run *Run) []Row {
	if len(run.Events) == 0 {
		return nil
	}
	rows := []Row{{
		ID: rowID(groupClusters, landscape.Garden), Group: groupClusters, Label: landscape.Garden,
		About: "changes of the Shoots and Seeds in the garden", Form: ticks, Lines: 1,
		Show: Selector{Kinds: []string{"ShootSeen", "SeedSeen"}},
	}}
	epochs := epochBars(run)
	for _, seed := range seedsOf(run, epochs) {
		rows = append(rows, barRow(groupClusters, "seed "+seed, "the control planes on seed "+seed+
			": which epoch of which shoot says that it is valid", epochs[seed],
			Selector{Kinds: []string{"EpochSeen", "InventorySeen"}}))
	}
	return append(rows, Row{
		ID: rowID(groupClusters, "cloud"), Group: groupClusters, Label: "cloud",
		About: "calls in the cloud's ledger; refused ones stand out", Form: ticks, Lines: 1,
		Show: Selector{Kinds: []string{"CloudCalled"}},
	})
}

func seedsOf(run *Run, seen map[string][]Bar) []string {
	names := map[string]bool{}
	for seed := range seen {
		names[seed] = true
	}
	for _, seed := range run.Scenario.Spec.Landscape.Seeds {
		names[seed.Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// epochLooks is the longest that two looks at a control plane may be apart and still belong to one bar: one that has
// not been heard of for longer was not there, or could not be asked.
const epochLooks = 3000

// epochBars by seed: from the first to the last time that a control plane said the same of itself, or to the next where
// it said something else soon after.
func epochBars(run *Run) map[string][]Bar {
	type plane struct{ seed, shoot string }
	type open struct {
		at    int
		key   string
		heard int64
	}
	all := map[string][]Bar{}
	now := map[plane]open{}
	for e, p := range timeline.Of[timeline.EpochSeen](run.Events) {
		who, key, at := plane{p.Seed, e.Subject}, fmt.Sprintf("epoch %d %s", p.Epoch, p.State), int64(p.Answered)/1e6
		was, known := now[who]
		if known && was.key != key && at-was.heard <= epochLooks {
			all[p.Seed][was.at].To = max(at, all[p.Seed][was.at].From)
		}
		if !known || was.key != key || at-was.heard > epochLooks {
			was = open{at: len(all[p.Seed]), key: key}
			all[p.Seed] = append(all[p.Seed], Bar{From: at, Tone: guardTone(p.State), Label: e.Subject + " " + key,
				Event: e.Seq})
		}
		was.heard = at
		now[who] = was
		bar := &all[p.Seed][was.at]
		bar.To = max(at, bar.From)
		bar.About = fmt.Sprintf("seed %s: %s of %s, revision %d, heard until %s", p.Seed, key, e.Subject, p.Revision,
			clock(bar.To))
	}
	return all
}
