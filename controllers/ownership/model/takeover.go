package model

// takeover is how a seat becomes owner: both writes, the wait and the start (ownership/takeover.go, and startLocked in
// observe.go).
type takeover struct{ m *Model }

func (o takeover) steps(t *stepper) {
	switch t.from.seats[t.seat].mode {
	case idle:
		o.beginSteps(t)
		o.cleanStep(t)
		return
	case reading:
		o.secondReadingStep(t)
	case claiming:
		o.writeSteps(t)
		o.strayStep(t)
	case waiting, claimed:
		o.startSteps(t)
	}
	t.may("gives up, or crashes: begins again later", func(s *state, p *seat) Property {
		*p = seat{data: p.data}
		return ""
	})
}

// cleanStep removes what is left (docs/ownership.md#o10). A seed that is to become owner again does not wait for a
// newer epoch, which may never start, but for its final snapshot.
func (o takeover) cleanStep(t *stepper) {
	p := &t.from.seats[t.seat]
	if p.data > 0 && (t.from.saved(p.data) || !o.m.has(DataKept)) {
		t.may("removes the data of its old epoch", func(s *state, p *seat) Property { p.data = 0; return "" })
	}
}

func (o takeover) beginSteps(t *stepper) {
	if o.m.Recreate && (t.from.life == renewed) != (t.seat == 2) || t.from.life == gone {
		return
	}
	switch {
	case o.m.Turns == 0:
		t.may("reads both records and its binding", func(s *state, p *seat) Property {
			o.readRecords(s, p, o.m.Epochs)
			return ""
		})
	case !o.m.has(BindingRead):
		t.may("reads both records, not its binding", func(s *state, p *seat) Property {
			o.readRecords(s, p, o.m.Epochs)
			if s.bound == o.m.owner(t.seat) {
				p.turn = s.turn
			}
			return ""
		})
	case !o.m.has(BindingReadLast):
		if t.from.bound == o.m.owner(t.seat) {
			t.may("reads its binding", func(s *state, p *seat) Property { p.mode, p.turn = reading, s.turn; return "" })
		}
	default:
		t.may("reads both records", func(s *state, p *seat) Property {
			if o.readRecords(s, p, o.m.Epochs) {
				p.mode = reading
			}
			return ""
		})
	}
}

func (o takeover) secondReadingStep(t *stepper) {
	if !o.m.has(BindingReadLast) {
		t.may("reads both records", func(s *state, p *seat) Property { o.readRecords(s, p, o.m.Epochs); return "" })
		return
	}
	if t.from.bound == o.m.owner(t.seat) {
		t.may("reads its binding", func(s *state, p *seat) Property { p.mode, p.turn = claiming, s.turn; return "" })
	}
}

// readRecords chooses the new number; false if it is out of bounds.
func (o takeover) readRecords(s *state, p *seat, highest int8) bool {
	n := max(s.dns.epoch, s.garden.epoch) + 1
	if !o.m.has(AboveBoth) {
		n = s.garden.epoch + 1
	}
	if n > highest {
		return false
	}
	p.mode, p.epoch, p.sawDNS, p.sawGarden = claiming, n, s.dns, s.garden
	return true
}

// writeSteps: a write takes effect at one instant and its writer learns it at a later one, from the answer or, if that
// is lost, by reading.
func (o takeover) writeSteps(t *stepper) {
	s, p := &t.from, &t.from.seats[t.seat]
	if p.gardenWrite == unwritten && (s.garden == p.sawGarden || !o.m.has(CompareAndSet)) {
		t.may("writes the claim into the garden", func(s *state, p *seat) Property {
			s.garden, p.gardenWrite = record{o.m.owner(t.seat), p.epoch}, applied
			return ""
		})
	}
	if p.gardenWrite == applied {
		t.may("learns that the claim is written", func(s *state, p *seat) Property {
			p.gardenWrite = known
			o.writesKnown(p)
			return ""
		})
	}
	if p.dnsWrite == unwritten && (p.gardenWrite == known || !o.m.has(GardenFirst)) &&
		(s.dns == p.sawDNS || !o.m.has(CompareAndSet)) {
		t.may("writes the decision into DNS", func(s *state, p *seat) Property { return o.decide(s, p, t.seat) })
	}
	if p.dnsWrite == applied {
		t.may("learns that the decision is written", func(s *state, p *seat) Property {
			p.dnsWrite = known
			o.writesKnown(p)
			return ""
		})
	}
}

