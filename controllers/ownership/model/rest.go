package model

// restSteps are what happens where no guard runs (docs/adr/0013; extension/decided.go): controllers read DNS, and what
// it gives them runs out by itself.
func (m *Model) restSteps(t *stepper) {
	s, i := &t.from, t.seat
	p := &s.seats[i]
	named := m.names(s.dns, i, p.epoch) || !m.has(DecisionRead)
	switch p.mode {
	case begun:
		t.may("the shoot is hibernated", func(_ *state, p *seat) Property {
			*p = seat{mode: hibernated, epoch: p.epoch, data: p.data, holder: p.holder}
			return ""
		})
		if named && !m.has(GuardLookedFor) {
			t.may("controller reads DNS beside the guard", m.lend(i, p.epoch, true))
		}
	case hibernated:
		t.may("the shoot is woken", func(_ *state, p *seat) Property {
			p.mode, p.forgot = begun, !m.has(GrantsBounded)
			return ""
		})
		if s.dns.epoch > p.epoch && p.holder == 0 && s.loans[i] == (loan{}) {
			t.may("finds that the shoot is another's", func(_ *state, p *seat) Property { *p = seat{data: p.data}; return "" })
		}
		if named {
			t.may("controller reads DNS", m.lend(i, p.epoch, false))
		}
	case claimed:
		if named {
			t.may("controller reads DNS before etcd begins", m.lend(i, p.epoch, false))
		}
	case idle:
		if !m.has(EndNoted) && m.names(s.dns, i, p.data) {
			t.may("controller reads DNS after the end", m.lend(i, p.data, false))
		}
	}
	if l := s.loans[i]; m.Cloud && l.left > 0 && s.answered > l.epoch {
		t.emit(i, "controller calls the cloud", *s, CloudInOrder)
	}
}

// lend gives controllers what a read of DNS is worth. Of a read that no guard may know of, this one does not.
func (m *Model) lend(i int, epoch int8, unknown bool) func(*state, *seat) Property {
	return func(s *state, p *seat) Property {
		if l := s.loans[i]; l.left > 0 && l.epoch != epoch {
			return Disjoint
		}
		s.loans[i] = loan{epoch, m.longest()}
		p.forgot = p.forgot || unknown
		return ""
	}
}

// loansAgree reports whether whoever has anything from DNS is valid in the same epoch as everybody else who is.
func (s *state) loansAgree(seats int) bool {
	for i := range seats {
		if s.loans[i].left == 0 {
			continue
		}
		for j := range seats {
			p, l := &s.seats[j], s.loans[j]
			if (p.guard > 0 || p.holder > 0) && (j != i || p.epoch != s.loans[i].epoch) || l.left > 0 && j != i {
				return false
			}
		}
	}
	return true
}
