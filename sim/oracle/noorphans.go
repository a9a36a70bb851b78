package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/transplant-sim/transplant/sim/state"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// NoOrphans promises that nothing of a shoot is left on a seed that it has left: no object of any type, cluster-scoped
// ones too, no process, data folder, backup or DNS record (docs/specification/migration.md#cpm-8); that no folder of a
// pod outlives its pod, and no volume of the cloud its claim; and that a source that has let a shoot go, and keeps the
// namespace until the shoot is restored, has nothing in it that extensions have made, but for the Secrets that move
// with the shoot (docs/contract.md#clause-b4, docs/contract.md#clause-b5).
type NoOrphans struct{}

var _ Oracle = NoOrphans{}

// Name of the promise.
func (NoOrphans) Name() string { return "NoOrphans" }

// transient are classes that come and go without anybody's doing: who mentions no shoot in one of them is no orphan.
var transient = map[string]bool{"events": true, "events.events.k8s.io": true, "leases.coordination.k8s.io": true}

// ofPrograms are cluster-scoped classes by which a program shows an API server that it is there, and what it may do. An
// extension makes them when it starts, or when its certificates are renewed: without a mention they are of no shoot.
var ofPrograms = map[string]bool{
	"mutatingwebhookconfigurations.admissionregistration.k8s.io":   true,
	"validatingwebhookconfigurations.admissionregistration.k8s.io": true,
	"clusterroles.rbac.authorization.k8s.io":                       true,
	"clusterrolebindings.rbac.authorization.k8s.io":                true,
}

// ephemeral are classes that nobody cleans up because they expire.
var ephemeral = map[string]bool{"events": true, "events.events.k8s.io": true}

// Lacks inventories before and after, of every seed, looks into the namespaces that sources released, and the state
// of each shoot that an inventory may mention.
func (NoOrphans) Lacks(events []timeline.Event) []string {
	type look struct{ place, when string }
	seen := map[look]bool{}
	_, ready, _ := timeline.First[timeline.LandscapeReady](events)
	lacks := lacksOfHandOvers(events)
	last := state.Of(events).Shoots
	for _, shoot := range shootsOf(events) {
		if _, seen := last[shoot]; !seen {
			lacks = append(lacks, "the Shoot "+shoot+" in the garden")
		}
	}
	ids := seenIDs(events)
	if len(ids) == 0 {
		lacks = append(lacks, "any shoot")
	}
	for e, p := range timeline.Of[timeline.InventorySeen](events) {
		if p.When == timeline.Left {
			continue
		}
		seen[look{e.Subject, p.When}] = true
		for _, part := range p.Unreadable {
			lacks = append(lacks, part+" on "+e.Subject+" "+p.When+" the scenario")
		}
		if !slices.Contains(ready.Seeds, e.Subject) {
			continue
		}
		for _, what := range missingFromSeed(p, ready.CertainOnSeed) {
			lacks = append(lacks, what+" on "+e.Subject+" "+p.When+" the scenario, where it must be")
		}
	}
	for _, seed := range ready.Seeds {
		for _, when := range []string{timeline.Before, timeline.After} {
			if !seen[look{seed, when}] {
				lacks = append(lacks, "the inventory of seed "+seed+" "+when+" the scenario")
			}
		}
	}
	for _, when := range []string{timeline.Before, timeline.After} {
		if ready.Cloud && !seen[look{cloudPlace, when}] {
			lacks = append(lacks, "the inventory of the cloud "+when+" the scenario")
		}
	}
	if blindAtEnd(events, timeline.Inventory) {
		lacks = append(lacks, "all of the last inventory")
	}
	if len(ready.Seeds) == 0 {
		lacks = append(lacks, "the seeds")
	}
	return append(lacks, blindSpots(events)...)
}

const cloudPlace = "cloud"

// blindSpots are classes of which the last inventory of a place shows nothing of a shoot that certainly has something
// there: then it shows nothing of those that have left, either.
func blindSpots(events []timeline.Event) (lacks []string) {
	_, ready, _ := timeline.First[timeline.LandscapeReady](events)
	seen := map[string]bool{}
	for e, p := range timeline.Of[timeline.InventorySeen](events) {
		for _, item := range p.Items {
			for _, id := range item.Mentions {
				seen[e.Subject+" "+item.Class+" "+id] = seen[e.Subject+" "+item.Class+" "+id] || p.When == timeline.After
			}
		}
	}
	ids, last := technicalIDs(events), state.Of(events).Shoots
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		now := last[ids[id]]
		if !rests(now) {
			continue
		}
		for place, classes := range map[string][]string{now.StatusSeed: ready.CertainOnSeed,
			cloudPlace: ready.CertainInCloud} {
			for _, class := range classes {
				if !seen[place+" "+class+" "+id] {
					lacks = append(lacks,
						fmt.Sprintf("any %s of %s on %s after the scenario, and some must be there", class, id, place))
				}
			}
		}
	}
	slices.Sort(lacks)
	return lacks
}

