package model

import (
	"fmt"
	"strings"
)

// record is what an authority holds. Epoch 0 means that there is none.
type record struct{ owner, epoch int8 }

// nobody owns a shoot that was deleted.
const nobody int8 = -1

// mode of a seat. Those of an epoch are its phases in docs/adr/0018-tenure.md.
type mode int8

const (
	idle       mode = iota // nothing runs: no phase, or that of the epoch whose data lies here (see phase)
	reading                // one of the two readings is done (records, binding)
	claiming               // the two writes of a take-over
	waiting                // until the old epoch has surely ended
	claimed                // the first record was read again after the wait; reading the second one begins the epoch
	begun                  // etcd may run; without validity the epoch is suspended
	hibernated             // begun too, but etcd does not run
	ended                  // fenced for good; what is here may still be needed
	deleting               // the shoot is being deleted, nothing of it runs any more
)

var modeNames = []string{
	"idle", "reading", "claiming", "waiting", "claimed", "begun", "hibernated", "ended", "deleting",
}

// request is the one request under way in a seat.
type request int8

const (
	none      request = iota
	committed         // etcd has done it, the guard has not passed the answer yet
	cached            // the API server has answered from its cache, the gateway has not passed it yet
	admitted          // only without rule AnswerChecked: passed by the guard before etcd did it
)

// flight is the one message of ownership that is under way in a seat.
type flight int8

const (
	grounded   flight = iota
	dnsRead           // a read of DNS that names the seat, started `age` ticks ago
	gardenRead        // the same of the garden
	grant             // the guard's answer to a holder, worth `age` more ticks
)

// writing is how far a write to an authority has come, as its writer sees it.
type writing int8

const (
	unwritten writing = iota
	applied           // done, but the writer does not know
	known             // done, and the writer knows
)

// seat is one seed's part in one shoot: the guard, its holders, and the gardenlet that takes over.
type seat struct {
	mode  mode
	epoch int8 // of the guard, or of the take-over under way
	data  int8 // epoch of the data directory on the seed's disk

	guard, holder int8 // validity left, in ticks; holder stands for gateway and cloud-acting controllers
	gaveUp        bool // the holder has confirmed the revocation
	forgot        bool // the guard does not know any more what it granted

	request    request
	late, lost bool // it took effect after an answer of a newer epoch; after the final snapshot of this one

	flight flight
	age    int8

	sawDNS, sawGarden     record // what the writes are compared against
	dnsWrite, gardenWrite writing
	replaced              int8 // epoch that the write to DNS replaced
	wait                  int8
	turn                  int8 // the binding that was read
}

// state of the world. It is a map key: no pointers.
type state struct {
	dns, garden, backup record
	restores            int8

	// spec.seedName; turn counts its changes, decidedTurn is the one of the record in DNS.
	bound, backupBound, turn, decidedTurn int8

	finals   uint8 // bit e: the final snapshot of epoch e is in the bucket
	manifest int8  // highest epoch with a manifest

	// What a perfect observer knows: who has answered under the highest epoch so far, and which epoch has started.
	answeredBy, answered, started int8

	life  life
	stray stray
	seats [3]seat
	loans [3]loan
}

// loan is what the controllers of a seat have from DNS, which they have read by themselves.
type loan struct{ epoch, left int8 }

// stray is a write of a take-over that has crashed since. It lands later, or never.
type stray struct {
	toDNS, toGarden bool
	record, saw     record
}

// life of the shoot's name.
type life int8

const (
	first   life = iota // the shoot lives
	gone                // deleted, records dealt with
	renewed             // another shoot of that name
)

func (r record) String() string {
	switch {
	case r.epoch == 0:
		return "-"
	case r.owner == nobody:
		return fmt.Sprintf("none/%d", r.epoch)
	default:
		return fmt.Sprintf("%c/%d", 'A'+r.owner, r.epoch)
	}
}

func (s *state) text(seats int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "DNS %v garden %v", s.dns, s.garden)
	for i := range seats {
		p := &s.seats[i]
		name, epoch := s.phase(i)
		fmt.Fprintf(&b, " | %s %s", seatName(i), name)
		if epoch > 0 {
			fmt.Fprintf(&b, " %d", epoch)
		}
		switch {
		case p.wait > 0:
			fmt.Fprintf(&b, ", waits %d", p.wait)
		case p.guard > 0 || p.holder > 0:
			fmt.Fprintf(&b, ", valid %d/%d", p.guard, p.holder)
		}
		if l := s.loans[i]; l.left > 0 {
			fmt.Fprintf(&b, ", by DNS %d for epoch %d", l.left, l.epoch)
		}
	}
	return b.String()
}

// phase is what a trace says of a seat: its mode and epoch or, where it is idle, what became of the epoch whose data
// lies here.
func (s *state) phase(i int) (name string, epoch int8) {
	p := &s.seats[i]
	switch {
	case p.mode != idle:
		return modeNames[p.mode], p.epoch
	case p.data == 0:
		return "none", 0
	case s.saved(p.data):
		return "saved", p.data
	}
	return modeNames[ended], p.data
}

// saved reports whether nobody needs the data of an epoch: a newer one has started, or its final snapshot is there.
func (s *state) saved(epoch int8) bool { return s.started > epoch || s.finals&bit(epoch) != 0 }

// seatName is a letter; the third seat is seed A again where a shoot is created anew, else seed C.
func seatName(i int) string { return string(rune('A' + i)) }
