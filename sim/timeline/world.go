package timeline

import (
	"slices"
	"strings"
)

// ShootSeen is the state of a Shoot in the garden, noted whenever any of it has changed.
type ShootSeen struct {
	Absent          bool          `json:"absent,omitempty"` // there is none of this name
	UID             string        `json:"uid,omitempty"`
	TechnicalID     string        `json:"technicalID,omitempty"`
	ClusterIdentity string        `json:"clusterIdentity,omitempty"`
	SpecSeed        string        `json:"specSeed,omitempty"`
	StatusSeed      string        `json:"statusSeed,omitempty"`
	WantsToSleep    bool          `json:"wantsToSleep,omitempty"` // spec.hibernation.enabled
	Hibernated      bool          `json:"hibernated,omitempty"`
	Deleting        bool          `json:"deleting,omitempty"`
	Operation       Operation     `json:"operation"`
	Errors          []string      `json:"errors,omitempty"`
	Conditions      []ConditionIs `json:"conditions,omitempty"`
	Unmodelled      string        `json:"unmodelled,omitempty"` // what no type of ours knows of its spec, in JSON
}

// Kind of ShootSeen.
func (ShootSeen) Kind() Kind { return "ShootSeen" }

// HandedOver is the seed that has just released a shoot: its Migrate has succeeded, for another seed. It is empty if
// none has. Before and now are two states of the shoot, one after the other. In a forced move no source releases it.
func HandedOver(before, now ShootSeen) (source string) {
	done := Operation{Type: "Migrate", State: "Succeeded"}
	same := func(o Operation) bool { return o.Type == done.Type && o.State == done.State }
	if now.Absent || !same(now.Operation) || same(before.Operation) && before.StatusSeed == now.StatusSeed {
		return ""
	}
	if before.StatusSeed == now.SpecSeed { // bound back to it
		return ""
	}
	return before.StatusSeed
}

// Operation is a lastOperation.
type Operation struct {
	Type        string `json:"type,omitempty"`
	State       string `json:"state,omitempty"`
	Progress    int    `json:"progress,omitempty"`
	Description string `json:"description,omitempty"`
}

// ConditionIs is one condition or constraint.
type ConditionIs struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	// Reason and Message are its own, left out of one that is True. One that is handed over to another seed keeps those it
	// had.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Why it is not True: its reason and its message on one line, as far as they are known.
func (c ConditionIs) Why() string {
	message := strings.Join(strings.Fields(c.Message), " ")
	if c.Reason == "" || message == "" {
		return c.Reason + message
	}
	return c.Reason + ": " + message
}

// SeedSeen is the state of a Seed in the garden, noted whenever any of it has changed; the subject is the seed.
type SeedSeen struct {
	Absent     bool          `json:"absent,omitempty"` // it was deleted
	UID        string        `json:"uid,omitempty"`
	Deleting   bool          `json:"deleting,omitempty"`
	Conditions []ConditionIs `json:"conditions,omitempty"`
}

// Gardenlet says whether this is the status of GardenletReady, which is Unknown for a seed that the garden does not
// hear of any more (docs/ownership.md#spec-9-4).
func (s SeedSeen) Gardenlet(status string) bool {
	return slices.ContainsFunc(s.Conditions, func(c ConditionIs) bool {
		return c.Type == "GardenletReady" && c.Status == status
	})
}

// Kind of SeedSeen.
func (SeedSeen) Kind() Kind { return "SeedSeen" }

// EpochSeen is what one control plane of a shoot says about its ownership (docs/ownership.md#spec-9-1), asked past
// every link. The subject is the shoot.
type EpochSeen struct {
	Seed      string `json:"seed"`
	Epoch     int64  `json:"epoch"`
	State     string `json:"state"`     // of the guard
	Remaining Length `json:"remaining"` // validity that was left
	Sent      Moment `json:"sent"`
	Answered  Moment `json:"answered"`
	// Revision of its store, read between Sent and Answered through its API server; 0 when it could not be read.
	Revision int64 `json:"revision,omitempty"`
	// Authority is the digest of the certificate authority by which the shoot's users know its API server.
	Authority string `json:"authority,omitempty"`
	// ShootUID is that of the Shoot which published the authority: the access of a deleted shoot outlives it for a while.
	// Empty when it is not known.
	ShootUID string `json:"shootUID,omitempty"`
}

