package model

// Rule is one rule of the protocol that can be taken out. The zero Rule takes out nothing.
type Rule int

// The rules, in the order of docs/ownership.md#spec-9-2. The comment says what holds with the rule.
const (
	Whole Rule = iota

	// docs/ownership.md#o1
	ReviveByDNS        // a guard that has lapsed goes on only when DNS names it
	StartReadsGarden   // to start, the garden must name the epoch too
	StartGardenFirst   // of the two readings before the start the garden's comes first
	ValidFromReadStart // validity counts from when the read was sent

	// docs/ownership.md#spec-9-1
	AskedNotPushed // a holder counts what it was granted from before it asked

	// docs/ownership.md#o2
	GuardInPath   // the guard passes only while valid
	AnswerChecked // the check stands before forwarding, not only after receiving
	GatewayChecks // so does the gateway
	PausesCounted // the clock runs on while the process is paused
	// docs/ownership.md#o3
	FenceByDNSOnly // a higher epoch in the garden alone does not fence
	LowerIsNothing // a lower epoch counts as unreachable
	OwnerHeals     // the owner writes a claim that went back up again
	EqualHealed    // and one of its own number that names another
	// docs/ownership.md#o3-1
	FenceRecorded // a fence survives a restart
	// docs/ownership.md#o3-3
	HoldersRevoked // the final snapshot waits for the holders
	GrantsBounded  // a restarted guard assumes that it had granted the most
	RevokedForGood // a grant that arrives after the confirmation is not taken
	// docs/ownership.md#o4
	NoFinalOnLapse // a suspended guard takes no final snapshot

	// docs/ownership.md#o5
	GardenFirst     // the claim is written before the decision
	AboveBoth       // the new number is above both records
	BothWritten     // never start on one authority
	CompareAndSet   // writes are compared with what was read
	BindingRead     // spec.seedName must name the seed
	BindingReadLast // and is read after the records
	BeginAgain      // who finds a record changed begins again with a new number

	// docs/ownership.md#o6
	WaitAtAll     // wait
	WaitEnough    // W covers the validity with the drift of both clocks
	WaitFromKnown // W counts from when both writes were known to be done
	ExactFinal    // only the final snapshot of the replaced epoch ends the wait
	ReadAfterWait // the records are read again after the wait
	// docs/ownership.md#o7
	ManifestFirst // the manifest is there before the first answer
	// docs/ownership.md#o8
	CloudChecked   // controllers check before every call
	DecisionRead   // ADR 13: where no guard runs, controllers read DNS
	GuardLookedFor // ADR 13: and give themselves nothing by a read after which a guard runs
	ReadersAwaited // ADR 13: a guard that is fenced waits for what was read before it began
	// docs/ownership.md#o11
	ReleaseFirst // ADR 13: a planned end comes when whoever has read DNS has released the shoot
	EndNoted     // ADR 13: DNS gives nothing for an epoch that its owner has ended
	// docs/ownership.md#o10
	DataKept // the data stays until a newer epoch has started, or it is in a final snapshot
	// docs/ownership.md#o11
	FinalEndsEpoch // an aborted migration goes on with a new epoch

	EpochOutlivesShoot // ADR 5: a deleted shoot leaves its last epoch in DNS
	// docs/ownership.md#assumption-a3
	DNSNeverBack // an assumption: DNS never goes back in time

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
	// UsedOnce: an epoch is started once, and belongs to one data directory (docs/ownership.md#epoch).
	UsedOnce Property = "U"
	// BoundInOrder: who was bound earlier never replaces who was bound later (docs/ownership.md#o5).
	BoundInOrder Property = "B"
	// CloudInOrder: nobody calls the cloud for an epoch after a newer one has answered (docs/ownership.md#o8). It
	// breaks together with InOrder, often a step earlier, so it is checked where it is asked for.
	CloudInOrder Property = "C"
	// RestoreNewest: an epoch is restored from the newest one that has answered (docs/ownership.md#o7).
	RestoreNewest Property = "R"
	// CopyKept: what was acknowledged last lies on a disk or in a final snapshot until a newer epoch has started
	// (docs/ownership.md#o10).
	CopyKept Property = "D"
	// Takeable: once faults are over, any seed that is bound comes to serve, with the others or without them.
	Takeable Property = "L"
	// GoesOn: the owner goes on where nobody replaces it: a take-over that stopped half-way stops nobody, and neither
	// does one authority that is lost when both have named the owner (docs/ownership.md#o3, docs/ownership.md#o9).
	GoesOn Property = "G"
)

// meaning is what the failure of a property says of the last state of a trace.
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
