package tenure

// Asked is who asks what a seed is to do next about a shoot: a flow, a clean-up or an extension.
type Asked string

// SourceCleanup is asked once the garden says that the shoot is restored elsewhere, AbandonedCleanup once the shoot is
// deleted, StateSync while the garden says that the shoot is here, and Extension where no guard runs.
const (
	Create           Asked = "Create"
	Reconcile        Asked = "Reconcile"
	Restore          Asked = "Restore"
	Migrate          Asked = "Migrate"
	Delete           Asked = "Delete"
	SourceCleanup    Asked = "SourceCleanup"
	AbandonedCleanup Asked = "AbandonedCleanup"
	StateSync        Asked = "StateSync"
	Extension        Asked = "Extension"
)

// Answer is what the seed is to do next.
type Answer string

const (
	// Unknown: it depends on Whose, and DNS was not read.
	Unknown Answer = ""
	// Act as asked, in the noted epoch.
	Act Answer = "act"
	// Claim the shoot, or go on in the epoch that DNS gives to this seed, and act: ownership.Takeover finds out which.
	Claim Answer = "claim"
	// AwaitEnd: wait until the guard has ended the epoch, or a backup shows that nobody needs that. Then act as asked.
	AwaitEnd Answer = "await"
	// Remove what is here of an epoch that is over. Then act as asked.
	Remove Answer = "remove"
	// AskForRestore: the control plane is not here, and what was saved of it is to be restored.
	AskForRestore Answer = "restore"
	// HandOn the BackupEntry, if the source has released it: there is nothing else to migrate.
	HandOn Answer = "hand-on"
	// Refuse to act. The shoot is another's, or nobody can know, or data is lost.
	Refuse Answer = "refuse"
	// Nothing is to be done.
	Nothing Answer = "nothing"
)

// Next says what this seed is to do next. It is Unknown if DNS must be read first.
func (t Tenure) Next(asked Asked) Answer {
	switch {
	case asked == StateSync:
		return Act
	case asked == Migrate:
		return t.nextOfMigration()
	case asked == Reconcile && !t.Etcd.Exists, asked == Delete && t.Phase == None:
		return AskForRestore
	case asked == Extension && (t.Phase < Claimed || t.Phase > Begun):
		return Refuse
	case t.Phase > None || asked == Create || asked == Reconcile:
		return t.byOwner(asked)
	case asked == Restore:
		return Claim
	case asked == SourceCleanup:
		return Remove // the clean-up was interrupted after it had deleted the namespace
	}
	return Nothing
}

// nextOfMigration needs no DNS, so a planned migration continues without it.
func (t Tenure) nextOfMigration() Answer {
	mayRun := t.Etcd.Epoch >= t.Epoch && (t.Etcd.Runs || t.Etcd.Wakeable)
	switch {
	case t.Epoch == 0:
		return HandOn
	case t.Phase != Begun && t.Phase != Ended && !mayRun:
		return Act
	case !t.Etcd.Exists:
		return Refuse
	}
	return AwaitEnd
}

// byOwner is the answer where it depends on who owns the shoot.
func (t Tenure) byOwner(asked Asked) Answer {
	if t.Whose == Unread {
		return Unknown
	}
	others := t.Whose == OthersBegun || t.Whose == OthersClaimed
	over := t.Phase > None && (others || t.Whose == Nobodys)
	cleanup := asked == SourceCleanup || asked == AbandonedCleanup
	switch {
	case t.Whose == Unreadable:
		return Refuse
	case asked == Extension && t.Whose == Ours:
		return Act
	case asked == Extension:
		return Refuse
	case asked == Restore && over && t.Etcd.Runs:
		return AwaitEnd
	case over && (cleanup || asked == Create || asked == Restore):
		return Remove
	case cleanup:
		return Nothing
	case others && asked != Restore:
		return Refuse
	}
	return Claim
}
