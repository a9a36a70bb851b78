package wire

import (
	"io"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

const (
	// parcelSize bounds the bytes that are held and released together.
	parcelSize = 4 << 10
	// wireCapacity is how many parcels are under way before the sender has to wait: 4 MiB.
	wireCapacity = 1024
)

// wire is one direction of a connection under faults: bytes are collected from one end, held back as the faults demand,
// and delivered in order to the other.
type wire struct {
	conn      *Conn
	direction Direction
	// inside is the link's end, outside the far end of the same pipe. A pipe brings deadlines along.
	inside, outside net.Conn
	queue           chan *parcel
	underway        atomic.Int64 // bytes written by the link and not delivered yet
}

// parcel is some bytes on a wire, or the end of the stream when there are none.
type parcel struct {
	data     []byte
	size     int // with what is sent twice
	arrived  time.Time
	releases []release // of the faults that have seen it, rolled once
	copiers  []*Active // that have seen it
}

type release struct {
	by *Active
	at time.Time
}

func newWire(c *Conn, d Direction) *wire {
	w := &wire{conn: c, direction: d, queue: make(chan *parcel, wireCapacity)}
	w.inside, w.outside = net.Pipe()
	return w
}

func (w *wire) run(head []byte, from io.Reader, to io.Writer) {
	if len(head) > 0 {
		w.queue <- w.parcel(head)
	}
	go w.collect(from)
	go w.deliver(to)
}

func (w *wire) close() {
	_ = w.inside.Close()
	_ = w.outside.Close()
}

func (w *wire) clock() clock.Clock { return w.conn.shared.Clock }

func (w *wire) parcel(data []byte) *parcel {
	return &parcel{data: append([]byte(nil), data...), size: len(data), arrived: w.clock().Now()}
}

func (w *wire) collect(from io.Reader) {
	buffer := make([]byte, parcelSize)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !w.enqueue(w.parcel(buffer[:n])) {
			return
		}
		if err != nil {
			w.enqueue(w.parcel(nil))
			return
		}
	}
}

func (w *wire) enqueue(p *parcel) bool {
	select {
	case w.queue <- p:
		return true
	case <-w.conn.gone:
		return false
	}
}

func (w *wire) deliver(to io.Writer) {
	for {
		var p *parcel
		select {
		case p = <-w.queue:
		case <-w.conn.gone:
			return
		}
		if !w.hold(p) || !w.hand(p, to) {
			return
		}
	}
}

// hand gives a parcel to the far end and says whether there may be more.
func (w *wire) hand(p *parcel, to io.Writer) bool {
	if len(p.data) > 0 {
		if _, err := to.Write(p.data); err == nil {
			w.delivered(p)
			return true
		}
	}
	// The stream has ended, or nobody takes it any more.
	if w.direction == ToServer {
		_ = w.outside.Close()
	} else {
		w.conn.Kill()
	}
	return false
}

func (w *wire) delivered(p *parcel) {
	if w.direction == ToServer {
		w.conn.shared.ToServer.Add(int64(p.size))
		return
	}
	w.underway.Add(-int64(len(p.data)))
	w.conn.shared.ToClient.Add(int64(p.size))
}

// hold waits until no fault holds the parcel back; false when the connection goes before.
func (w *wire) hold(p *parcel) bool {
	for {
		plan := w.conn.shared.Plan()
		if w.conn.doomed.Load() { // looked at after the plan, which changes after it
			return false
		}
		now := w.clock().Now()
		wait := w.release(plan, p, now).Sub(now)
		if wait <= 0 {
			return true
		}
		timer := w.clock().NewTimer(wait)
		select {
		case <-timer.C():
		case <-plan.Superseded:
		case <-w.conn.gone:
			timer.Stop()
			return false
		}
		timer.Stop()
	}
}

// release is when the plan lets the parcel go.
func (w *wire) release(plan *Plan, p *parcel, now time.Time) time.Time {
	var latest time.Time
	for _, a := range plan.Active {
		if a.Copies != nil && a.holds(w.direction) {
			p.copy(a)
		}
	}
	for _, a := range plan.Active {
		if a.Release == nil && a.Pace == nil || !a.holds(w.direction) {
			continue
		}
		if at := p.releaseBy(a, w.direction, now); at.After(latest) {
			latest = at
		}
	}
	return latest
}

func (p *parcel) releaseBy(a *Active, d Direction, now time.Time) time.Time {
	for _, r := range p.releases {
		if r.by == a {
			return r.at
		}
	}
	transit := Transit{Direction: d, Bytes: len(p.data), Arrived: p.arrived, Now: now}
	var r Paced
	if a.Pace != nil {
		r = a.Pace(transit, p.size-len(p.data))
	} else {
		r.At = a.Release(transit)
		r.Hits = r.At.After(now)
	}
	if len(p.data) > 0 { // nobody misses the end of a stream
		p.hit(a, r)
	}
	p.releases = append(p.releases, release{by: a, at: r.At})
	return r.At
}

// hit counts a fault that makes the parcel late, and those whose copies do.
func (p *parcel) hit(by *Active, r Paced) {
	if r.Hits {
		by.Hit()
	}
	for _, copier := range p.copiers {
		if r.CopiesHit && copier.copied.Swap(false) { // its copies may be of a parcel before
			copier.Hit()
		}
	}
}

// copy sends packets of the parcel twice, where the fault has not seen it yet.
func (p *parcel) copy(a *Active) {
	if slices.Contains(p.copiers, a) {
		return
	}
	if more := a.Copies(len(p.data)); more > 0 {
		p.size += more
		a.copied.Store(true)
	}
	p.copiers = append(p.copiers, a)
}
