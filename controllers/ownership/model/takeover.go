package model

// takeoverSteps are the take-over, its wait and the start (ownership/takeover.go, and startLocked in observe.go).
func (m *Model) takeoverSteps(t *stepper) {
	switch t.from.seats[t.seat].mode {
	case idle:
		m.beginSteps(t)
		m.cleanStep(t)
		return
	case reading:
		m.secondReadingStep(t)
	case claiming:
		m.writeSteps(t)
		m.strayStep(t)
	case waiting, claimed:
		m.startSteps(t)
	}
	t.may("gives up, or crashes: begins again later", func(s *state, p *seat) Property {
		*p = seat{data: p.data}
		return ""
	})
}

// cleanStep removes what is left (docs/ownership.md#o10). A seed that is to become owner again does not wait for a
// newer epoch, which may never start, but for its final snapshot.
func (m *Model) cleanStep(t *stepper) {
	p := &t.from.seats[t.seat]
	if p.data > 0 && (t.from.saved(p.data) || !m.has(DataKept)) {
		t.may("removes the data of its old epoch", func(s *state, p *seat) Property { p.data = 0; return "" })
	}
}

func (m *Model) beginSteps(t *stepper) {
	if m.Recreate && (t.from.life == renewed) != (t.seat == 2) || t.from.life == gone {
		return
	}
	switch {
	case m.Turns == 0:
		t.may("reads both records and its binding", func(s *state, p *seat) Property {
			m.readRecords(s, p, m.Epochs)
			return ""
		})
	case !m.has(BindingRead):
		t.may("reads both records, not its binding", func(s *state, p *seat) Property {
			m.readRecords(s, p, m.Epochs)
			if s.bound == m.owner(t.seat) {
				p.turn = s.turn
			}
			return ""
		})
	case !m.has(BindingReadLast):
		if t.from.bound == m.owner(t.seat) {
			t.may("reads its binding", func(s *state, p *seat) Property { p.mode, p.turn = reading, s.turn; return "" })
		}
	default:
		t.may("reads both records", func(s *state, p *seat) Property {
			if m.readRecords(s, p, m.Epochs) {
				p.mode = reading
			}
			return ""
		})
	}
}

func (m *Model) secondReadingStep(t *stepper) {
	if !m.has(BindingReadLast) {
		t.may("reads both records", func(s *state, p *seat) Property { m.readRecords(s, p, m.Epochs); return "" })
		return
	}
	if t.from.bound == m.owner(t.seat) {
		t.may("reads its binding", func(s *state, p *seat) Property { p.mode, p.turn = claiming, s.turn; return "" })
	}
}

