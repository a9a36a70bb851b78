package oracle

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/state"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// SingleWriter promises that no two control planes of a shoot commit or answer in overlapping ownership
// (docs/ownership.md#spec-9-2). It is judged by commit, epoch and revision, and at the client: no request sent after
// the first answer of epoch e+1 is answered by e.
type SingleWriter struct{}

var _ Oracle = SingleWriter{}

// Name of the promise.
func (SingleWriter) Name() string { return "SingleWriter" }

// Lacks epochs, the revisions that say whose store has committed a write, or a look at the seed that has the shoot in
// the end: two owners of whom one was never seen are none.
func (SingleWriter) Lacks(events []timeline.Event) []string {
	var lacks []string
	last := state.Of(events).Shoots
	for _, shoot := range shootsOf(events) {
		epochs := EpochsOf(events, shoot)
		if len(epochs) == 0 {
			lacks = append(lacks, "the owner epochs of "+shoot)
			continue
		}
		read := slices.ContainsFunc(epochs, func(e *Epoch) bool { return e.low > 0 })
		if !read && len(acknowledgedBySent(events, shoot)) > 0 {
			lacks = append(lacks, "the revisions of any store of "+shoot)
		}
		if cached := cachedReads(events, shoot); keepsAddress(events, shoot) && !slices.ContainsFunc(cached, answered) {
			lacks = append(lacks, "any answer at the address that "+shoot+"'s name first had")
		}
		now, known := last[shoot]
		if !AwayAtEnd(now) {
			lacks = append(lacks, questionsLacking(LastLife(events, shoot), shoot)...)
		}
		valid := slices.ContainsFunc(epochs, func(e *Epoch) bool { return e.Answered && e.Seed == now.StatusSeed })
		if known && rests(now) && !valid {
			lacks = append(lacks, "a valid owner of "+shoot+" on seed "+now.StatusSeed)
		}
	}
	return lacks
}

// questionsLacking: an owner that is over answers nobody, so that only who has asked knows that none did. Its control
// plane may be gone, and its seed lost; but somebody must have looked around in the end, and, where there is a reader
// who stays at the first address, it must have heard there, once the last owner was valid and nothing was frozen or cut
// off any more, what an owner that is over says.
func questionsLacking(events []timeline.Event, shoot string) (lacks []string) {
	if settling, _, settled := timeline.First[timeline.Settling](events); settled {
		looked := false
		for e, p := range timeline.Of[timeline.EpochSeen](events) {
			looked = looked || e.Subject == shoot && time.Duration(p.Sent) > settling.At
		}
		if !looked {
			lacks = append(lacks, "a control plane of "+shoot+" in the end")
		}
	}
	newest := EpochsOf(events, shoot).newest()
	if newest == nil || !keepsAddress(events, shoot) {
		return lacks
	}
	since := max(newest.Valid, lastHealed(events))
	heard := func(read timeline.CachedRead) bool {
		return read.Outcome != timeline.Unknown && time.Duration(read.Sent) > since
	}
	if !slices.ContainsFunc(cachedReads(events, shoot), heard) {
		lacks = append(lacks,
			fmt.Sprintf("an answer or a refusal at the address that %s's name first had since epoch %d is valid and the last "+
				"fault is healed", shoot, newest.Number))
	}
	return lacks
}

// lastHealed is when the last fault was, 0 if none was.
func lastHealed(events []timeline.Event) (at time.Duration) {
	for e := range timeline.Of[timeline.FaultHealed](events) {
		at = e.At
	}
	return at
}

// Judge each shoot by itself.
func (o SingleWriter) Judge(events []timeline.Event) []Violation {
	f := findings{oracle: o.Name()}
	for _, shoot := range shootsOf(events) {
		for _, life := range Lives(events, shoot) {
			epochs := EpochsOf(life, shoot)
			o.judgeValidity(&f, life, shoot, epochs)
			o.judgeStores(&f, life, shoot, epochs)
			o.judgeAnswers(&f, life, shoot, epochs)
			o.judgeRefusals(&f, life, shoot, epochs)
			o.judgeCachedReads(&f, life, shoot, epochs)
		}
	}
	return f.sorted()
}

