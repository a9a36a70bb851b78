package model

// requestSteps are what passes and what does not (docs/ownership.md#o2; etcd/guard/proxy.go, gateway). Whether an
// answer is in order is settled when it takes effect, so passing it and its arrival at the client are one step: one
// that arrives later breaks nothing more.
func (m *Model) requestSteps(t *stepper) {
	p := &t.from.seats[t.seat]
	switch p.request {
	case none:
		m.newRequestSteps(t)
	case committed:
		if p.guard > 0 || !m.has(GuardInPath) {
			t.may("guard passes the answer, the client has it", m.answered(t.seat))
		}
	case cached:
		if p.holder > 0 || !m.has(GatewayChecks) {
			t.may("gateway passes the answer, the client has it", m.answered(t.seat))
		}
	case admitted:
		t.may("etcd commits the admitted write, the client has the answer", func(s *state, p *seat) Property {
			p.effect(s, committed)
			return m.answered(t.seat)(s, p)
		})
	}
}

func (m *Model) newRequestSteps(t *stepper) {
	p := &t.from.seats[t.seat]
	if !m.has(AnswerChecked) {
		if p.guard > 0 {
			t.may("guard admits a write", func(s *state, p *seat) Property { p.request = admitted; return "" })
		}
		return
	}
	// A fenced guard passes nothing, so only without it does it matter what etcd still does.
	if p.mode == begun || !m.has(GuardInPath) {
		t.may("etcd commits a write", func(s *state, p *seat) Property { p.effect(s, committed); return "" })
	}
	t.may("API server answers from its cache", func(s *state, p *seat) Property { p.effect(s, cached); return "" })
}

// effect is the instant at which a request takes effect.
func (p *seat) effect(s *state, kind request) {
	p.request = kind
	p.late = s.answered > p.epoch
	p.lost = kind == committed && s.finals&bit(p.epoch) != 0
}

// answered: a client has an answer, and the observer judges.
func (m *Model) answered(i int) func(*state, *seat) Property {
	return func(s *state, p *seat) Property {
		late, lost := p.late, p.lost
		p.request, p.late, p.lost = none, false, false
		switch {
		case lost:
			return FinalComplete
		case late:
			return InOrder
		case s.answered == p.epoch && s.answeredBy != int8(i):
			return UsedOnce
		case p.epoch > s.answered:
			s.answered, s.answeredBy = p.epoch, int8(i)
		}
		return ""
	}
}