// Judge what is there after the scenario and was not before.
func (o NoOrphans) Judge(events []timeline.Event) []Violation {
	f := findings{oracle: o.Name()}
	_, run, _ := timeline.First[timeline.RunStarted](events)
	_, ready, _ := timeline.First[timeline.LandscapeReady](events)
	ids, last := seenIDs(events), state.Of(events).Shoots
	before, unread, earlierLook := map[string]map[string]timeline.Item{}, map[string][]string{}, map[string]int{}
	for e, p := range timeline.Of[timeline.InventorySeen](events) {
		if p.When == timeline.Left {
			continue
		}
		isSeed := slices.Contains(ready.Seeds, e.Subject)
		if isSeed && len(missingFromSeed(p, ready.CertainOnSeed)) > 0 {
			delete(before, e.Subject)
			continue // what it does not show may have been there
		}
		if p.When == timeline.Before {
			before[e.Subject], unread[e.Subject], earlierLook[e.Subject] = byName(p.Items), p.Unreadable, e.Seq
			continue
		}
		if earlier, looked := before[e.Subject]; looked {
			place := place{name: e.Subject, isSeed: isSeed, ids: ids, last: last, extensions: run.Extensions}
			place.seen = earlierLook[e.Subject]
			items := slices.DeleteFunc(slices.Clone(p.Items), func(item timeline.Item) bool {
				return isUnread(unread[e.Subject], item)
			})
			o.judgePlace(&f, e, place, earlier, items)
			o.judgeBuckets(&f, e, place, earlier, items)
		}
	}
	judgeHandOvers(&f, events)
	return f.sorted()
}

// seenIDs are the technical ids of all shoots of which anything was seen, by technical id.
func seenIDs(events []timeline.Event) map[string]string {
	ids := technicalIDs(events)
	for e, p := range timeline.Of[timeline.ShootSeen](events) {
		if p.TechnicalID != "" {
			ids[p.TechnicalID] = e.Subject
		}
	}
	return ids
}

// ownersOfFolders are the classes of what folders belong to, by what the folders are.
var ownersOfFolders = map[string]string{"pods": "pods", "volumes": "persistentvolumeclaims"}

// isUnread says whether nobody could see things of this class in an earlier look: one may have been there all the time.
func isUnread(parts []string, item timeline.Item) bool {
	return slices.ContainsFunc(parts, func(part string) bool {
		version, isGroup := strings.CutPrefix(part, "group ")
		group, _, _ := strings.Cut(version, "/")
		return strings.HasPrefix(part, item.Class+": ") || isGroup && strings.HasSuffix(item.Class, "."+group)
	})
}

func byName(items []timeline.Item) map[string]timeline.Item {
	named := map[string]timeline.Item{}
	for _, item := range items {
		named[item.Class+"/"+item.Namespace+"/"+item.Name] = item
	}
	return named
}

// place is a seed, or something that belongs to no seed, at the end of the scenario.
type place struct {
	name   string
	isSeed bool
	ids    map[string]string
	last   map[string]timeline.ShootSeen
	seen   int // the look before the scenario, by its Seq
	// extensions are the third-party extensions of the run, by their names.
	extensions []string
}

// isOfExtension says whether an item that mentions no shoot is of a third-party extension as such, such as the
// authority of its webhooks. What a program of the seed has written is not.
func (p place) isOfExtension(item timeline.Item) bool {
	name, of := strings.CutPrefix(item.Namespace, "extension-")
	return of && slices.Contains(p.extensions, name) || ofPrograms[item.Class] && len(p.extensions) > 0 &&
		!slices.ContainsFunc(item.Managers, isSeedWriter)
}

// holds says whether the shoot with this technical id belongs here. One whose state nobody has seen may do so. What is
// of a seed that is a shoot is in the seed itself, such as its nodes.
func (p place) holds(id string) bool {
	seen, known := p.last[p.ids[id]]
	switch {
	case !known || p.isItself(id):
		return true
	case seen.Absent:
		return false
	}
	return !p.isSeed || seen.StatusSeed == p.name || seen.SpecSeed == p.name
}

