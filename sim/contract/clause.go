package contract

import (
	"cmp"
	"crypto/sha256"
	_ "embed" // the table of clauses
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

// Outcome of a clause for a kind.
type Outcome string

// Outcomes. Nothing is Conformant that was not seen.
const (
	Conformant    Outcome = "Conformant"
	NonConformant Outcome = "NonConformant"
	// Unknown says that the record does not show it, though the clause applies.
	Unknown Outcome = "Unknown"
	// NotApplicable says that the extension has nothing that the clause is about.
	NotApplicable Outcome = "NotApplicable"
	// NotJudged is for clauses that this version of the kit cannot see.
	NotJudged Outcome = "NotJudged"
	// Expected is what is NonConformant and known to be, and a report in which nothing else is wrong.
	Expected Outcome = "Expected"
	// Noted is what is NonConformant with a clause that counts for no result.
	Noted Outcome = "Noted"
)

// Finding is what was found about a clause.
type Finding struct {
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"`
	// Way in which a clause is broken: the reason with … for what differs from object to object. It keeps steps, verbs,
	// kinds and what is missing.
	Way string `json:"way,omitempty"`
	// Plan is the path of a file that shows it again; empty if there is none.
	Plan string `json:"plan,omitempty"`
	// Expected is the reason for which the clause is known to be broken (ExpectedFailure); empty if that was not expected.
	Expected string `json:"expected,omitempty"`
	// Open says what the record does not show of a clause that is broken elsewhere.
	Open string `json:"open,omitempty"`
	// Points are those of the clause that is judged by crashes, each once.
	Points []PointFinding `json:"points,omitempty"`
	// Aside is that of the clause.
	Aside string `json:"aside,omitempty"`
}

// PointFinding is what was found at a crash point.
type PointFinding struct {
	Point string `json:"point"`
	// Step and Writes are those of the Crash.
	Step   string `json:"step"`
	Writes int    `json:"writes"`
	Finding
}

var conforms = Finding{Outcome: Conformant}

// breaks is a finding of what breaks a clause. Its Way has texts as they are, the way of what has one, and no other
// arguments, such as numbers.
func breaks(format string, arguments ...any) Finding {
	ways := make([]any, len(arguments))
	for i, argument := range arguments {
		switch a := argument.(type) {
		case string:
			ways[i] = a
		case interface{ way() string }:
			ways[i] = a.way()
		default:
			ways[i] = dots{}
		}
	}
	return Finding{Outcome: NonConformant, Reason: fmt.Sprintf(format, arguments...), Way: fmt.Sprintf(format, ways...)}
}

// dots stand for an argument, whatever its verb is.
type dots struct{}

// Format implements fmt.Formatter.
func (dots) Format(to fmt.State, _ rune) { fmt.Fprint(to, "…") }

// varies is a text that differs from object to object, such as a name or a state.
type varies string

func (varies) way() string { return "…" }

// lack is what a gardenlet still waits for. It is what was seen last, and differs from time to time.
type lack string

func (lack) way() string { return "the wait does not end" }

// listed is a text with its way.
type listed struct{ text, ways string }

func (l listed) String() string { return l.text }
func (l listed) way() string    { return l.ways }

func unknown(format string, arguments ...any) Finding {
	return Finding{Outcome: Unknown, Reason: fmt.Sprintf(format, arguments...)}
}

func noMatter(format string, arguments ...any) Finding {
	return Finding{Outcome: NotApplicable, Reason: fmt.Sprintf(format, arguments...)}
}

// Clause is a duty of an extension.
type Clause struct {
	// ID stays: docs/contract.md has an anchor for it.
	ID string `json:"id"`
	// Text is the sentence of docs/contract.md.
	Text string `json:"text"`
	// How says by what it is judged, or why it is not.
	How string `json:"how"`
	// Profile is the part of a published report that it counts for, one of Profiles.
	Profile string `json:"profile"`
	// Incident is what went wrong without it; empty if none is known.
	Incident string `json:"incident,omitempty"`
	// Aside says why the clause counts for no result, such as recommended; empty if it counts.
	Aside string `json:"aside,omitempty"`
}

// Profiles are the parts of a published report.
var Profiles = []string{"Core", "State", "Lifecycle", "SplitBrain"}

// judges are the functions that judge a clause by the record. Clauses without one are not judged.
var judges = map[string]func(*Evidence) Finding{
	"A1":  waitsForState,
	"A2":  usesState,
	"A3":  needsRequest,
	"A4":  answersFirst,
	"A5":  keepsRequest,
	"A6":  observes,
	"A7":  namesOperation,
	"A8":  ignoresOthers,
	"A9":  migratesDeleted,
	"A10": leavesAlone,
	"A11": goesAtOnce,
	"A12": comesBack,
	"A13": waitsForFailed,
	"A14": repeats,
	"B1":  cloudStays,
	"B3":  keepsObjects,
	"B4":  leavesNothing,
	"B5":  keepsPersisted,
	"B6":  dropsFinalizers,
	"B7":  inOrder,
	"B8":  silentAfterwards,
	"B9":  stateStays,
	"B10": withoutShoot,
	"B11": withoutCloud,
	"B12": neverReconciled,
	"B13": inTime,
	"B17": survivesCrashes,
	"C1":  earlyState,
	"C2":  stableState,
	"C3":  nothingOfSeed,
	"C5":  withoutProviderStatus,
	"D1":  createsNothing,
	"D2":  finalizerFirst,
	"D3":  sameResults,
	"D4":  withoutState,
	"D5":  sameMachines,
	"D9":  restoresTwice,
	"D10": reconcilesQuietly,
	"D13": namesRestore,
	"E1":  removesAll,
	"E2":  deletesAfterError,
	"E3":  sourceNeverDeletes,
	"F1":  staysStuck,
	"G3":  withoutGarden,
	"G4":  withoutSeed,
}

//go:embed clauses.yaml
var clauseTable []byte

// Clauses are all, in the order of docs/contract.md.
var Clauses = sync.OnceValue(func() []Clause {
	var all []Clause
	if err := yaml.UnmarshalStrict(clauseTable, &all); err != nil {
		panic(fmt.Sprintf("read clauses.yaml: %v", err)) // it is part of the program
	}
	return all
})

// ClausesDigest is the SHA-256 sum of all clauses with what they are judged by.
func ClausesDigest() string {
	sum := sha256.Sum256(clauseTable)
	return hex.EncodeToString(sum[:])
}

// IsJudged says whether the kit judges the clause.
func (c Clause) IsJudged() bool { return judges[c.ID] != nil }

// Reference is where the sentence is written, in the repository.
func (c Clause) Reference() string { return "docs/contract.md" + "#clause-" + strings.ToLower(c.ID) }

// ClauseByID finds a clause; its id may be written in small letters.
func ClauseByID(id string) (Clause, bool) {
	all := Clauses()
	i := slices.IndexFunc(all, func(c Clause) bool { return strings.EqualFold(c.ID, id) })
	if i < 0 {
		return Clause{}, false
	}
	return all[i], true
}

// step finds a step, or says why there is none. A step without an answer is none to judge by.
func (e *Evidence) step(walk, name string) (*Step, *Finding) {
	w := e.Walks[walk]
	s := w.Step(name)
	switch {
	case s != nil && s.Missing == "":
		return s, nil
	case s != nil:
		return s, new(unknown("%s was not answered: %s", name, s.Missing))
	case w == nil:
		return nil, new(unknown("it was not tried"))
	}
	return nil, new(unknown("%s was not reached: %s", name, cmp.Or(w.Ended, "the walk ended before")))
}

// steps finds several steps of the undisturbed walk; the finding is about the first that is missing.
func (e *Evidence) steps(names ...string) ([]*Step, *Finding) {
	var found []*Step
	for _, name := range names {
		s, missing := e.step(Clean, name)
		if missing != nil {
			return nil, missing
		}
		found = append(found, s)
	}
	return found, nil
}

// tried are those steps of the undisturbed walk that were asked for, answered or not. What breaks a clause in one that
// was not answered breaks it all the same.
func (e *Evidence) tried(names ...string) []*Step {
	var found []*Step
	for _, name := range names {
		if s := e.Walks[Clean].Step(name); s != nil {
			found = append(found, s)
		}
	}
	return found
}

// external is nil if the object has something in the cloud that the record shows, and it is known for which object all
// calls of the judged steps were.
func (e *Evidence) external(judged ...string) *Finding {
	if _, missing := e.step(Clean, Create); missing != nil {
		return missing
	}
	all := e.Walks[Clean].Steps
	calls := slices.ContainsFunc(all, func(s *Step) bool { return len(s.Calls) > 0 })
	if calls {
		all = e.tried(judged...)
	}
	switch f := scoped(all...); {
	case f.Outcome != Conformant:
		return &f
	case calls:
		return nil
	case e.HasExternal:
		return new(unknown("no call of the simulated cloud was seen; calls past it are not seen"))
	}
	return new(noMatter("no call of the simulated cloud was seen; calls past it are not seen"))
}

// seen is Conformant if all steps were answered; no break was found in them.
func (e *Evidence) seen(names ...string) Finding {
	if _, missing := e.steps(names...); missing != nil {
		return *missing
	}
	return conforms
}

// scoped is Conformant if it is known for which object all calls of the cloud were, in steps in which no break was
// found.
func scoped(steps ...*Step) Finding {
	without := 0
	for _, s := range steps {
		without += s.Unscoped
	}
	if without > 0 {
		return unknown("%d calls that changed the cloud, or were refused, may be for another object", without)
	}
	return conforms
}

// others are the writes to what is not the object itself.
func (s *Step) others() []Write {
	var found []Write
	for _, w := range s.Writes {
		if !w.Own && w.Took {
			found = append(found, w)
		}
	}
	return found
}

// own are the writes to the object itself whose answer was seen.
func (s *Step) own() []Write {
	var found []Write
	for _, w := range s.Writes {
		if w.Own && w.Took && w.After != nil {
			found = append(found, w)
		}
	}
	return found
}
