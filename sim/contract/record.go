// Package contract judges whether an extension keeps the contract between gardenlets and extensions
// (docs/contract.md), by the record of what the extension has written and of what was there afterwards.
//
// It starts nothing and asks nobody: cmd/transplant/contract plays the gardenlet and makes the record.
package contract

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Evidence is what is known of an extension and one of its kinds.
type Evidence struct {
	Kind string
	Type string
	// StateMayChange says that status.state may rightly be something else after a move.
	StateMayChange bool
	// HasExternal says that objects of the kind stand for something outside, by their nature.
	HasExternal bool
	// WithoutShoot says that objects of the kind are migrated after the API server of the shoot has stopped.
	WithoutShoot bool
	// Stays says that objects of the kind belong to a seed, and are not migrated.
	Stays bool
	// Wait is how long a gardenlet waits for an answer (docs/specification/extensions.md#spec-3-5).
	Wait time.Duration
	// Seeds are what only the source has: its name and the address of its API server.
	Seeds []string
	// Walks by name. Each has a namespace of its own.
	Walks map[string]*Walk
	// CrashSteps are those in which crashes were to be tried.
	CrashSteps []string
	// Crashes are the crash points of the kind.
	Crashes []Crash
}

// walkFor is the clause that needs a walk; the whole life of an object is for all others.
var walkFor = map[string]string{Never: "B12", Back: "A12", Foreign: "A8", NoSeed: "G4", Short: ByCrashes, Touched: "A3",
	Deleting: "A9", Failed: "A13", Bare: "B11", Early: "C1", Lost: "D4", Refused: "E2", Stuck: "F1"}

// Needs says whether one of the clauses needs a walk.
func Needs(clauses []Clause, walk string) bool {
	return walk == Clean || slices.ContainsFunc(clauses, func(c Clause) bool { return c.ID == walkFor[walk] })
}

// Takes are those of the steps that are asked for of the kind.
func (e *Evidence) Takes(steps []string) []string {
	return slices.DeleteFunc(slices.Clone(steps), func(s string) bool {
		return e.Stays && !slices.Contains([]string{Create, Reconcile, Delete}, s)
	})
}

// Walks of a kind.
const (
	Clean   = "clean"   // the whole life of an object, undisturbed
	Never   = "never"   // migrated before it was ever reconciled
	Back    = "back"    // restored where it was migrated
	Foreign = "foreign" // an object of another type
	NoSeed  = "no-seed" // a Cluster without a seed
	Short   = "short"   // created and deleted

	Touched  = "touched"  // its status changes without a request
	Deleting = "deleting" // to be migrated while it is deleted
	Failed   = "failed"   // the Shoot of its Cluster has Failed
	Bare     = "bare"     // migrated while the cloud refuses the credentials
	Early    = "early"    // restored from the state after the first reconcile
	Lost     = "lost"     // restored without a state
	Refused  = "refused"  // deleted after a restore that the cloud has refused
	Stuck    = "stuck"    // stuck in a reconcile on the source while the destination restores
)

// WalkSteps are the steps of each walk, in order.
var WalkSteps = map[string][]string{
	Clean: {Create, Reconcile, Migrate, AfterMigrate, ReconcileAgain, MigrateAgain, DeleteSource, WaitForState, Restore,
		RestoreAgain, ReconcileAfter, Delete},
	Never:   {Migrate},
	Back:    {Create, Migrate, Restore},
	Foreign: {Create},
	NoSeed:  {Create},
	Short:   {Create, Delete},

	Touched:  {Create, ChangeStatus},
	Deleting: {Create, MigrateDeleted},
	Failed:   {Create, ReconcileFailed, Recovered},
	Bare:     {Create, MigrateRefused},
	Early:    {Create, Migrate, DeleteSource, WaitForState, Restore},
	Lost:     {Create, Migrate, DeleteSource, WaitForState, RestoreLost},
	Refused:  {Create, Migrate, DeleteSource, WaitForState, RestoreRefused, Delete},
	Stuck:    {CreateStuck, WaitForState, Restore, Thaw},
}

// Walk is what was asked for one object, in order.
type Walk struct {
	Name      string
	Namespace string
	Steps     []*Step
	// Ended says why the walk ended before its last step; empty if it did not.
	Ended string
}

