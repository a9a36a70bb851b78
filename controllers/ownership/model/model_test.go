package model

import (
	"testing"
)

const limit = 3_000_000

// small are the bounds most rules need: two seeds, three epochs, no fault but time, crashes and lost answers.
var small = Bounds{Seeds: 2, Epochs: 3, Validity: 1, Drift: 1}

func with(change func(*Bounds)) Bounds {
	b := small
	change(&b)
	return b
}

var (
	restore  = with(func(b *Bounds) { b.Restores = 1 })
	backups  = with(func(b *Bounds) { b.Restores, b.Backups = 1, true })
	late     = with(func(b *Bounds) { b.Late = true })
	binding  = with(func(b *Bounds) { b.Turns = 2 })
	recreate = with(func(b *Bounds) { b.Recreate, b.Epochs = true, 4 })
	progress = with(func(b *Bounds) { b.Progress = true })
	cloud    = with(func(b *Bounds) { b.Cloud = true })
	rest     = with(func(b *Bounds) { b.Rest, b.Cloud, b.Strict = true, true, true })
	healed   = with(func(b *Bounds) { b.Progress, b.Restores = true, 1 })
	equalled = with(func(b *Bounds) { b.Progress, b.Restores, b.Backups = true, 1, true })
)

func TestTheWholeProtocolHolds(t *testing.T) {
	for _, c := range []struct {
		name   string
		bounds Bounds
		want   []Answer
	}{
		{"garden restored from any backup", backups, []Answer{{"A", 1}, {"B", 2}, {"A", 3}, {"B", 3}}},
		{"late messages", late, []Answer{{"A", 1}, {"B", 2}, {"A", 3}, {"B", 3}}},
		{"bindings that change", binding, []Answer{{"A", 1}, {"B", 2}, {"A", 3}}},
		{"deleted and created anew", recreate, []Answer{{"A", 1}, {"B", 2}, {"C", 3}, {"C", 4}}},
		{"etcd at rest, garden restored", with(func(b *Bounds) {
			b.Rest, b.Restores = true, 1
		}), []Answer{{"A", 1}, {"B", 2}, {"A", 3}, {"B", 3}}},
		{"etcd at rest, deleted and created anew", with(func(b *Bounds) {
			b.Rest, b.Recreate = true, true
		}), []Answer{{"A", 1}, {"B", 2}, {"C", 3}}},
		{"progress", progress, []Answer{{"A", 1}, {"B", 2}, {"A", 3}, {"B", 3}}},
		{"progress, garden restored from any backup", equalled, []Answer{{"A", 1}, {"B", 2}, {"A", 3}, {"B", 3}}},
		{"progress, garden restored", healed, []Answer{{"A", 1}, {"B", 2}, {"A", 3}, {"B", 3}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.bounds.Strict, c.bounds.Cloud = true, true
			r := (&Model{Bounds: c.bounds}).Check(limit)
			t.Logf("%d states, depth %d", r.States, r.Depth)
			if r.Failed != "" || !r.Complete {
				t.Fatalf("failed %q, complete %t\n%s", r.Failed, r.Complete, r)
			}
			for _, answer := range c.want {
				if !r.Answered[answer] {
					t.Errorf("%s never answers under epoch %d: the model does not move", answer.Seat, answer.Epoch)
				}
			}
		})
	}
}

func TestTrace_IdleSeat_SaysWhatBecameOfItsEpoch(t *testing.T) {
	for _, c := range []struct {
		state state
		want  string
	}{
		{state{started: 1}, "A none"},
		{state{started: 2, seats: [3]seat{{data: 2}}}, "A ended 2"},
		{state{started: 3, seats: [3]seat{{data: 2}}}, "A saved 2"},
		{state{started: 2, finals: 1 << 2, seats: [3]seat{{data: 2}}}, "A saved 2"},
		{state{started: 3, finals: 1 << 2, seats: [3]seat{{data: 3}}}, "A ended 3"},
		{state{started: 2, finals: 1 << 2, seats: [3]seat{{mode: ended, data: 2, epoch: 2}}}, "A ended 2"},
		{state{started: 2, seats: [3]seat{{mode: reading, data: 2}}}, "A reading"},
		{state{started: 2, seats: [3]seat{{mode: claimed, data: 2, epoch: 3}}}, "A claimed 3"},
	} {
		if got := c.state.text(1); got != "DNS - garden - | "+c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// BenchmarkThreeSeeds walks through the protocol with three seeds, as far as memory carries (2 GiB or so).
func BenchmarkThreeSeeds(b *testing.B) {
	for _, c := range []struct {
		name   string
		bounds Bounds
	}{{"nothing but time", small}, {"garden restored", restore}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				c.bounds.Seeds, c.bounds.Strict, c.bounds.Cloud = 3, true, true
				r := (&Model{Bounds: c.bounds}).Check(limit)
				if r.Failed != "" {
					b.Fatal(r)
				}
				b.ReportMetric(float64(r.States), "states")
				b.ReportMetric(float64(r.Depth), "depth")
			}
		})
	}
}
