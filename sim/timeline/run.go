package timeline

import "encoding/json"

// RunStarted is the first event: which scenario runs, where, and with which random seed.
type RunStarted struct {
	Scenario   string `json:"scenario"`
	Backend    string `json:"backend"`
	RandomSeed uint64 `json:"randomSeed"`
	// TimeoutMultiplier is what the deadlines and goals of the scenario were multiplied by.
	TimeoutMultiplier float64 `json:"timeoutMultiplier,omitempty"`
	// Unwatched runs have no probes but their loads, and prove nothing.
	Unwatched bool `json:"unwatched,omitempty"`
	// Heartbeat is how often the engine says of every probe that it has looked. A record without it is older than that, or
	// made by hand: it does not say what it would take to check that nothing is missing from it.
	Heartbeat Length `json:"heartbeat,omitzero"`
	// Observed says that the record holds what was observed for the conditions of steps, so that they can be judged again.
	// Older records do not hold it.
	Observed bool `json:"observed,omitempty"`
	// BackendFlags are the settings of the backend, from the command line or the environment, as flags.
	BackendFlags []string `json:"backendFlags,omitempty"`
	// Extensions are the third-party extensions, by their names.
	Extensions []string `json:"extensions,omitempty"`
	// ExtensionFiles are theirs, as they were given.
	ExtensionFiles []string        `json:"extensionFiles,omitempty"`
	Definition     json.RawMessage `json:"definition"` // the scenario as it runs: with all defaults, and stretched
}

// Kind of RunStarted.
func (RunStarted) Kind() Kind { return "RunStarted" }

// LandscapeReady says that garden, seeds and cloud are there.
type LandscapeReady struct {
	Seeds []string `json:"seeds"`
	// Cloud says that there is a cloud, with a ledger.
	Cloud bool `json:"cloud,omitempty"`
	// LedgerAt is the number of the ledger's last entry before the run: its own begin behind it. Absent without a cloud,
	// and in records of before it was noted, of which the beginning of the ledger cannot be checked.
	LedgerAt *int64 `json:"ledgerAt,omitempty"`
	// CertainOnSeed are the classes of which every inventory of a seed must show something of a control plane that runs
	// there, and CertainInCloud those of which the inventory of the cloud must show something of its shoot.
	CertainOnSeed  []string `json:"certainOnSeed,omitempty"`
	CertainInCloud []string `json:"certainInCloud,omitempty"`
}

// Kind of LandscapeReady.
func (LandscapeReady) Kind() Kind { return "LandscapeReady" }

// ShootReady says that a shoot has been created and populated as the scenario wants it: from here on nothing may
// happen to it that the scenario does not ask for.
type ShootReady struct {
	TechnicalID string `json:"technicalID"`
	Nodes       int    `json:"nodes"`
	Objects     int    `json:"objects"`
	// BackedUp says that the shoot's backups contain all of that: the loss of its seed may not take any of it.
	BackedUp bool `json:"backedUp,omitempty"`
}

// Kind of ShootReady.
func (ShootReady) Kind() Kind { return "ShootReady" }

// StepStarted opens a step; the subject is the shoot or fault it is about, if any.
type StepStarted struct {
	Index int    `json:"index"` // from 0, as in the file
	Verb  string `json:"verb"`
	Text  string `json:"text"`
	// Refused says that the API is expected to refuse what the step asks for.
	Refused bool `json:"refused,omitempty"`
	// WritesPerSecond is the rate that a load is asked for.
	WritesPerSecond int `json:"writesPerSecond,omitempty"`
	// KeepAddress says that a load has a reader beside it that stays at the first address of its shoot's name.
	KeepAddress bool `json:"keepAddress,omitempty"`
	// Object is the object in the shoot that a user creates, changes or deletes by it.
	Object *ObjectRef `json:"object,omitempty"`
	// To is the seed that a shoot is to be moved to.
	To string `json:"to,omitempty"`
	// Lasts is how long a step waits that waits for a time.
	Lasts Length `json:"lasts,omitzero"`
}

// ObjectRef says which object of a shoot is meant.
type ObjectRef struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Kind of StepStarted.
func (StepStarted) Kind() Kind { return "StepStarted" }

// StepOutcome is how a step ended.
type StepOutcome string

// Outcomes of a step.
const (
	StepDone    StepOutcome = "Done"
	StepUnmet   StepOutcome = "Unmet"   // an expectation ran out of time
	StepUnknown StepOutcome = "Unknown" // an expectation ran out of time, and nobody could see whether it was met
	StepFailed  StepOutcome = "Failed"  // the step could not be carried out
)

// StepEnded closes a step.
type StepEnded struct {
	Index   int         `json:"index"`
	Verb    string      `json:"verb"`
	Text    string      `json:"text"`
	Outcome StepOutcome `json:"outcome"`
	Message string      `json:"message,omitempty"` // why, unless Done
}

// Kind of StepEnded.
func (StepEnded) Kind() Kind { return "StepEnded" }

// FaultAwaited says that a fault waits for its moment; the subject is its name in the scenario.
type FaultAwaited struct {
	Fault string `json:"fault"`
	When  string `json:"when"` // it begins, for people
}

// Kind of FaultAwaited.
func (FaultAwaited) Kind() Kind { return "FaultAwaited" }

// FaultInjected says that a fault has begun; the subject is its name in the scenario.
type FaultInjected struct {
	Fault string `json:"fault"` // what it does, for people
	// Clusters that it takes away: nobody reaches them while it lasts.
	Clusters []string `json:"clusters,omitempty"`
	// Wiped is whether their disks are gone, too.
	Wiped bool `json:"wiped,omitempty"`
}

// Kind of FaultInjected.
func (FaultInjected) Kind() Kind { return "FaultInjected" }

// FaultHealed says that a fault has ended.
type FaultHealed struct {
	Fault string `json:"fault"`
	Hits  int    `json:"hits"` // how often it hit something
	Error string `json:"error,omitempty"`
}

// Kind of FaultHealed.
func (FaultHealed) Kind() Kind { return "FaultHealed" }

// Settling says that the steps are over and everything is healed: the landscape may settle.
type Settling struct {
	// Quiet is how long nothing may move for the landscape to be settled.
	Quiet Length `json:"quiet,omitzero"`
}

// Kind of Settling.
func (Settling) Kind() Kind { return "Settling" }

// Settled says whether the landscape has settled in time.
type Settled struct {
	Converged bool     `json:"converged"`
	Waiting   []string `json:"waiting,omitempty"` // what was still awaited
	// Unknown is what could not be looked at in the end: whether it had settled is not known.
	Unknown []string `json:"unknown,omitempty"`
	Since   Moment   `json:"since,omitempty"` // when it had settled; what follows shows that it stays so
	// Objects is how many were looked at, and did not move.
	Objects int `json:"objects,omitempty"`
}

// Kind of Settled.
func (Settled) Kind() Kind { return "Settled" }

// RunEnded is the last event.
type RunEnded struct {
	Error string `json:"error,omitempty"` // why the run could not be carried out
	// Recorded is how many events of each kind the engine and its probes have recorded, as they counted them: the journal
	// must hold them all. What was recorded before the engine began is not among them.
	Recorded map[Kind]int `json:"recorded,omitempty"`
}

// Kind of RunEnded.
func (RunEnded) Kind() Kind { return "RunEnded" }

// Note is a sentence for people; nothing is judged by it.
type Note struct {
	Text string `json:"text"`
}

// Kind of Note.
func (Note) Kind() Kind { return "Note" }
