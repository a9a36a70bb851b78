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
		got := e.Release(Transit{Direction: c.direction, Bytes: c.bytes, Arrived: now, Now: now}).Sub(start)
		if got != c.want {
			t.Errorf("parcel %d of %d bytes at %s is released at %s, want %s", n, c.bytes, c.at, got, c.want)
		}
	}
}
