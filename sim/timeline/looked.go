package timeline

import "encoding/json"

// Looked says that a probe has looked, which its other events do not: a probe that follows something records only what
// changes, and "nothing has changed" must not be taken for "nobody has looked". The engine records it, not the probe:
// now and then, when the probe ends, and for its last look. The subject is the name of the probe.
type Looked struct {
	// Looks that have ended since the engine said so last; of a follower, how often it began to follow.
	Looks int `json:"looks"`
	// Failed are those of them that could not see.
	Failed int `json:"failed,omitempty"`
	// Follows says that the probe is following now.
	Follows bool `json:"follows,omitempty"`
	// Ended says that the probe has ended. What it still records until Final was found by its last look.
	Ended bool `json:"ended,omitempty"`
	// Final says that this was its last look.
	Final bool `json:"final,omitempty"`
}

// Kind of Looked.
func (Looked) Kind() Kind { return "Looked" }

// Observed is what an observation has seen for a condition that a step waits for. It is recorded for the first, and for
// each that sees another value that the condition names. All else that is new is recorded once a second, and for the
// last. The condition is evaluated by nothing but these events, once for each.
type Observed struct {
	That string `json:"that"` // the condition
	// Facts are the shoots, the seeds and the cloud that the condition asks for, as expressions know them.
	Facts json.RawMessage `json:"facts"`
}

// Kind of Observed.
func (Observed) Kind() Kind { return "Observed" }

// ConditionMet says that a condition that a step waited for was true, and by what that was known.
type ConditionMet struct {
	That string `json:"that"`
	Saw  string `json:"saw"` // the facts in it, for people
	// Unknown is why nobody could see whether it is true. Then it must not count as met.
	Unknown string `json:"unknown,omitempty"`
}

// Kind of ConditionMet.
func (ConditionMet) Kind() Kind { return "ConditionMet" }

// Names of probes, by the shoot that they look at.

// StateOf is the name of the probe that follows a Shoot in the garden.
func StateOf(shoot string) string { return "state of " + shoot }

// EpochsOf is the name of the probe that asks a shoot's control planes for their epochs.
func EpochsOf(shoot string) string { return "epochs of " + shoot }

// ReachabilityOf is the name of the probe that tries whether a shoot answers.
func ReachabilityOf(shoot string) string { return "reachability of " + shoot }

// RevisionsOf is the name of the probe that watches a shoot as a long-lived client.
func RevisionsOf(shoot string) string { return "resource versions of " + shoot }

// WriterTo is the name of the load of a shoot.
func WriterTo(shoot string) string { return "writer to " + shoot }

// ReaderOf is the name of the probe that reads what the load of a shoot writes.
func ReaderOf(shoot string) string { return "reader of " + shoot }

// CachedReaderOf is the name of the probe that stays at the first address of a shoot.
func CachedReaderOf(shoot string) string { return "cached reads of " + shoot }

// StateOfSeeds is the name of the probe that follows the Seeds in the garden.
const StateOfSeeds = "state of the seeds"