// judgeValidity: an epoch is one seed's, and once it has said that it is valid, no older one says so when asked
// afterwards.
func (SingleWriter) judgeValidity(f *findings, events []timeline.Event, shoot string, epochs Epochs) {
	reported := map[int64]bool{}
	owners := map[int64]timeline.Event{}
	for e, p := range timeline.About[timeline.EpochSeen](events, shoot) {
		if p.Epoch == 0 || p.Remaining <= 0 || reported[p.Epoch] {
			continue
		}
		if owner, known := owners[p.Epoch].Payload.(timeline.EpochSeen); known && owner.Seed != p.Seed {
			reported[p.Epoch] = true
			f.add(e.At, proof(owners[p.Epoch].Seq, e.Seq), "%s: epoch %d is valid on seed %s, though it was seed %s's", shoot,
				p.Epoch, p.Seed, owner.Seed)
			continue
		}
		owners[p.Epoch] = e
		if later := epochs.newer(p.Epoch, p.Sent); later != nil {
			reported[p.Epoch] = true
			f.add(e.At, proof(later.Event, e.Seq),
				"%s: epoch %d on seed %s says that it is valid, though epoch %d has been valid since %s",
				shoot, p.Epoch, p.Seed, later.Number, later.Valid.Round(time.Millisecond))
		}
	}
}

// late is what the store of an epoch does after a newer one was valid.
type late struct {
	first   int64 // revision that was read
	commits bool
	at      time.Duration
	message string
	read    int // the event that showed it first, by its Seq
	shown   []int
}

// judgeStores: once an epoch is valid, the store of an older one answers nobody, not even a reader, since a read
// through an API server asks its etcd how far it is; and its revision grows no more. Of each epoch the gravest is
// reported, once.
func (SingleWriter) judgeStores(f *findings, events []timeline.Event, shoot string, epochs Epochs) {
	reported := map[int64]*late{}
	for e, p := range timeline.About[timeline.EpochSeen](events, shoot) {
		if p.Epoch == 0 || p.Revision == 0 {
			continue
		}
		later := epochs.newer(p.Epoch, p.Sent)
		if later == nil {
			continue
		}
		does := ""
		one := reported[p.Epoch]
		switch {
		case one == nil:
			one = &late{first: p.Revision, read: e.Seq}
			reported[p.Epoch] = one
			does = fmt.Sprintf("is read (revision %d)", p.Revision)
		case p.Revision > one.first && !one.commits:
			one.commits = true
			does = fmt.Sprintf("commits (revision %d after %d)", p.Revision, one.first)
		default:
			continue
		}
		one.shown = proof(later.Event, one.read, e.Seq)
		one.at, one.message = e.At, fmt.Sprintf("%s: epoch %d on seed %s %s, though epoch %d has been valid since %s",
			shoot, p.Epoch, p.Seed, does, later.Number, later.Valid.Round(time.Millisecond))
	}
	for _, number := range slices.Sorted(maps.Keys(reported)) {
		f.add(reported[number].at, reported[number].shown, "%s", reported[number].message)
	}
}

// judgeAnswers: the revisions of acknowledged writes grow with time, and so do the epochs that they belong to.
func (SingleWriter) judgeAnswers(f *findings, events []timeline.Event, shoot string, epochs Epochs) {
	writes := acknowledgedBySent(events, shoot)
	byAnswer := slices.Clone(writes)
	slices.SortStableFunc(byAnswer, func(a, b write) int { return int(a.Answered - b.Answered) })
	var highest, newest write // by revision; the first answer of the newest epoch
	var epoch int64
	next := 0
	for _, w := range writes {
		for ; next < len(byAnswer) && byAnswer[next].Answered < w.Sent; next++ {
			if b := byAnswer[next]; b.ResourceVersion > highest.ResourceVersion {
				highest = b
			}
			if its := epochs.Of(byAnswer[next].ResourceVersion); its > epoch {
				epoch, newest = its, byAnswer[next]
			}
		}
		if mine := epochs.Of(w.ResourceVersion); mine != 0 && mine < epoch {
			f.add(time.Duration(w.Answered), proof(newest.seq, w.seq),
				"%s: write %d was sent at %s, after the first answer of epoch %d, and answered by epoch %d (revision %d)",
				shoot, w.Number, w.Sent, epoch, mine, w.ResourceVersion)
		} else if w.ResourceVersion <= highest.ResourceVersion {
			f.add(time.Duration(w.Answered), proof(highest.seq, w.seq),
				"%s: write %d was committed at revision %d, though write %d had been answered with revision %d before it was "+
					"sent: two histories",
				shoot, w.Number, w.ResourceVersion, highest.Number, highest.ResourceVersion)
		}
	}
}

