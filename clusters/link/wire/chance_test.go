package wire

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func dice() Dice { return rand.New(rand.NewPCG(1, 2)).Int64N }

// TestChance_WithCorrelation_IsAsOften: a correlation changes how long the runs are, and not how often it happens.
func TestChance_WithCorrelation_IsAsOften(t *testing.T) {
	t.Parallel()
	const packets = 100_000
	for _, c := range []Chance{
		{Percent: 30}, {Percent: 30, Correlation: 25}, {Percent: 5, Correlation: 80}, {Percent: 100},
		{Percent: 30, Correlation: 99},
	} {
		s := &series{Chance: c, roll: dice()}
		struck, again, before := 0, 0, false
		for range packets {
			now := s.strikes()
			if now {
				struck++
			}
			if now && before {
				again++
			}
			before = now
		}
		often, run := 100*float64(struck)/packets, 100*float64(again)/float64(struck)
		if want := c.Percent; math.Abs(often-want) > 1+c.Correlation/20 {
			t.Errorf("%s: it happens to %.1f %% of the packets", c, often)
		}
		if want := c.Percent + c.Correlation*(1-c.Percent/100); math.Abs(run-want) > 2 {
			t.Errorf("%s: it happens to %.1f %% of the packets after one, want %.1f", c, run, want)
		}
	}
}

// TestChance_Rare_MayHappen: a chance above zero happens to some packet, however small it is, and one of zero to none.
func TestChance_Rare_MayHappen(t *testing.T) {
	t.Parallel()
	lowest := func(int64) int64 { return 0 }
	for percent, want := range map[float64]bool{0: false, 1e-300: true, 0.00005: true, 100: true} {
		if got := (Chance{Percent: percent}).alone(lowest); got != want {
			t.Errorf("%v %%: it happens: %t", percent, got)
		}
	}
	highest := func(n int64) int64 { return n - 1 }
	for percent, want := range map[float64]bool{99.99999: false, 100: true} {
		if got := (Chance{Percent: percent}).alone(highest); got != want {
			t.Errorf("%v %%: it happens to all: %t", percent, got)
		}
	}
}

// TestLoss_ThirtyPercent_AreLate: as many packets are late as are lost, by the times of TCP.
func TestLoss_ThirtyPercent_AreLate(t *testing.T) {
	t.Parallel()
	const sent = 10_000
	e, start := Loss{Chance: Chance{Percent: 30}}.Start(dice()), time.Now()
	late := map[time.Duration]int{}
	for range sent {
		late[e.Release(Transit{Bytes: 100, Arrived: start, Now: start}).Sub(start)]++
	}
	for by, percent := range map[time.Duration]float64{
		0: 70, 200 * time.Millisecond: 21, 600 * time.Millisecond: 6.3, 1400 * time.Millisecond: 1.89,
	} {
		if got := 100 * float64(late[by]) / sent; math.Abs(got-percent) > 1.5 {
			t.Errorf("%.1f %% are late by %s, want %.1f %%", got, by, percent)
		}
	}
	// Each of its packets may be lost.
	whole := 0
	for range sent {
		if e.Release(Transit{Bytes: 2*segment + 1, Arrived: start, Now: start}).Equal(start) {
			whole++
		}
	}
	if got, want := 100*float64(whole)/sent, 100*math.Pow(0.7, 3); math.Abs(got-want) > 1.5 {
		t.Errorf("of three packets none is late in %.1f %%, want %.1f %%", got, want)
	}
	if at := (Loss{Chance: Chance{Percent: 100}}).Start(dice()).Release(Transit{Bytes: 1, Arrived: start,
		Now: start}); at.Sub(
		start) < 24*time.Hour {
		t.Errorf("what is always lost arrives after %s", at.Sub(start))
	}
}

// TestChance_FullCorrelation_DecidesOnce: as with netem, what happens to the first packet happens to all.
func TestChance_FullCorrelation_DecidesOnce(t *testing.T) {
	t.Parallel()
	const links, packets = 1000, 20
	roll, all := dice(), 0
	for range links {
		s, struck := &series{Chance: Chance{Percent: 30, Correlation: 100}, roll: roll}, 0
		for range packets {
			if s.strikes() {
				struck++
			}
		}
		switch struck {
		case packets:
			all++
		case 0:
		default:
			t.Fatalf("it happens to %d of %d packets", struck, packets)
		}
	}
	if got := 100 * float64(all) / links; math.Abs(got-30) > 5 {
		t.Errorf("it happens on %.1f %% of the links, want 30 %%", got)
	}
}