// Kind of EpochSeen.
func (EpochSeen) Kind() Kind { return "EpochSeen" }

// NodeSeen is a node of a shoot, noted when it has changed or renewed its lease; the subject is the shoot.
type NodeSeen struct {
	Name       string `json:"name"`
	Gone       bool   `json:"gone,omitempty"`
	UID        string `json:"uid,omitempty"`
	BootID     string `json:"bootID,omitempty"`
	ProviderID string `json:"providerID,omitempty"`
	Ready      string `json:"ready,omitempty"` // status of the condition
	// Renewed is the lease's renewTime as the node wrote it, RFC 3339.
	Renewed string `json:"renewed,omitempty"`
}

// Kind of NodeSeen.
func (NodeSeen) Kind() Kind { return "NodeSeen" }

// PodSeen is a pod of the workload, noted when it has changed; the subject is the shoot.
type PodSeen struct {
	Name     string `json:"name"`
	Gone     bool   `json:"gone,omitempty"`
	UID      string `json:"uid,omitempty"`
	Node     string `json:"node,omitempty"`
	Phase    string `json:"phase,omitempty"`
	Restarts int    `json:"restarts,omitempty"`
	Deleting bool   `json:"deleting,omitempty"`
}

// Kind of PodSeen.
func (PodSeen) Kind() Kind { return "PodSeen" }

// ObjectsSeen is every object that a shoot serves, at one look; the subject is the shoot. Left out are what expires
// by itself, the Leases by which API servers say that they live, and the ConfigMaps of the load.
type ObjectsSeen struct {
	// Version is the resource version of the shoot's store.
	Version int64 `json:"version"`
	// Resources are those that were read to their end, also those without an object.
	Resources []ResourceSeen `json:"resources"`
	// Unreadable are parts that could not be discovered or listed: nothing is known of them.
	Unreadable []string `json:"unreadable,omitempty"`
}

// Kind of ObjectsSeen.
func (ObjectsSeen) Kind() Kind { return "ObjectsSeen" }

// ResourceSeen are the objects of one resource.
type ResourceSeen struct {
	Class   string       `json:"class"` // resource.group
	Kind    string       `json:"kind"`
	Objects []ObjectSeen `json:"objects,omitempty"`
}

// ObjectSeen is one object of a shoot.
type ObjectSeen struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Says is the digest of what it says, without its status and without heartbeats.
	Says string `json:"says"`
	// Owners are the UIDs of its owners.
	Owners []string `json:"owners,omitempty"`
	// Node is where a pod runs, or what else is bound to a node.
	Node string `json:"node,omitempty"`
	// Managed says that Gardener keeps it as it is: a ManagedResource does, or it has a role.
	Managed  bool `json:"managed,omitempty"`
	Deleting bool `json:"deleting,omitempty"`
}

// ExtensionSeen is an object that an extension has brought into a shoot. Runs of today record ObjectsSeen instead; the
// kind is kept so that older timelines can be read.
type ExtensionSeen struct {
	Name string `json:"name"` // with its kind, such as ConfigMap extension-transplant
	Gone bool   `json:"gone,omitempty"`
	UID  string `json:"uid,omitempty"`
	// Holds is the digest of what it says.
	Holds string `json:"holds,omitempty"`
}

// Kind of ExtensionSeen.
func (ExtensionSeen) Kind() Kind { return "ExtensionSeen" }

// ExtensionStateSeen is what an object of a third-party extension says on a seed, noted when it has changed. The
// subject is the shoot.
type ExtensionStateSeen struct {
	Seed   string `json:"seed"`
	Object string `json:"object"` // with its kind, such as Extension vault
	Gone   bool   `json:"gone,omitempty"`
	UID    string `json:"uid,omitempty"`
	// Operation is the last one: its type and its state.
	Operation Operation `json:"operation,omitzero"`
	// Asked is the operation that its annotation asks for, such as migrate: empty once the extension has taken that up,
	// and in timelines older than this field.
	Asked string `json:"asked,omitempty"`
	// Error is the beginning of what its extension says of it in status.lastError, empty while there is none. It is not
	// noted again if only words with digits change, as times and the ids of requests do.
	Error string `json:"error,omitempty"`
	// Holds is the digest of status.state, empty while there is none. Where the state may rightly be another one after a
	// move it is left out, and Uncompared is true.
	Holds      string `json:"holds,omitempty"`
	Uncompared bool   `json:"uncompared,omitempty"`
}

