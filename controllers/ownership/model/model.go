package model

// Bounds make the state space finite. Times are ticks.
type Bounds struct {
	Seeds    int  // 2 or 3
	Epochs   int8 // highest epoch anybody takes
	Validity int8 // T, ownerCheckTimeout
	Drift    int8 // how much longer T, or shorter W, may last in real time
	Restores int8 // how often the garden goes back to its backup
	Backups  bool // the garden is backed up at any time, not only before the start
	Turns    int8 // how often spec.seedName changes; 0: whoever takes over is bound
	Late     bool // answers to reads and grants arrive late, and so do writes of who has crashed
	Recreate bool // the shoot is deleted and another of its name is created; the third seat is seed A again
	Progress bool // check Takeable and GoesOn too
	Cloud    bool // check CloudInOrder too
	Strict   bool // check Disjoint too
	Rest     bool // the shoot is hibernated and woken, and controllers act without it, before it has begun too
}

// Model is the protocol within its bounds, with at most one rule taken out.
type Model struct {
	Bounds
	Without Rule
}

func (m *Model) has(r Rule) bool { return m.Without != r }

// longest is how long validity may last in real time: T on a slow clock.
func (m *Model) longest() int8 { return m.Validity + m.Drift }

// shortestWait is how long W lasts at least in real time, on a fast clock. W allows for both clocks.
func (m *Model) shortestWait() int8 {
	switch {
	case !m.has(WaitAtAll):
		return 0
	case !m.has(WaitEnough):
		return m.longest() - 1
	}
	w := m.Validity + 2*m.Drift
	return w - m.Drift
}

func (m *Model) seats() int {
	if m.Recreate {
		return 3
	}
	return m.Seeds
}

// owner is the name under which a seat writes records.
func (m *Model) owner(i int) int8 {
	if m.Recreate && i == 2 {
		return 0
	}
	return int8(i)
}

func (m *Model) names(r record, i int, epoch int8) bool { return r == record{m.owner(i), epoch} }

// start: seed A serves epoch 1 and nothing is wrong.
func (m *Model) start() state {
	first := record{0, 1}
	s := state{dns: first, garden: first, backup: first, manifest: 1, started: 1}
	s.seats[0] = seat{mode: begun, epoch: 1, data: 1, guard: m.longest()}
	return s
}

// emit takes one possible step: who does what, the state after it, and the property it broke, if any.
type emit func(who int, what string, after state, failed Property)

// stepper offers steps of one seat. A step that changes nothing is dropped.
type stepper struct {
	from state
	seat int
	emit emit
}

func (t *stepper) may(what string, do func(s *state, p *seat) Property) {
	after := t.from
	if failed := do(&after, &after.seats[t.seat]); failed != "" || after != t.from {
		t.emit(t.seat, what, after, failed)
	}
}

// successors emits every step that is possible in the state.
func (m *Model) successors(s state, emit emit) {
	m.worldSteps(s, emit)
	for i := range m.seats() {
		t := &stepper{from: s, seat: i, emit: emit}
		switch s.seats[i].mode {
		case begun, ended:
			m.guardSteps(t)
			m.holderSteps(t)
			m.requestSteps(t)
		case hibernated:
		case deleting:
			m.deletionSteps(t)
		default:
			takeover{m}.steps(t)
		}
		if m.Rest {
			m.restSteps(t)
		}
	}
}

// invariant is what every state must satisfy.
func (m *Model) invariant(s *state) Property {
	valid, kept := int8(0), s.answered == 0 || s.saved(s.answered)
	for i := range m.seats() {
		p := &s.seats[i]
		if p.guard > 0 || p.holder > 0 {
			if m.Strict && valid != 0 {
				return Disjoint
			}
			valid = p.epoch
		}
		kept = kept || p.data == s.answered
	}
	if m.Strict && m.Rest && !s.loansAgree(m.seats()) {
		return Disjoint
	}
	if !kept && !m.Recreate {
		return CopyKept
	}
	return ""
}

func bit(epoch int8) uint8 { return 1 << uint(epoch) }
