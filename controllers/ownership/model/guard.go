package model

// guardSteps are what a guard reads, its fence, and the end of an epoch (ownership/guard.go, observe.go, fence.go;
// etcd/guard/end.go).
func (m *Model) guardSteps(t *stepper) {
	m.crashStep(t)
	if t.from.seats[t.seat].mode == ended {
		m.endedSteps(t)
		return
	}
	m.readSteps(t)
	p := &t.from.seats[t.seat]
	if p.guard > 0 && m.heals(t.from.garden, t.seat, p.epoch) {
		t.may("writes the claim up to its own epoch", func(s *state, p *seat) Property {
			s.garden = record{m.owner(t.seat), p.epoch}
			return ""
		})
	}
	if !m.has(NoFinalOnLapse) && p.guard == 0 {
		t.may("lapsed: takes a final snapshot", func(s *state, p *seat) Property { s.finals |= bit(p.epoch); return "" })
	}
	if !m.has(ManifestFirst) {
		t.may("writes its manifest at last", func(s *state, p *seat) Property {
			s.manifest = max(s.manifest, p.epoch)
			return ""
		})
	}
	if p.guard > 0 && (t.from.loans[t.seat] == loan{} || !m.has(ReleaseFirst)) {
		t.may("ends its epoch by its own decision", func(s *state, p *seat) Property { p.fence(); return "" })
	}
	if m.Recreate && t.from.life == first && m.names(t.from.dns, t.seat, p.epoch) {
		t.may("deletes everything of the shoot", func(s *state, p *seat) Property {
			*p, s.loans[t.seat] = seat{mode: deleting}, loan{} // its objects are gone: nobody is left who could call
			return ""
		})
	}
}

// heals reports whether the owner of the epoch mends this claim: one that is behind, or another's of its own number,
// which DNS has decided already.
func (m *Model) heals(claim record, i int, epoch int8) bool {
	dead := m.has(EqualHealed) && claim.epoch == epoch && !m.names(claim, i, epoch)
	return m.has(OwnerHeals) && (claim.epoch < epoch || dead)
}

func (m *Model) readSteps(t *stepper) {
	i := t.seat
	if m.Late {
		m.lateReadSteps(t)
	}
	t.may("guard reads DNS", func(s *state, p *seat) Property { m.observe(p, i, dnsRead, s.dns, 0); return "" })
	t.may("guard reads the garden", func(s *state, p *seat) Property {
		m.observe(p, i, gardenRead, s.garden, 0)
		return ""
	})
}

// lateReadSteps split a read that names the guard in two. One that does not name it can as well be made later.
func (m *Model) lateReadSteps(t *stepper) {
	p := &t.from.seats[t.seat]
	switch p.flight {
	case grounded:
		if m.names(t.from.dns, t.seat, p.epoch) {
			t.may("guard's read of DNS is answered, the answer is on its way", func(s *state, p *seat) Property {
				p.flight, p.age = dnsRead, 0
				return ""
			})
		}
		if m.names(t.from.garden, t.seat, p.epoch) {
			t.may("guard's read of the garden is answered, the answer is on its way", func(s *state, p *seat) Property {
				p.flight, p.age = gardenRead, 0
				return ""
			})
		}
	case dnsRead, gardenRead:
		t.may("the answer reaches the guard", func(s *state, p *seat) Property {
			age, source := p.age, p.flight
			if !m.has(ValidFromReadStart) {
				age = 0
			}
			p.flight, p.age = grounded, 0
			m.observe(p, t.seat, source, record{m.owner(t.seat), p.epoch}, age)
			return ""
		})
	}
}

// observe is what a guard makes of one answer of an authority.
func (m *Model) observe(p *seat, i int, source flight, r record, age int8) {
	byDNS := source == dnsRead
	switch {
	case m.names(r, i, p.epoch):
		if p.guard > 0 || byDNS || !m.has(ReviveByDNS) {
			p.guard = max(p.guard, m.longest()-age)
		}
	case r.epoch > p.epoch && (byDNS || !m.has(FenceByDNSOnly)), r.epoch < p.epoch && !m.has(LowerIsNothing):
		p.fence()
	}
}

func (p *seat) fence() {
	p.mode, p.guard = ended, 0
	if p.flight != grant {
		p.flight, p.age = grounded, 0
	}
}

// crashStep: the process of the guard dies and comes back at once. What it remembers is on disk.
func (m *Model) crashStep(t *stepper) {
	t.may("guard crashes and restarts", func(s *state, p *seat) Property {
		p.guard = 0
		if p.flight != grant {
			p.flight, p.age = grounded, 0
		}
		p.forgot = !m.has(GrantsBounded)
		if p.mode == ended && !m.has(FenceRecorded) {
			p.mode = begun
		}
		return ""
	})
}

// endedSteps are what follows a recorded fence (docs/ownership.md#o3-3), and the removal of what is left
// (docs/ownership.md#o10).
func (m *Model) endedSteps(t *stepper) {
	t.may("holder gives up and confirms", func(s *state, p *seat) Property { p.holder, p.gaveUp = 0, true; return "" })
	p := &t.from.seats[t.seat]
	revoked := p.gaveUp || p.holder == 0 && p.flight != grant
	if m.has(ReadersAwaited) && t.from.dns.epoch > p.epoch { // who ends its epoch by its own decision has waited before
		revoked = revoked && t.from.loans[t.seat] == loan{}
	}
	if revoked || p.forgot || !m.has(HoldersRevoked) {
		t.may("final snapshot is in the bucket", func(s *state, p *seat) Property { s.finals |= bit(p.epoch); return "" })
	}
	if !m.has(FinalEndsEpoch) {
		t.may("migration aborted: goes on with the same epoch", func(s *state, p *seat) Property {
			p.mode, p.gaveUp = begun, false
			return ""
		})
	}
	if revoked {
		// With the final snapshot or, where the bucket is out of reach, without.
		t.may("stops etcd", func(s *state, p *seat) Property { *p = seat{data: p.data}; return "" })
	}
}

// holderSteps are the question for validity (ownership/holder.go) and what lives on the answer besides requests.
func (m *Model) holderSteps(t *stepper) {
	p := &t.from.seats[t.seat]
	switch {
	case !m.Late && p.guard > 0:
		t.may("holder asks the guard", func(s *state, p *seat) Property { p.holder = max(p.holder, p.guard); return "" })
	case m.Late && p.guard > 0 && p.flight == grounded:
		t.may("guard grants, the answer is on its way", func(s *state, p *seat) Property {
			p.flight, p.age = grant, p.guard
			return ""
		})
	case m.Late && p.flight == grant:
		t.may("the grant reaches the holder", func(s *state, p *seat) Property {
			if !p.gaveUp || !m.has(RevokedForGood) {
				p.holder = max(p.holder, p.age)
			}
			p.flight, p.age = grounded, 0
			return ""
		})
	}
	if m.Cloud && (p.holder > 0 || !m.has(CloudChecked)) {
		t.may("controller calls the cloud", func(s *state, p *seat) Property {
			if s.answered > p.epoch {
				return CloudInOrder
			}
			return ""
		})
	}
}