// Kind of ExtensionStateSeen.
func (ExtensionStateSeen) Kind() Kind { return "ExtensionStateSeen" }

// CloudCalled is an entry of the cloud's ledger: one mutating call, refused ones included. The actor is the caller's
// identity, the subject the technical id of the shoot it was made for, or empty.
type CloudCalled struct {
	Number int64  `json:"number"` // in the ledger
	Epoch  int64  `json:"epoch,omitempty"`
	Verb   string `json:"verb"`
	What   string `json:"what"` // kind of resource
	ID     string `json:"id,omitempty"`
	Name   string `json:"name,omitempty"`
	// Values are what a DNS record leads to after the call, or the claim that a volume was made for.
	Values  []string `json:"values,omitempty"`
	Outcome string   `json:"outcome"` // OK, Replayed, or the code of the refusal
	Took    bool     `json:"took,omitempty"`
	Fault   string   `json:"fault,omitempty"`
	// Made is when the cloud took it down, which is before it was read.
	Made Moment `json:"made"`
}

// Kind of CloudCalled.
func (CloudCalled) Kind() Kind { return "CloudCalled" }

// InventorySeen is everything there is in one place; the subject is the seed, or the place.
type InventorySeen struct {
	When string `json:"when"`
	// Shoot whose control-plane namespace it is, and nothing else of the seed; empty for everything.
	Shoot string `json:"shoot,omitempty"`
	Items []Item `json:"items"`
	// Unreadable are parts that could not be listed: nothing is known of them.
	Unreadable []string `json:"unreadable,omitempty"`
}

// Times of an inventory.
const (
	Before = "before"
	After  = "after"
	// Left is when a shoot's source has released it, and still has the control-plane namespace.
	Left = "left"
)

// Kind of InventorySeen.
func (InventorySeen) Kind() Kind { return "InventorySeen" }

// LoadNamespace is where loads write in every shoot, and where its workload runs.
const LoadNamespace = "transplant-load"

// Item is one thing of an inventory: an object of an API, a process, a folder, a bucket, a DNS record.
type Item struct {
	Class     string `json:"class"` // resource.group, or process, folder, bucket, record, …
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
	// Owner is the UID of the controlling object, if any.
	Owner string `json:"owner,omitempty"`
	// Mentions are technical ids of shoots that stand in its name, namespace, labels or annotations.
	Mentions []string `json:"mentions,omitempty"`
	// Managers are those who have written the object, by its managed fields. They are given for what is in a control-plane
	// namespace and for what is in none. Persisted says that an object of such a namespace is labelled to move with the
	// shoot.
	Managers  []string `json:"managers,omitempty"`
	Persisted bool     `json:"persisted,omitempty"`
}

// CloudLedger is the name of the probe that reads the cloud's ledger.
const CloudLedger = "cloud ledger"

// Inventory is the name of the last look at everything in the seeds and the cloud.
const Inventory = "inventory"

// NodesOf is the name of the probe that looks at a shoot's nodes.
func NodesOf(shoot string) string { return "nodes of " + shoot }

// WorkloadOf is the name of the probe that looks at a shoot's pods.
func WorkloadOf(shoot string) string { return "workload of " + shoot }

// ObjectsOf is the name of the look at everything in a shoot.
func ObjectsOf(shoot string) string { return "objects of " + shoot }

// Kind of Unseen.
func (Unseen) Kind() Kind { return "Unseen" }

// Unseen says that a probe could not see: what it would have recorded is unknown, not false.
type Unseen struct {
	Probe string `json:"probe"`
	Error string `json:"error"`
	// Final says that it was the last look: there will be no other.
	Final bool `json:"final,omitempty"`
}
