package model

// worldSteps are what nobody does: time, a garden that goes back, a binding that changes, a shoot made anew.
func (m *Model) worldSteps(s state, emit emit) {
	after := s
	m.tick(&after, -1)
	if after != s {
		emit(-1, "a tick of time", after, "")
	}
	if !m.has(PausesCounted) {
		for i := range m.seats() {
			after := s
			m.tick(&after, i)
			if after != s {
				emit(i, "is paused for a tick, its clock with it", after, "")
			}
		}
	}
	if s.restores < m.Restores {
		after := s
		after.restores++
		after.garden = s.backup
		if m.Turns > 0 && s.bound != s.backupBound {
			after.bound = s.backupBound
			after.turn++
		}
		emit(-1, "the garden goes back to its backup", after, "")
	}
	if oldest := (record{0, 1}); m.Backups && m.Restores > 1 && s.restores < m.Restores && s.backup != oldest {
		after := s
		after.restores++
		after.garden = oldest
		emit(-1, "the garden goes back to its oldest backup", after, "")
	}
	if m.Backups && s.restores < m.Restores && (s.backup != s.garden || s.backupBound != s.bound) {
		after := s
		after.backup, after.backupBound = s.garden, s.bound
		emit(-1, "the garden is backed up", after, "")
	}
	if !m.has(DNSNeverBack) && s.dns.epoch > 1 {
		after := s
		after.dns = record{0, 1}
		emit(-1, "DNS goes back to an old zone", after, "")
	}
	if s.stray != (stray{}) {
		after := s
		after.land()
		emit(-1, "the write of a crashed take-over lands", after, "")
	}
	if s.turn < m.Turns {
		after := s
		after.turn++
		after.bound = (s.bound + 1) % int8(m.Seeds)
		emit(-1, "spec.seedName is changed to the next seed", after, "")
	}
	if s.life == gone {
		after := s
		after.life = renewed
		// Backups lie under the shoot's UID, so the new shoot has none; nothing of the old one may answer any more.
		after.finals, after.manifest, after.started = 0, s.dns.epoch, s.dns.epoch
		after.answered, after.answeredBy = s.dns.epoch, nobody
		emit(-1, "a shoot of the same name is created", after, "")
	}
}

// land lets the stray write meet its authority, which compares.
func (s *state) land() {
	w := s.stray
	s.stray = stray{}
	if w.toDNS && s.dns == w.saw {
		s.dns = w.record
	}
	if w.toGarden && s.garden == w.saw {
		s.garden = w.record
	}
}

// tick lets one unit of real time pass for everybody's clock except the paused seat's. A seat that is slow, frozen or
// cut off needs no step of its own: it is one that takes none while time passes.
func (m *Model) tick(s *state, paused int) {
	for i := range m.seats() {
		p := &s.seats[i]
		p.wait = max(p.wait-1, 0)
		if i == paused {
			continue
		}
		p.guard, p.holder = max(p.guard-1, 0), max(p.holder-1, 0)
		if l := &s.loans[i]; l.left > 1 {
			l.left--
		} else {
			*l = loan{}
		}
		switch {
		case p.flight == grant && m.has(AskedNotPushed):
			if p.age--; p.age == 0 {
				p.flight = grounded
			}
		case p.flight == dnsRead || p.flight == gardenRead:
			p.age = min(p.age+1, m.longest())
		}
	}
}

// deletionSteps end the shoot: whatever could serve it is gone before DNS gives it to nobody, and the claim goes last
// (ownership/retire.go, controlplane/ownership.go).
func (m *Model) deletionSteps(t *stepper) {
	if t.from.dns.owner == m.owner(t.seat) && t.from.dns.epoch > 0 {
		t.may("gives the shoot to nobody in DNS", func(s *state, p *seat) Property {
			if m.has(EpochOutlivesShoot) {
				s.dns = record{nobody, s.dns.epoch + 1}
			} else {
				s.dns = record{}
			}
			return ""
		})
		return
	}
	t.may("removes the claim, the shoot is gone", func(s *state, p *seat) Property {
		*p = seat{}
		if s.life == first && (s.dns.owner == nobody || s.dns.epoch == 0) {
			s.garden, s.life = record{}, gone
		}
		return ""
	})
}
