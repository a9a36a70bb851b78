package link_test

import (
	"math"
	"math/rand/v2"
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
			if hits := i.Hits(); c.late > 0 && hits < late || hits < calls/5 {
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
