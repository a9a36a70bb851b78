package wire

import (
	"testing"
	"time"
)

// TestBandwidthShares: bytes of all connections queue for the same width, each direction for its own.
func TestBandwidthShares(t *testing.T) {
	t.Parallel()
	e := Bandwidth{BytesPerSecond: 1000}.Start(nil)
	start := time.Now()
	for n, c := range []struct {
		direction Direction
		bytes     int
		at, want  time.Duration
	}{
		{ToClient, 500, 0, 500 * time.Millisecond},
		{ToClient, 500, 0, time.Second},
		{ToServer, 100, 0, 100 * time.Millisecond},
		{ToClient, 1000, 900 * time.Millisecond, 2 * time.Second},
		{ToClient, 1000, time.Minute, time.Minute + time.Second}, // what was not used is not saved up
	} {
		now := start.Add(c.at)
		got := e.Pace(Transit{Direction: c.direction, Bytes: c.bytes, Arrived: now, Now: now}, 0).At.Sub(start)
		if got != c.want {
			t.Errorf("parcel %d of %d bytes at %s is released at %s, want %s", n, c.bytes, c.at, got, c.want)
		}
	}
}

// TestBandwidth_Hits_AreWaits: a hit is a wait that can be seen, of one parcel or behind others; one of copies is a
// wait that there were not without them.
func TestBandwidth_Hits_AreWaits(t *testing.T) {
	t.Parallel()
	const fast, slow = 125_000_000, 1000
	type parcel struct {
		bytes, copies int
		at            time.Duration // given to the line, and arrived if it is not said
		arrived       time.Duration
		want          Paced
	}
	hits, copiesHit := Paced{Hits: true}, Paced{Hits: true, CopiesHit: true}
	for name, c := range map[string]struct {
		Bandwidth
		parcels []parcel
	}{
		"too fast to be seen": {Bandwidth{BytesPerSecond: fast}, []parcel{{bytes: 1000}, {bytes: 1000, copies: 1000}}},
		"much on a fast line": {Bandwidth{BytesPerSecond: fast}, []parcel{{bytes: 1_000_000, want: hits}}},
		// The wire gives the second one to the line when the first one is through.
		"many on a fast line": {Bandwidth{BytesPerSecond: fast}, []parcel{{bytes: 100_000},
			{bytes: 100_000, at: 800 * time.Microsecond, arrived: time.Nanosecond, want: hits}}},
		"late for other reasons": {Bandwidth{BytesPerSecond: fast}, []parcel{{bytes: 1000, at: time.Minute,
			arrived: time.Nanosecond}}},
		"slow":          {Bandwidth{BytesPerSecond: slow}, []parcel{{bytes: 100, want: hits}}},
		"slow by half":  {Bandwidth{BytesPerSecond: slow}, []parcel{{bytes: 100, copies: 100, want: copiesHit}}},
		"within bursts": {Bandwidth{BytesPerSecond: slow, Burst: 500}, []parcel{{bytes: 100, copies: 100}}},
		"copies use up the burst": {Bandwidth{BytesPerSecond: slow, Burst: 500}, []parcel{{bytes: 200, copies: 200},
			{bytes: 200, want: copiesHit}}},
		"the burst is there again": {Bandwidth{BytesPerSecond: slow, Burst: 500}, []parcel{{bytes: 200, copies: 200},
			{bytes: 600, at: time.Minute, want: hits}}},
	} {
		e, start := c.Start(nil), time.Now()
		for i, p := range c.parcels {
			transit := Transit{Direction: ToClient, Bytes: p.bytes, Arrived: start.Add(p.at), Now: start.Add(p.at)}
			if p.arrived > 0 {
				transit.Arrived = start.Add(p.arrived)
			}
			got := e.Pace(transit, p.copies)
			if got.At = (time.Time{}); got != p.want {
				t.Errorf("%s: parcel %d has %+v, want %+v", name, i, got, p.want)
			}
		}
	}
}

// TestRelease_CopiesBefore_HitWhatWaits: copies that have used up a burst hit a later parcel, which has none, once.
func TestRelease_CopiesBefore_HitWhatWaits(t *testing.T) {
	t.Parallel()
	var copied, late int
	more := 200
	copier := &Active{Hit: func() { copied++ }, Effect: Effect{Copies: func(int) int { return more }}}
	rate := &Active{Hit: func() { late++ }, Effect: Bandwidth{BytesPerSecond: 1000, Burst: 500}.Start(nil)}
	w, plan, now := &wire{direction: ToClient}, &Plan{Active: []*Active{rate, copier}}, time.Now()
	for i, want := range [][2]int{{0, 0}, {1, 1}, {1, 2}} {
		p := &parcel{data: make([]byte, 200), size: 200, arrived: now}
		w.release(plan, p, now)
		w.release(plan, p, now) // it is looked at again whenever the plan changes
		if got := [2]int{copied, late}; got != want {
			t.Errorf("after parcel %d: hits of copies and of the rate are %v, want %v", i, got, want)
		}
		more = 0
	}
}