// readRecords chooses the new number; false if it is out of bounds.
func (m *Model) readRecords(s *state, p *seat, highest int8) bool {
	n := max(s.dns.epoch, s.garden.epoch) + 1
	if !m.has(AboveBoth) {
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
func (m *Model) writeSteps(t *stepper) {
	s, p := &t.from, &t.from.seats[t.seat]
	if p.gardenWrite == unwritten && (s.garden == p.sawGarden || !m.has(CompareAndSet)) {
		t.may("writes the claim into the garden", func(s *state, p *seat) Property {
			s.garden, p.gardenWrite = record{m.owner(t.seat), p.epoch}, applied
			return ""
		})
	}
	if p.gardenWrite == applied {
		t.may("learns that the claim is written", func(s *state, p *seat) Property {
			p.gardenWrite = known
			m.writesKnown(p)
			return ""
		})
	}
	if p.dnsWrite == unwritten && (p.gardenWrite == known || !m.has(GardenFirst)) &&
		(s.dns == p.sawDNS || !m.has(CompareAndSet)) {
		t.may("writes the decision into DNS", func(s *state, p *seat) Property { return m.decide(s, p, t.seat) })
	}
	if p.dnsWrite == applied {
		t.may("learns that the decision is written", func(s *state, p *seat) Property {
			p.dnsWrite = known
			m.writesKnown(p)
			return ""
		})
	}
}

// strayStep: the process crashes while its next write is on its way.
func (m *Model) strayStep(t *stepper) {
	p := &t.from.seats[t.seat]
	if !m.Late || t.from.stray != (stray{}) || p.dnsWrite != unwritten || p.gardenWrite == applied {
		return
	}
	t.may("crashes while a write of its is under way", func(s *state, p *seat) Property {
		s.stray = stray{record: record{m.owner(t.seat), p.epoch}, toGarden: true, saw: p.sawGarden}
		if p.gardenWrite == known {
			s.stray.toDNS, s.stray.toGarden, s.stray.saw = true, false, p.sawDNS
		}
		*p = seat{data: p.data}
		return ""
	})
}

func (m *Model) decide(s *state, p *seat, i int) Property {
	s.dns, p.dnsWrite = record{m.owner(i), p.epoch}, applied
	if m.Turns == 0 {
		return ""
	}
	if p.turn < s.decidedTurn {
		return BoundInOrder
	}
	s.decidedTurn = p.turn
	return ""
}

// writesKnown begins the wait once both writes are known to be done.
func (m *Model) writesKnown(p *seat) {
	if !m.has(WaitFromKnown) && p.gardenWrite == known && p.dnsWrite == unwritten {
		p.wait = m.shortestWait() // the write to DNS begins now
	}
	if p.gardenWrite != known || p.dnsWrite != known && m.has(BothWritten) {
		return
	}
	next := seat{mode: waiting, data: p.data, epoch: p.epoch, replaced: p.sawDNS.epoch, wait: p.wait}
	if m.has(WaitFromKnown) {
		next.wait = m.shortestWait()
	}
	if p.sawDNS.owner == nobody || p.sawDNS.epoch == 0 {
		next.wait = 0
	}
	*p = next
}

// waitOver is the end of the wait (docs/ownership.md#o6).
func (m *Model) waitOver(s *state, p *seat) bool {
	return p.wait == 0 || s.finals&bit(p.replaced) != 0 || !m.has(ExactFinal) && s.finals != 0
}

// startSteps read the records again, one after the other, and start. In the code both the take-over and then the
// guard do this; the later reading is the one that counts.
func (m *Model) startSteps(t *stepper) {
	s, i := &t.from, t.seat
	p := &s.seats[i]
	first, second := s.garden, s.dns
	firstText, secondText := "the wait is over, the garden names it", "DNS names it too: restores etcd and starts"
	if !m.has(StartGardenFirst) {
		first, second = second, first
		firstText, secondText = "the wait is over, DNS names it", "the garden names it too: restores etcd and starts"
	}
	start := func(s *state, p *seat) Property { return m.startEpoch(s, p) }
	switch {
	case p.mode == claimed:
		if m.names(second, i, p.epoch) {
			t.may(secondText, start)
		}
	case !m.waitOver(s, p):
	case !m.has(ReadAfterWait):
		t.may("starts without reading again", start)
	case !m.has(StartReadsGarden):
		if m.names(s.dns, i, p.epoch) {
			t.may("DNS names it: starts", start)
		}
	case !m.has(BothWritten):
		if m.names(s.garden, i, p.epoch) {
			t.may("one record names it: starts", start)
		}
	case m.names(first, i, p.epoch):
		t.may(firstText, func(s *state, p *seat) Property {
			*p = seat{mode: claimed, data: p.data, epoch: p.epoch}
			return ""
		})
	}
}

func (m *Model) startEpoch(s *state, p *seat) Property {
	failed := Property("")
	if s.manifest < s.answered && s.answered < p.epoch {
		failed = RestoreNewest
	}
	if s.started == p.epoch {
		failed = UsedOnce
	}
	if m.has(ManifestFirst) {
		s.manifest = max(s.manifest, p.epoch)
	}
	s.started = max(s.started, p.epoch)
	*p = seat{mode: begun, epoch: p.epoch, data: p.epoch, guard: m.longest()}
	return failed
}