// TestLoss_HighCorrelation_EndsSoon: what is sent again is lost by chance alone, so that a long run of losses delays no
// packet more than others.
func TestLoss_HighCorrelation_EndsSoon(t *testing.T) {
	t.Parallel()
	const sent = 20_000
	e, start := Loss{Chance: Chance{Percent: 30, Correlation: 99}}.Start(dice()), time.Now()
	lost, twice := 0, 0
	for range sent {
		late := e.Release(Transit{Bytes: 100, Arrived: start, Now: start}).Sub(start)
		if late > 0 {
			lost++
		}
		if late > 200*time.Millisecond {
			twice++
		}
		if late > 2*time.Minute {
			t.Fatalf("a packet is late by %s", late)
		}
	}
	if got := 100 * float64(twice) / float64(lost); lost < sent/10 || math.Abs(got-30) > 3 {
		t.Errorf("of %d lost packets %.1f %% are lost again, want 30 %%", lost, got)
	}
}

// TestLoss_Attempts_AreTwoMinutesApartAtMost: TCP does not wait longer before it tries again.
func TestLoss_Attempts_AreTwoMinutesApartAtMost(t *testing.T) {
	t.Parallel()
	e, start := Loss{Chance: Chance{Percent: 90}}.Start(dice()), time.Now()
	seen := map[time.Duration]bool{}
	for range 20_000 {
		seen[e.Release(Transit{Bytes: 100, Arrived: start, Now: start}).Sub(start).Round(time.Millisecond)] = true
	}
	delete(seen, time.Duration(math.MaxInt64).Round(time.Millisecond)) // given up
	got := slices.Sorted(maps.Keys(seen))
	want := []time.Duration{0}
	for _, wait := range []int{200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 102_400, 120_000, 120_000,
		120_000, 120_000, 120_000} {
		want = append(want, want[len(want)-1]+time.Duration(wait)*time.Millisecond)
	}
	if !slices.Equal(got, want) {
		t.Errorf("packets are late by %v, want %v", got, want)
	}
}

// TestLatency_CorrelationAndOvertaking: a jitter is near the one before, and what overtakes is not delayed.
func TestLatency_CorrelationAndOvertaking(t *testing.T) {
	t.Parallel()
	const sent = 10_000
	start := time.Now()
	delays := func(l Latency) (all []time.Duration) {
		e := l.Start(dice())
		for range sent {
			all = append(all, e.Release(Transit{Bytes: 100, Arrived: start, Now: start}).Sub(start))
		}
		return all
	}
	step := func(all []time.Duration) (sum time.Duration) {
		for i := range all[1:] {
			sum += (all[i+1] - all[i]).Abs()
		}
		return sum / time.Duration(len(all))
	}
	wide := Latency{Delay: 90 * time.Millisecond, Jitter: 90 * time.Millisecond}
	near := wide
	near.Correlation = 90
	if free, bound := step(delays(wide)), step(delays(near)); bound > free/4 {
		t.Errorf("two delays are %s apart, with a correlation %s", free, bound)
	}
	overtaken := Latency{Delay: time.Second, Overtaking: Chance{Percent: 50}, Gap: 4}
	at, since := 0, overtaken.Gap
	for i, delay := range delays(overtaken) {
		switch {
		case delay == 0 && i > 0 && since < overtaken.Gap-1:
			t.Fatalf("parcel %d overtakes, %d after the last that did", i, since)
		case delay == 0:
			at, since = at+1, 0
		case delay != time.Second:
			t.Fatalf("parcel %d is delayed by %s", i, delay)
		default:
			since++
		}
	}
	if got := 100 * float64(at) / sent; math.Abs(got-20) > 2 { // three that do not, then one of two
		t.Errorf("%.1f %% overtake, want 20 %%", got)
	}
}

// TestDuplicate_TakesRoom: what is sent twice takes the bandwidth of both.
func TestDuplicate_TakesRoom(t *testing.T) {
	t.Parallel()
	const bytes, times = 10 * segment, 1000
	e, more := Duplicate{Chance: Chance{Percent: 40}}.Start(dice()), 0
	for range times {
		more += e.Copies(bytes)
	}
	if got := 100 * float64(more) / (bytes * times); math.Abs(got-40) > 2 {
		t.Errorf("%.1f %% of the bytes are sent twice, want 40 %%", got)
	}
}

// TestBandwidth_Burst_PassesAtOnce: after a pause a burst passes, and no more.
func TestBandwidth_Burst_PassesAtOnce(t *testing.T) {
	t.Parallel()
	e, start := Bandwidth{BytesPerSecond: 1000, Burst: 500}.Start(nil), time.Now()
	for n, c := range []struct {
		bytes    int
		at, want time.Duration // 0 for at once
	}{
		{500, 0, 0}, {500, 0, 500 * time.Millisecond}, {500, 500 * time.Millisecond, time.Second},
		{500, time.Minute, 0}, {100, time.Minute, time.Minute + 100*time.Millisecond},
	} {
		now := start.Add(c.at)
		got := e.Pace(Transit{Direction: ToServer, Bytes: c.bytes, Arrived: now, Now: now}, 0).At
		if c.want == 0 && got.After(now) || c.want > 0 && got.Sub(start) != c.want {
			t.Errorf("parcel %d is released at %s, want %s", n, got.Sub(start), c.want)
		}
	}
}
