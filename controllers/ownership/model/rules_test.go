package model

import "testing"

// removed has one row for every rule: its number, the bounds that suffice, and what breaks without it.
var removed = []struct {
	name   string
	rule   Rule
	bounds Bounds
	breaks Property
}{
	{"O1 lapsed: only DNS revives", ReviveByDNS, restore, InOrder},
	{"O1 start: the garden must name it", StartReadsGarden, restore, InOrder},
	{"O1 start: the garden is read first", StartGardenFirst, backups, InOrder},
	{"O1 validity from the start of the read", ValidFromReadStart, late, InOrder},
	{"9.1 granted time counts from the question", AskedNotPushed, late, InOrder},
	{"O2 the guard is in the path", GuardInPath, small, FinalComplete},
	{"O2 checked before forwarding", AnswerChecked, small, FinalComplete},
	{"O2 the gateway checks", GatewayChecks, small, InOrder},
	{"O2 the clock counts pauses", PausesCounted, small, InOrder},
	{"O3 a higher epoch in the garden alone does not fence", FenceByDNSOnly, progress, GoesOn},
	{"O3 a lower epoch counts as unreachable", LowerIsNothing, healed, GoesOn},
	{"O3 the owner heals the claim", OwnerHeals, healed, GoesOn},
	{"O3 the owner heals another's claim of its own number", EqualHealed, healed, GoesOn},
	{"O3(1) the fence is recorded", FenceRecorded, small, FinalComplete},
	{"O3(3) the final snapshot waits for the holders", HoldersRevoked, small, InOrder},
	{"O3(3) a restarted guard assumes grants", GrantsBounded, small, InOrder},
	{"O3(3) revoked for good", RevokedForGood, late, InOrder},
	{"O4 no final snapshot on lapse", NoFinalOnLapse, small, FinalComplete},
	{"O5 garden first, then DNS", GardenFirst, progress, GoesOn},
	{"O5 the number is above both records", AboveBoth, restore, UsedOnce},
	{"O5 both are written", BothWritten, small, InOrder},
	{"O5 compare-and-set", CompareAndSet, small, UsedOnce},
	{"O5 the binding is read", BindingRead, binding, BoundInOrder},
	{"O5 the binding is read after the records", BindingReadLast, binding, BoundInOrder},
	{"O5 begin again after a lost race", BeginAgain, progress, Takeable},
	{"O6 wait", WaitAtAll, small, InOrder},
	{"O6 wait for W", WaitEnough, small, InOrder},
	{"O6 W from when both writes are known", WaitFromKnown, small, InOrder},
	{"O6(a) exactly the replaced epoch's snapshot", ExactFinal, small, InOrder},
	{"O6 read again after the wait", ReadAfterWait, restore, InOrder},
	{"O7 manifest before the first answer", ManifestFirst, small, RestoreNewest},
	{"O8 controllers check", CloudChecked, cloud, CloudInOrder},
	{"O8 without a guard, DNS is read", DecisionRead, rest, Disjoint},
	{"O8 a read that a guard overtakes gives nothing", GuardLookedFor, rest, Disjoint},
	{"O8 a fenced guard waits for who has read before", ReadersAwaited, rest, Disjoint},
	{"O11 everybody has released before a planned end", ReleaseFirst, rest, Disjoint},
	{"O8 an epoch that was ended is not read", EndNoted, rest, Disjoint},
	{"O10 the data is kept", DataKept, small, CopyKept},
	{"O11 a final snapshot ends the epoch", FinalEndsEpoch, small, FinalComplete},
	{"ADR 5 the epoch outlives the shoot", EpochOutlivesShoot, recreate, InOrder},
	{"A3 DNS never goes back", DNSNeverBack, small, InOrder},
}

func TestEveryRuleIsNeeded(t *testing.T) {
	tested := map[Rule]bool{Whole: true}
	for _, c := range removed {
		tested[c.rule] = true
		t.Run(c.name, func(t *testing.T) {
			r := (&Model{Bounds: c.bounds, Without: c.rule}).Check(limit)
			t.Logf("%d states\n%s", r.States, r)
			if r.Failed != c.breaks {
				t.Errorf("without the rule %q fails, want %q", r.Failed, c.breaks)
			}
		})
	}
	for rule := range ruleCount {
		if !tested[rule] {
			t.Errorf("rule %d is never taken out", rule)
		}
	}
}

// TestTheGardenGoesBackOnce is docs/ownership.md#assumption-a4: a second time is one too many.
func TestTheGardenGoesBackOnce(t *testing.T) {
	bounds := backups
	bounds.Restores = 2
	r := (&Model{Bounds: bounds}).Check(limit)
	t.Logf("%d states\n%s", r.States, r)
	if r.Failed != InOrder {
		t.Errorf("%q fails, want %q", r.Failed, InOrder)
	}
}

// TestDisjointSeesTwoValidEpochs holds the checks that the table leaves out to the same: they can fail.
func TestDisjointSeesTwoValidEpochs(t *testing.T) {
	bounds := small
	bounds.Strict = true
	r := (&Model{Bounds: bounds, Without: WaitAtAll}).Check(limit)
	if r.Failed != Disjoint || len(r.Trace) < 2 {
		t.Errorf("%q fails after %d steps, want %q", r.Failed, len(r.Trace)-1, Disjoint)
	}
}

// TestTracesAreShortestAndTheSame: the same check finds the same trace, and no check with a lower limit finds one.
func TestTracesAreShortestAndTheSame(t *testing.T) {
	m := &Model{Bounds: small, Without: WaitEnough}
	one, two := m.Check(limit), m.Check(limit)
	if one.String() != two.String() || one.States != two.States {
		t.Errorf("two runs differ:\n%s%s", one, two)
	}
	if cut := m.Check(100); cut.Complete || cut.Failed != "" {
		t.Errorf("a check of 100 states says failed %q, complete %t", cut.Failed, cut.Complete)
	}
}