// judgeRefusals: nothing in a refusal says whose it is. But a patch is of the version that the last write to its key
// has left, and nobody else writes the key: a store that has committed that write, and is found later not to have been
// restored meanwhile, has refused nothing.
func (SingleWriter) judgeRefusals(f *findings, events []timeline.Event, shoot string, epochs Epochs) {
	writes := writesOf(events, shoot)
	last := map[string]write{}
	for i, w := range writes {
		if acknowledged(w) {
			last[w.Key] = w
			continue
		}
		was := last[w.Key]
		if !refusedForItsVersion(w) || was.ResourceVersion == 0 {
			continue
		}
		goesOn := func(later write) bool {
			return acknowledged(later) && later.Sent > w.Answered &&
				epochs.Of(later.ResourceVersion) == epochs.Of(was.ResourceVersion) &&
				Generation(later.ResourceVersion) == Generation(was.ResourceVersion)
		}
		if at := slices.IndexFunc(writes[i:], goesOn); at >= 0 {
			later := writes[i+at]
			f.add(time.Duration(later.Answered), proof(was.seq, w.seq, later.seq),
				"%s: write %d to %s was sent at %s and refused with status %d, though write %d had been answered with revision "+
					"%d, and its store goes on (write %d, revision %d): two histories",
				shoot, w.Number, w.Key, w.Sent, w.Status, was.Number, was.ResourceVersion, later.Number, later.ResourceVersion)
		}
	}
}

// refusedForItsVersion: the key is not there, or of another version than the one that is patched.
func refusedForItsVersion(w write) bool {
	return w.Outcome == timeline.Failed && w.Verb == "patch" &&
		(w.Status == http.StatusConflict || w.Status == http.StatusNotFound)
}

// judgeCachedReads: what is sent once an epoch is valid is not answered by an older one, from its memory either. Each
// epoch is reported once.
func (SingleWriter) judgeCachedReads(f *findings, events []timeline.Event, shoot string, epochs Epochs) {
	reported := map[int64]bool{}
	for e, p := range timeline.About[timeline.CachedRead](events, shoot) {
		if !answered(p) {
			continue
		}
		mine := epochs.Of(p.ResourceVersion)
		if later := epochs.newer(mine, p.Sent); mine != 0 && later != nil && !reported[mine] {
			reported[mine] = true
			f.add(time.Duration(p.Answered), proof(later.Event, e.Seq),
				"%s: a read that was sent at %s was answered by epoch %d from its memory (revision %d), though epoch %d has "+
					"been valid since %s",
				shoot, p.Sent, mine, p.ResourceVersion, later.Number, later.Valid.Round(time.Millisecond))
		}
	}
}

// keepsAddress says that the shoot has a reader that stays at the first address. Old timelines show it by its reads
// alone.
func keepsAddress(events []timeline.Event, shoot string) bool {
	for _, step := range timeline.About[timeline.StepStarted](events, shoot) {
		if step.KeepAddress {
			return true
		}
	}
	return len(cachedReads(events, shoot)) > 0
}

func cachedReads(events []timeline.Event, shoot string) []timeline.CachedRead {
	var reads []timeline.CachedRead
	for _, p := range timeline.About[timeline.CachedRead](events, shoot) {
		reads = append(reads, p)
	}
	return reads
}

func answered(read timeline.CachedRead) bool { return read.ResourceVersion > 0 }

func acknowledgedBySent(events []timeline.Event, shoot string) []write {
	return slices.DeleteFunc(writesOf(events, shoot), func(w write) bool { return !acknowledged(w) })
}

// acknowledged, with the revision that shows by which store.
func acknowledged(w write) bool { return w.Outcome == timeline.Acknowledged && w.ResourceVersion != 0 }