// isItself says whether the place is a seed that is this shoot.
func (p place) isItself(id string) bool { return p.isSeed && p.ids[id] == p.name }

// empty says that no other shoot belongs here, of those that were seen.
func (p place) empty() bool {
	if len(p.ids) == 0 {
		return false
	}
	for id := range p.ids {
		if p.holds(id) && !p.isItself(id) {
			return false
		}
	}
	return true
}

func (o NoOrphans) judgePlace(f *findings, e timeline.Event, here place, before map[string]timeline.Item,
	after []timeline.Item) {
	known := uids(slices.Collect(maps.Values(before)))
	there := uids(after)
	seen := map[string]bool{}
	for _, item := range after {
		seen[item.Class] = true
		if here.isOfLoad(item) {
			known[item.UID] = true
		}
	}
	var orphans []string
	for key, item := range byName(after) {
		_, old := before[key]
		outlives := item.Class == "folder" && item.Owner != "" && seen[ownersOfFolders[item.Namespace]] && !there[item.Owner]
		if outlives && (!old || known[item.Owner]) ||
			!old && !here.isOfLoad(item) && o.isOrphan(here, item, descends(item, after, known)) {
			orphans = append(orphans, describe(item))
		}
	}
	slices.Sort(orphans)
	for i, orphan := range orphans {
		if i == mostLosses {
			f.add(e.At, proof(here.seen, e.Seq), "and %d more are left on %s", len(orphans)-i, e.Subject)
			return
		}
		f.add(e.At, proof(here.seen, e.Seq), "%s is left on %s", orphan, e.Subject)
	}
}

// isOfLoad says whether an item is of the load's namespace, which a seed has, too, if it is a shoot.
func (p place) isOfLoad(item timeline.Item) bool {
	isShoot := p.isSeed && slices.Contains(slices.Collect(maps.Values(p.ids)), p.name)
	return isShoot && (item.Namespace == timeline.LoadNamespace ||
		item.Class == "namespaces" && item.Name == timeline.LoadNamespace)
}

func uids(items []timeline.Item) map[string]bool {
	all := map[string]bool{}
	for _, item := range items {
		all[item.UID] = true
	}
	delete(all, "")
	return all
}

// judgeBuckets: each seed has a bucket of its own, and a shoot that has settled on one seed has backups in one
// bucket.
func (NoOrphans) judgeBuckets(f *findings, e timeline.Event, here place, before map[string]timeline.Item,
	after []timeline.Item) {
	buckets := map[string][]string{} // by technical id
	for key, item := range byName(after) {
		if _, old := before[key]; old || here.isSeed || item.Class != "object" {
			continue
		}
		for id := range set(item.Mentions) {
			if !slices.Contains(buckets[id], item.Namespace) {
				buckets[id] = append(buckets[id], item.Namespace)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(buckets)) {
		shoot := here.last[here.ids[id]]
		if moving := shoot.SpecSeed != shoot.StatusSeed || shoot.Operation.State != "Succeeded"; len(buckets[id]) > 1 &&
			here.holds(id) && !moving {
			slices.Sort(buckets[id])
			f.add(e.At, proof(here.seen, e.Seq), "backups of %s are left in a bucket it has left: they are in %s", id,
				strings.Join(buckets[id], " and in "))
		}
	}
}

func (NoOrphans) isOrphan(here place, item timeline.Item, belongs bool) bool {
	if ephemeral[item.Class] {
		return false
	}
	if len(item.Mentions) > 0 {
		return !slices.ContainsFunc(item.Mentions, here.holds)
	}
	return here.isSeed && here.empty() && !belongs && !transient[item.Class] && !here.isOfExtension(item)
}

// descends says whether the item is owned, over any number of steps, by something that was there before, such as a
// process by the pod of an extension that started it later.
func descends(item timeline.Item, all []timeline.Item, known map[string]bool) bool {
	owners := map[string]string{}
	for _, other := range all {
		owners[other.UID] = other.Owner
	}
	seen := map[string]bool{}
	for owner := item.Owner; owner != "" && !seen[owner]; owner = owners[owner] {
		if known[owner] {
			return true
		}
		seen[owner] = true
	}
	return false
}

func describe(item timeline.Item) string {
	text := item.Class + " " + strings.TrimPrefix(item.Namespace+"/"+item.Name, "/")
	if len(item.Mentions) > 0 {
		text += " of " + strings.Join(slices.Sorted(maps.Keys(set(item.Mentions))), ", ")
	}
	return text
}

func set(names []string) map[string]bool {
	all := map[string]bool{}
	for _, name := range names {
		all[name] = true
	}
	return all
}
