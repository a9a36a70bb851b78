package oracle

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/sim/state"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// handOver is the moment of a planned move in which the source has let a shoot go, and still has its control-plane
// namespace. It lasts until the shoot is restored elsewhere. A forced move has none.
type handOver struct {
	shoot, source string
	seq           int
	from, to      time.Duration
	look          *timeline.Event // into the namespace; nil if there was none
}

// handOversOf are those of all shoots, in their order. A look is into the newest of the shoot and its source: by then
// the destination may have left the shoot as well.
func handOversOf(events []timeline.Event) []handOver {
	var all []handOver
	known, newest := state.New(), map[[2]string]int{} // into all, by shoot and source
	for _, e := range events {
		before := known.Shoots[e.Subject]
		known.Take(e)
		switch p := e.Payload.(type) {
		case timeline.ShootSeen:
			if p.Operation.Type != "Migrate" && p.Operation.State == "Succeeded" {
				for i := range all {
					if all[i].shoot == e.Subject {
						all[i].to = min(all[i].to, e.At)
					}
				}
			}
			if source := timeline.HandedOver(before, p); source != "" {
				newest[[2]string{e.Subject, source}] = len(all)
				all = append(all, handOver{shoot: e.Subject, source: source, seq: e.Seq, from: e.At, to: math.MaxInt64})
			}
		case timeline.InventorySeen:
			if i, is := newest[[2]string{p.Shoot, e.Subject}]; is && p.When == timeline.Left {
				all[i].look = &e
			}
		}
	}
	return all
}

// takenAway says whether a fault had a cluster away for a part of a stretch of time: nobody could look at it then.
func takenAway(events []timeline.Event, cluster string, from, to time.Duration) bool {
	return slices.ContainsFunc(absenceOf(events, cluster), func(s stretch) bool { return s.from <= to && s.to >= from })
}

// seedWriters are those who write what a seed itself keeps in a control-plane namespace: its gardenlet, the control
// plane that this has deployed, Kubernetes, and the harness. All others are extensions, and what these have deployed.
var seedWriters = []string{
	"gardenlet", "gardener-resource-manager", "machine-controller",
	"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "processnode",
	"transplant", "transplant-observer",
}

// gone are the groups of which a released shoot has no object any more: what extensions and the machine
// controller work for, and what the resource manager applies.
var gone = []string{".extensions.gardener.cloud", ".machine.sapcloud.io", ".resources.gardener.cloud"}

// backupSecrets are what etcd reads its backups with. The extension of BackupEntries writes them, and has nothing to do
// at migrate (docs/specification/extensions.md#spec-3-6): they stay with etcd.
var backupSecrets = []string{constants.SecretNameEtcdBackup, constants.SecretNameSourceEtcdBackup}

// leftBehind is why an object in the control-plane namespace must not be there when the shoot was released
// (docs/specification/migration.md#spec-2-6, docs/contract.md#clause-b4, docs/contract.md#clause-b5); empty if it may
// be. A Secret that moves with the shoot stays, and so does what the seed itself keeps for the restore, and the Lease
// of a leader that has ended. Of an object that does not say who has written it nothing is known.
func leftBehind(item timeline.Item) string {
	isOf := func(group string) bool { return strings.HasSuffix(item.Class, group) }
	switch {
	case transient[item.Class] || item.Class == "secrets" && (item.Persisted || slices.Contains(backupSecrets, item.Name)):
		return ""
	case slices.ContainsFunc(gone, isOf):
		return "it was to be deleted before"
	case len(item.Managers) == 0 || slices.ContainsFunc(item.Managers, isSeedWriter):
		return ""
	}
	return "written by " + strings.Join(item.Managers, ", ")
}

func isSeedWriter(manager string) bool { return slices.Contains(seedWriters, manager) }

// lacksOfHandOvers are the looks that nobody took, or that did not see everything, although the source was there.
func lacksOfHandOvers(events []timeline.Event) []string {
	var lacks []string
	for _, h := range handOversOf(events) {
		if takenAway(events, h.source, h.from, h.to) {
			continue
		}
		what := "what was left of " + h.shoot + " on " + h.source + " when it had let the shoot go"
		if h.look == nil {
			lacks = append(lacks, what)
			continue
		}
		for _, part := range h.look.Payload.(timeline.InventorySeen).Unreadable {
			lacks = append(lacks, what+": "+part)
		}
	}
	return lacks
}

// judgeHandOvers finds what is left while the namespace still shows it: its deletion would hide it.
func judgeHandOvers(f *findings, events []timeline.Event) {
	for _, h := range handOversOf(events) {
		if h.look == nil {
			continue
		}
		var orphans []string
		for _, item := range h.look.Payload.(timeline.InventorySeen).Items {
			if why := leftBehind(item); why != "" {
				orphans = append(orphans, describe(item)+", "+why+",")
			}
		}
		slices.Sort(orphans)
		for i, orphan := range orphans {
			if i == mostLosses {
				f.add(h.look.At, proof(h.seq, h.look.Seq), "%s: and %d more are left on %s", h.shoot, len(orphans)-i, h.source)
				break
			}
			f.add(h.look.At, proof(h.seq, h.look.Seq),
				"%s: %s is left on %s, which has let the shoot go", h.shoot, orphan, h.source)
		}
	}
}
