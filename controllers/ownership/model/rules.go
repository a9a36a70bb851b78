package model

// Rule is one rule of the protocol that can be taken out. The zero Rule takes out nothing.
type Rule int

// The rules, in the order of SPEC 9.2. The comment says what holds with the rule.
const (
	Whole Rule = iota

	ReviveByDNS        // O1: a guard that has lapsed goes on only when DNS names it
	StartReadsGarden   // O1: to start, the garden must name the epoch too
	StartGardenFirst   // O1: of the two readings before the start the garden's comes first
	ValidFromReadStart // O1: validity counts from when the read was sent

	AskedNotPushed // 9.1: a holder counts what it was granted from before it asked

	GuardInPath    // O2: the guard passes only while valid
	AnswerChecked  // O2: the check stands before forwarding, not only after receiving
	GatewayChecks  // O2: so does the gateway
	PausesCounted  // O2: the clock runs on while the process is paused
	FenceByDNSOnly // O3: a higher epoch in the garden alone does not fence
	LowerIsNothing // O3: a lower epoch counts as unreachable
	OwnerHeals     // O3: the owner writes a claim that went back up again
	EqualHealed    // O3: and one of its own number that names another
	FenceRecorded  // O3 (1): a fence survives a restart
	HoldersRevoked // O3 (3): the final snapshot waits for the holders
	GrantsBounded  // O3 (3): a restarted guard assumes that it had granted the most
	RevokedForGood // O3 (3): a grant that arrives after the confirmation is not taken
	NoFinalOnLapse // O4: a suspended guard takes no final snapshot

	GardenFirst     // O5: the claim is written before the decision
	AboveBoth       // O5: the new number is above both records
	BothWritten     // O5: never start on one authority
	CompareAndSet   // O5: writes are compared with what was read
	BindingRead     // O5: spec.seedName must name the seed
	BindingReadLast // O5: and is read after the records
	BeginAgain      // O5: who finds a record changed begins again with a new number

	WaitAtAll      // O6: wait
	WaitEnough     // O6: W covers the validity with the drift of both clocks
	WaitFromKnown  // O6: W counts from when both writes were known to be done
	ExactFinal     // O6 (a): only the final snapshot of the replaced epoch ends the wait
	ReadAfterWait  // O6: the records are read again after the wait
	ManifestFirst  // O7: the manifest is there before the first answer
	CloudChecked   // O8: controllers check before every call
	DecisionRead   // O8, ADR 13: where no guard runs, controllers read DNS
	GuardLookedFor // ADR 13: and give themselves nothing by a read after which a guard runs
	ReadersAwaited // ADR 13: a guard that is fenced waits for what was read before it began
	LetGoFirst     // O11, ADR 13: a planned end comes when whoever has read DNS has let go
	EndNoted       // ADR 13: DNS gives nothing for an epoch that its owner has ended
	DataKept       // O10: the data stays until a newer epoch has started, or it is in a final snapshot
	FinalEndsEpoch // O11: an aborted migration goes on with a new epoch

	EpochOutlivesShoot // ADR 5: a deleted shoot leaves its last epoch in DNS
	DNSNeverBack       // A3, an assumption: DNS never goes back in time

	ruleCount
)

// Property is a promise that the checker holds every state and step to.
type Property string

const (
	// InOrder is (P): no answer takes effect under an epoch after a newer epoch has answered.
	InOrder Property = "P"
	// FinalComplete is (F): a final snapshot of an epoch holds every write that this epoch ever acknowledges.
	FinalComplete Property = "F"
	// Disjoint is the other half of (P): no two epochs are valid at one time. It is checked for the whole protocol
	// only, because it would hide from a removed rule's trace what clients see of it.
	Disjoint Property = "P, disjoint"
	// UsedOnce: an epoch is started once, and belongs to one data directory (9.1).
	UsedOnce Property = "U"
	// BoundInOrder: who was bound earlier never replaces who was bound later (O5).
	BoundInOrder Property = "B"
	// CloudInOrder: nobody calls the cloud for an epoch after a newer one has answered (O8). It breaks together with
	// InOrder, often a step earlier, so it is checked where it is asked for.
	CloudInOrder Property = "C"
	// RestoreNewest: an epoch is restored from the newest one that has answered (O7).
	RestoreNewest Property = "R"
	// CopyKept: what was acknowledged last lies on a disk or in a final snapshot until a newer epoch has started (O10).
	CopyKept Property = "D"
	// Takeable: once faults are over, any seed that is bound comes to serve, with the others or without them.
	Takeable Property = "L"
	// GoesOn: the owner goes on where nobody replaces it: a take-over that stopped half-way stops nobody, and neither
	// does one authority that is lost when both have named the owner (O3, O9).
	GoesOn Property = "G"
)

// meaning is what a broken property says of the last state of a trace.
var meaning = map[Property]string{
	InOrder:       "a client is answered under an epoch that was over when the request took effect",
	FinalComplete: "a write is acknowledged that the epoch's final snapshot does not hold",
	Disjoint:      "two epochs are valid at one time",
	UsedOnce:      "two data directories serve one epoch",
	BoundInOrder:  "who was bound earlier takes the shoot from who was bound later",
	CloudInOrder:  "the cloud is called for an epoch that is over",
	RestoreNewest: "the epoch starts from backups older than what was answered",
	CopyKept:      "the last copy of what was answered is gone",
	Takeable:      "from here a seed that is bound never comes to serve, though there are no more faults",
	GoesOn:        "from here the owner stops, though nobody replaces it",
}