// strayStep: the process crashes while its next write is on its way.
func (o takeover) strayStep(t *stepper) {
	p := &t.from.seats[t.seat]
	if !o.m.Late || t.from.stray != (stray{}) || p.dnsWrite != unwritten || p.gardenWrite == applied {
		return
	}
	t.may("crashes while a write of its is under way", func(s *state, p *seat) Property {
		s.stray = stray{record: record{o.m.owner(t.seat), p.epoch}, toGarden: true, saw: p.sawGarden}
		if p.gardenWrite == known {
			s.stray.toDNS, s.stray.toGarden, s.stray.saw = true, false, p.sawDNS
		}
		*p = seat{data: p.data}
		return ""
	})
}

func (o takeover) decide(s *state, p *seat, i int) Property {
	s.dns, p.dnsWrite = record{o.m.owner(i), p.epoch}, applied
	if o.m.Turns == 0 {
		return ""
	}
	if p.turn < s.decidedTurn {
		return BoundInOrder
	}
	s.decidedTurn = p.turn
	return ""
}

// writesKnown begins the wait once both writes are known to be done.
func (o takeover) writesKnown(p *seat) {
	if !o.m.has(WaitFromKnown) && p.gardenWrite == known && p.dnsWrite == unwritten {
		p.wait = o.m.shortestWait() // the write to DNS begins now
	}
	if p.gardenWrite != known || p.dnsWrite != known && o.m.has(BothWritten) {
		return
	}
	next := seat{mode: waiting, data: p.data, epoch: p.epoch, replaced: p.sawDNS.epoch, wait: p.wait}
	if o.m.has(WaitFromKnown) {
		next.wait = o.m.shortestWait()
	}
	if p.sawDNS.owner == nobody || p.sawDNS.epoch == 0 {
		next.wait = 0
	}
	*p = next
}

// waitOver is the end of the wait (docs/ownership.md#o6).
func (o takeover) waitOver(s *state, p *seat) bool {
	return p.wait == 0 || s.finals&bit(p.replaced) != 0 || !o.m.has(ExactFinal) && s.finals != 0
}

// startSteps read the records again, one after the other, and start. In the code both the take-over and then the
// guard do this; the later reading is the one that counts.
func (o takeover) startSteps(t *stepper) {
	s, i := &t.from, t.seat
	p := &s.seats[i]
	first, second := s.garden, s.dns
	firstText, secondText := "the wait is over, the garden names it", "DNS names it too: restores etcd and starts"
	if !o.m.has(StartGardenFirst) {
		first, second = second, first
		firstText, secondText = "the wait is over, DNS names it", "the garden names it too: restores etcd and starts"
	}
	start := func(s *state, p *seat) Property { return o.startEpoch(s, p) }
	switch {
	case p.mode == claimed:
		if o.m.names(second, i, p.epoch) {
			t.may(secondText, start)
		}
	case !o.waitOver(s, p):
	case !o.m.has(ReadAfterWait):
		t.may("starts without reading again", start)
	case !o.m.has(StartReadsGarden):
		if o.m.names(s.dns, i, p.epoch) {
			t.may("DNS names it: starts", start)
		}
	case !o.m.has(BothWritten):
		if o.m.names(s.garden, i, p.epoch) {
			t.may("one record names it: starts", start)
		}
	case o.m.names(first, i, p.epoch):
		t.may(firstText, func(s *state, p *seat) Property {
			*p = seat{mode: claimed, data: p.data, epoch: p.epoch}
			return ""
		})
	}
}

func (o takeover) startEpoch(s *state, p *seat) Property {
	failed := Property("")
	if s.manifest < s.answered && s.answered < p.epoch {
		failed = RestoreNewest
	}
	if s.started == p.epoch {
		failed = UsedOnce
	}
	if o.m.has(ManifestFirst) {
		s.manifest = max(s.manifest, p.epoch)
	}
	s.started = max(s.started, p.epoch)
	*p = seat{mode: begun, epoch: p.epoch, data: p.epoch, guard: o.m.longest()}
	return failed
}