// Step finds the step of a name; nil if the walk did not come so far.
func (w *Walk) Step(name string) *Step {
	if w == nil {
		return nil
	}
	for _, s := range w.Steps {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Steps of walks.
const (
	Create         = "create"          // on the source, with a request to reconcile
	Reconcile      = "reconcile"       // the same request again
	Migrate        = "migrate"         //
	AfterMigrate   = "after-migrate"   // nothing is asked for a while
	ReconcileAgain = "reconcile-again" // a request to reconcile what was migrated
	MigrateAgain   = "migrate-again"   // with a new timestamp
	DeleteSource   = "delete-source"   // the object, not what it stands for
	WaitForState   = "wait-for-state"  // on the destination
	Restore        = "restore"         //
	RestoreHelped  = "restore-helped"  // what did not end, again, with the source's providerStatus
	RestoreAgain   = "restore-again"   // with a new timestamp
	ReconcileAfter = "reconcile-after" // the first request after the restore
	Delete         = "delete"          // what it stands for, too

	ChangeStatus    = "change-status"    // a condition is added, and nothing asked for
	MigrateDeleted  = "migrate-deleted"  // the object is deleted, and a migrate asked for, before it can act
	ReconcileFailed = "reconcile-failed" // the Shoot has Failed, and a reconcile is asked for
	Recovered       = "recovered"        // the Shoot has Failed no more, and a reconcile is asked for again
	MigrateRefused  = "migrate-refused"  // the cloud refuses all requests for the object
	RestoreLost     = "restore-lost"     // no state was handed over; an error is an answer
	RestoreRefused  = "restore-refused"  // the cloud refuses all requests for the object; an error is an answer
	CreateStuck     = "create-stuck"     // the same
	Thaw            = "thaw"             // on the source: the cloud refuses no more, and nothing is asked for
)

// Step is one request to the extension, with all that happened until the next.
type Step struct {
	Name string
	// Before is the object when it was asked, After when the step ended. Gone means that there is none.
	Before, After Snapshot
	// Handed is the status.state that a gardenlet has written before it asked to restore; nil for none.
	Handed json.RawMessage
	// Settled is what the step came to when it had been quiet for a while after it: After, Items and machines. Nil if
	// nobody looked.
	Settled *Step
	// Writes of the extension to the API server and to the cloud, in order, until the next request.
	Writes []Write
	// Calls that changed the cloud, for this object.
	Calls []Call
	// Refused are calls for this object that the cloud has refused, and that would have changed it. Those of an older
	// epoch are not among them: an extension says its epoch so that they are refused.
	Refused []Call `json:",omitempty"`
	// Unscoped are calls that changed the cloud or were refused at the same time, and may be for this object or for
	// another: they do not say for which shoot they are, or its Infrastructure was in work.
	Unscoped int
	// CloudRequests counts all requests to the cloud for this object, those that only read included.
	CloudRequests int
	// Items are the objects of the namespace that the extension has written, when the step ended. Nil if nobody looked.
	Items []Item
	// Machines of the namespace, in order: name, provider ID and node of each. Nil if nobody looked.
	Machines []string
	// MachinesSeen are all machines that have been in the namespace of the destination until the step ended, gone ones,
	// too. Nil on the source, and if nobody looked.
	MachinesSeen []string
	// Persisted are digests of the Secrets with persist=true, by name. Nil if nobody looked.
	Persisted map[string]string
	// Managed are the ManagedResources of the empty class that were there, as they were last.
	Managed []Managed
	Took    time.Duration
	// Missing is what was still missing when nobody waited any longer; empty if the extension has answered.
	Missing string
}

// Written counts the writes that were carried out.
func (s *Step) Written() int {
	n := 0
	for _, w := range s.Writes {
		if w.Took {
			n++
		}
	}
	return n
}

// Item is an object in the namespace of a shoot.
type Item struct {
	Resource  string // with its group, such as secrets or scrapeconfigs.monitoring.coreos.com
	Name      string
	Persisted bool // a Secret with persist=true
}

// Managed is a ManagedResource.
type Managed struct {
	Name        string
	KeepObjects bool
	Deleted     bool
}

// Write is a request that may change what is stored.
type Write struct {
	Cloud       bool
	Verb        string
	Resource    string // in the plural; the path, of the cloud
	Subresource string
	Namespace   string // empty for what has none
	Name        string
	// Took says that the server has carried it out.
	Took bool
	// Own says that it is the object itself.
	Own bool
	// After is the object after it; nil if it is neither the object itself nor a Secret, or the answer does not have it.
	After *Snapshot
	// Content is the digest of a Secret after it, but for its finalizers. Empty for all else.
	Content string `json:",omitempty"`
}

// releases says that a write has taken finalizers off a Secret and changed nothing else, as far as the earlier ones
// show.
func (w Write) releases(earlier []Write) bool {
	for _, before := range slices.Backward(earlier) {
		if before.Content == "" || before.Namespace != w.Namespace || before.Name != w.Name {
			continue
		}
		return before.Content == w.Content && len(w.After.Finalizers) < len(before.After.Finalizers)
	}
	return false
}

// String is the write in a few words.
func (w Write) String() string {
	text := w.Verb + " " + w.Resource
	if w.Name != "" {
		text += "/" + w.Name
	}
	if w.Subresource != "" {
		text += "/" + w.Subresource
	}
	if w.Cloud {
		text += " in the cloud"
	}
	return text
}

// way is the write without names.
func (w Write) way() string {
	if w.Name = ""; w.Cloud { // the path ends with an id
		parts := strings.SplitN(w.Resource, "/", 3)
		w.Resource = strings.Join(parts[:min(len(parts), 2)], "/")
	}
	return w.String()
}

// Call is a call that has changed the cloud, or was refused.
type Call struct {
	Identity string // whose it was
	Verb     string
	Kind     string
	ID       string
	Before   bool   // there was something of the id before it
	After    bool   // there is something of the id after it
	Refused  string `json:",omitempty"` // the code with which it was refused; empty if it was carried out
}

// String is the call in a few words.
func (c Call) String() string {
	text := c.Verb + " " + c.Kind
	if c.ID != "" { // what would be created has none
		text += "/" + c.ID
	}
	return text + c.refusal()
}

func (c Call) way() string { return c.Verb + " " + c.Kind + c.refusal() }

func (c Call) refusal() string {
	if c.Refused == "" {
		return ""
	}
	return " (refused: " + c.Refused + ")"
}

// Snapshot is what an object says at a moment.
type Snapshot struct {
	Gone        bool
	Operation   string // the request
	Deleting    bool
	Finalizers  []string
	Generation  int64
	Observed    int64
	LastType    string
	LastState   string
	LastUpdated string
	LastError   string
	State       json.RawMessage
	Resources   json.RawMessage
	// Results are the provider status and all else of the status that is neither progress nor state nor a condition nor
	// a time.
	Results json.RawMessage
}

// Look reads an object as an API server answers it.
func Look(object map[string]any) Snapshot {
	metadata, status := within(object, "metadata"), within(object, "status")
	s := Snapshot{Deleting: metadata["deletionTimestamp"] != nil, Generation: number(metadata["generation"]),
		Observed: number(status["observedGeneration"])}
	s.Operation, _ = within(metadata, "annotations")["gardener.cloud/operation"].(string)
	finalizers, _ := metadata["finalizers"].([]any)
	for _, one := range finalizers {
		if text, is := one.(string); is {
			s.Finalizers = append(s.Finalizers, text)
		}
	}
	last, failed := within(status, "lastOperation"), within(status, "lastError")
	s.LastType, _ = last["type"].(string)
	s.LastState, _ = last["state"].(string)
	s.LastUpdated, _ = last["lastUpdateTime"].(string)
	s.LastError, _ = failed["description"].(string)
	s.State, s.Resources = inJSON(status["state"]), inJSON(status["resources"])
	results := map[string]any{}
	for key, value := range status {
		switch key {
		case "lastOperation", "lastError", "observedGeneration", "conditions", "state", "resources",
			"machineDeploymentsLastUpdateTime":
		default:
			results[key] = value
		}
	}
	s.Results = inJSON(results)
	return s
}

func within(object map[string]any, key string) map[string]any {
	inner, _ := object[key].(map[string]any)
	return inner
}

func number(value any) int64 {
	switch n := value.(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}

// inJSON is a value with its keys in order, so that equal values are equal texts; nil for none.
func inJSON(value any) json.RawMessage {
	if value == nil {
		return nil
	}
	content, err := json.Marshal(value)
	if err != nil {
		return nil // it came from JSON
	}
	return content
}

// Succeeded says that the last operation is of that type and has succeeded.
func (s Snapshot) Succeeded(ofType string) bool {
	return s.LastType == ofType && s.LastState == succeeded
}

// Restores says that a restore is in work.
func (s Snapshot) Restores() bool { return s.LastType == typeRestore && s.LastState == processing }

// Types and states of operations, as in the API.
const (
	typeMigrate   = "Migrate"
	typeRestore   = "Restore"
	typeReconcile = "Reconcile"
	typeCreate    = "Create"
	succeeded     = "Succeeded"
	processing    = "Processing"
	failed        = "Error"
)
