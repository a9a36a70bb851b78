package oracle

import (
	"maps"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// Epochs is what was seen of the owner epochs of one shoot, in their order.
type Epochs []*Epoch

// Epoch is what was seen of one epoch.
type Epoch struct {
	Number int64
	Seed   string
	// Valid is when a question was first answered with: I am valid; Answered is false before.
	Valid    time.Duration
	Answered bool
	// Event that showed it, by its Seq.
	Event int

	// low and high are the lowest and highest revision seen of its store; 0 when none was seen.
	low, high int64
}

// EpochsOf collects the epochs of a shoot.
func EpochsOf(events []timeline.Event, shoot string) Epochs {
	byNumber := map[int64]*Epoch{}
	for e, p := range timeline.About[timeline.EpochSeen](events, shoot) {
		if p.Epoch == 0 {
			continue
		}
		s := byNumber[p.Epoch]
		if s == nil {
			s = &Epoch{Number: p.Epoch, Seed: p.Seed}
			byNumber[p.Epoch] = s
		}
		if p.Revision > 0 {
			s.high = max(s.high, p.Revision)
			if s.low == 0 || p.Revision < s.low {
				s.low = p.Revision
			}
		}
		if p.Remaining > 0 && (!s.Answered || time.Duration(p.Answered) < s.Valid) {
			s.Valid, s.Answered, s.Event = time.Duration(p.Answered), true, e.Seq
		}
	}
	return slices.SortedFunc(maps.Values(byNumber), func(a, b *Epoch) int { return int(a.Number - b.Number) })
}

// Of is the epoch whose store a revision belongs to. Every take-over raises the revisions by far, so that the nearest
// range of revisions that was seen decides; 0 when no revision was seen of any epoch.
func (all Epochs) Of(revision int64) int64 {
	var best, distance int64
	for _, s := range all {
		if s.low == 0 {
			continue
		}
		d := max(s.low-revision, revision-s.high, 0)
		if best == 0 || d < distance {
			best, distance = s.Number, d
		}
	}
	return best
}

// newest is the last epoch that was valid, if it has succeeded another.
func (all Epochs) newest() *Epoch {
	var valid []*Epoch
	for _, s := range all {
		if s.Answered {
			valid = append(valid, s)
		}
	}
	if len(valid) < 2 {
		return nil
	}
	return valid[len(valid)-1]
}

// begun says whether an epoch was known to be valid by then. Without a bump of the revisions Of is no proof of it.
func (all Epochs) begun(epoch int64, by time.Duration) bool {
	return slices.ContainsFunc(all, func(s *Epoch) bool { return s.Number == epoch && s.Answered && s.Valid < by })
}

// newer is the first epoch above the given one that was valid at some time before the moment.
func (all Epochs) newer(epoch int64, before timeline.Moment) *Epoch {
	for _, s := range all {
		if s.Number > epoch && s.Answered && s.Valid < time.Duration(before) {
			return s
		}
	}
	return nil
}
