package model

// fair is a run without faults: everybody who takes part acts once in every round, and a round takes one tick.
type fair struct {
	m        *Model
	claimant int  // who is bound and takes over; -1: nobody does
	alone    bool // the other seeds are gone for ever

	// After a few good rounds an authority is lost for ever.
	losesDNS, losesGarden bool
}

// goodRounds is how long both authorities are there before one is lost.
const goodRounds = 4

// progress checks Takeable and GoesOn in the state.
func (m *Model) progress(s *state) Property {
	for i := range m.seats() {
		for _, alone := range []bool{false, true} {
			if !(&fair{m: m, claimant: i, alone: alone}).serves(*s) {
				return Takeable
			}
		}
		if !m.goesOn(s, i) {
			return GoesOn
		}
	}
	return ""
}

// goesOn: the owner in DNS, and the valid owner whom a take-over has displaced in one record only. Where the garden
// may go back, the latter cannot be distinguished from one whose garden went back after both writes.
func (m *Model) goesOn(s *state, i int) bool {
	p := &s.seats[i]
	if p.mode != begun {
		return true
	}
	owner := m.names(s.dns, i, p.epoch)
	halfway := m.Restores == 0 && p.guard > 0 && (s.dns.epoch > p.epoch) != (s.garden.epoch > p.epoch)
	if (owner || halfway) && !(&fair{m: m, claimant: -1}).serves(*s) {
		return false
	}
	// A claim of another seat that is higher than the owner's own is not the owner's to heal: it may be on its way to DNS.
	if !owner || s.garden.epoch > p.epoch {
		return true
	}
	return (&fair{m: m, claimant: -1, losesDNS: true}).serves(*s) &&
		(&fair{m: m, claimant: -1, losesGarden: true}).serves(*s)
}

// serves reports whether the run settles with exactly one seat that is valid, holders included.
func (f *fair) serves(s state) bool {
	settled := 0
	w := int(f.m.Validity + 2*f.m.Drift)
	for round := range 6*w + 20 {
		for i := range f.m.seats() {
			if i == f.claimant || !f.alone {
				f.act(&s, i, round)
			}
		}
		valid := 0
		for i := range f.m.seats() {
			if p := &s.seats[i]; p.mode == begun && p.guard > 0 && p.holder > 0 {
				valid++
			}
		}
		if settled++; valid != 1 {
			settled = 0
		}
		if settled > w+goodRounds+2 {
			return true
		}
		f.m.tick(&s, -1)
	}
	return false
}

func (f *fair) act(s *state, i, round int) {
	p := &s.seats[i]
	p.request = none
	if p.flight != grounded {
		p.flight, p.age = grounded, 0
	}
	if p.mode == begun {
		f.guard(s, i, round)
	}
	if p.mode == ended {
		s.finals |= bit(p.epoch)
		*p = seat{data: p.data}
	}
	switch {
	case p.mode == begun:
	case i == f.claimant:
		f.claim(s, i)
	default:
		*p = seat{data: p.data}
	}
}

// guard reads both authorities, or one of them, in turn, while it is valid and both name it.
func (f *fair) guard(s *state, i, round int) {
	p := &s.seats[i]
	dns, garden := !f.losesDNS || round < goodRounds, !f.losesGarden || round < goodRounds
	if dns && garden && p.guard > 0 && f.m.names(s.dns, i, p.epoch) && f.m.names(s.garden, i, p.epoch) {
		dns, garden = round%2 == 0, round%2 == 1
	}
	if dns {
		f.m.observe(p, i, dnsRead, s.dns, 0)
	}
	if garden && p.mode == begun {
		f.m.observe(p, i, gardenRead, s.garden, 0)
		if p.guard > 0 && f.m.heals(s.garden, i, p.epoch) {
			s.garden = record{f.m.owner(i), p.epoch}
		}
	}
	p.holder = max(p.holder, p.guard)
}

// claim goes as far through a take-over and its wait as is possible now.
func (f *fair) claim(s *state, i int) {
	p := &s.seats[i]
	if p.mode == reading {
		*p = seat{data: p.data}
	}
	if p.mode == idle {
		takeover{f.m}.readRecords(s, p, 100)
	}
	if p.mode == claiming && f.write(s, i, p.sawGarden, &s.garden, &p.gardenWrite) && f.write(s, i, p.sawDNS, &s.dns,
		&p.dnsWrite) {
		takeover{f.m}.writesKnown(p)
	}
	if p.mode != waiting && p.mode != claimed || p.mode == waiting && p.wait > 0 {
		return
	}
	if f.m.names(s.garden, i, p.epoch) && f.m.names(s.dns, i, p.epoch) {
		takeover{f.m}.startEpoch(s, p)
		return
	}
	f.again(p)
}

func (f *fair) write(s *state, i int, saw record, at *record, how *writing) bool {
	p := &s.seats[i]
	me := record{f.m.owner(i), p.epoch}
	if *how == unwritten && *at != saw && *at != me && f.m.has(CompareAndSet) {
		f.again(p)
		return false
	}
	if *how == unwritten {
		*at = me
	}
	*how = known
	return true
}

// again is what a lost race leads to.
func (f *fair) again(p *seat) {
	if f.m.has(BeginAgain) {
		*p = seat{data: p.data}
	}
}
