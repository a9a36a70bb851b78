package link_test

import (
	"io"
	"math"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/wire"
)

// TestPackets_ThirtyPercent_AsRequestsSeeThem: of requests that are a packet each, as many are late as packets are
// lost, by the times after which TCP sends a packet again; of what is sent twice they see nothing.
func TestPackets_ThirtyPercent_AsRequestsSeeThem(t *testing.T) {
	t.Parallel()
	const (
		calls = 300
		tick  = 20 * time.Millisecond
	)
	thirty := wire.Chance{Percent: 30}
	for _, c := range []struct {
		fault link.Fault
		late  float64 // percent of the requests
	}{
		{wire.Loss{Direction: wire.ToServer, Chance: thirty}, 30},
		{wire.Loss{Direction: wire.ToClient, Chance: thirty}, 30},
		{wire.Duplicate{Chance: thirty}, 0},
	} {
		t.Run(c.fault.Name(), func(t *testing.T) {
			t.Parallel()
			w, clock := newWorld(t, answer(1)), testingclock.NewFakeClock(time.Now())
			l, client := w.link(t, link.Options{Clock: clock, Random: rand.New(rand.NewPCG(1, 2))}), w.client("http/1.1")
			wait(t, get(t, client, l.URL())) // the connection is open
			before := l.Stats()
			i := l.Begin(c.fault)
			late := 0
			for range calls {
				got, took := pass(t, clock, tick, get(t, client, l.URL()))
				switch {
				case got.err != nil:
					t.Fatal(got.err)
				case took >= 200*time.Millisecond:
					late++
				case took > 2*tick:
					t.Fatalf("an answer is late by %s", took)
				}
			}
			if percent := 100 * float64(late) / calls; math.Abs(percent-c.late) > 10 {
				t.Errorf("%.1f %% of the requests are late, want %.0f %%", percent, c.late)
			}
			if hits := i.Hits(); c.late == 0 && hits != 0 || hits < late {
				t.Errorf("%d hits at %d late requests", hits, late)
			}
			i.Heal()
			_, sent := c.fault.(wire.Duplicate)
			during := l.Stats().BytesToServer - before.BytesToServer
			healed := l.Stats().BytesToServer
			for range calls {
				wait(t, get(t, client, l.URL()))
			}
			ratio := float64(during) / float64(l.Stats().BytesToServer-healed)
			if want := map[bool]float64{true: 1.3, false: 1}[sent]; math.Abs(ratio-want) > 0.1 {
				t.Errorf("%.2f times the bytes were sent, want %.1f", ratio, want)
			}
		})
	}
}

// TestHits_WithoutEffect_AreNone: the end of a stream that is late harms nobody, and what is sent twice nobody until it
// has to wait for room.
func TestHits_WithoutEffect_AreNone(t *testing.T) {
	t.Parallel()
	whole := wire.Chance{Percent: 100}
	for _, c := range []struct {
		name  string
		fault link.Fault
		rate  int64
		hits  bool
	}{
		{"copies", wire.Duplicate{Chance: whole}, 0, false},
		{"copies-and-a-rate", wire.Duplicate{Chance: whole}, 32 << 10, true},
		{"copies-and-a-high-rate", wire.Duplicate{Chance: whole}, 1 << 40, false},
		{"no-copies-and-a-rate", wire.Duplicate{Direction: wire.ToServer, Chance: wire.Chance{Percent: 1e-9}},
			32 << 10, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, answer(1))
			l, client := w.link(t, link.Options{Random: rand.New(rand.NewPCG(1, 2))}), w.client("http/1.1")
			if c.rate > 0 {
				l.Begin(wire.Bandwidth{BytesPerSecond: c.rate})
			}
			i := l.Begin(c.fault)
			wait(t, get(t, client, l.URL()))
			if got := i.Hits() > 0; got != c.hits {
				t.Errorf("%d hits", i.Hits())
			}
		})
	}
	for _, fault := range []link.Fault{
		wire.Latency{Delay: time.Millisecond}, wire.Loss{Chance: whole}, wire.Bandwidth{BytesPerSecond: 1},
	} {
		t.Run("close-"+fault.Name(), func(t *testing.T) {
			t.Parallel()
			l := newWorld(t, answer(1)).link(t, link.Options{})
			i := l.Begin(fault)
			host := strings.TrimPrefix(l.URL(), "https://")
			c, err := new(net.Dialer).DialContext(t.Context(), "tcp", host)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			_ = c.SetReadDeadline(time.Now().Add(patience))
			if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
				t.Errorf("the link sends %q, %v", rest, err)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			if i.Hits() != 0 {
				t.Errorf("%d hits", i.Hits())
			}
		})
	}
}
