package expression

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Snapshot is the world at one moment, as far as expressions can ask for it.
type Snapshot struct {
	Shoots map[string]Shoot `json:"shoots,omitempty"`
	Seeds  map[string]Seed  `json:"seeds,omitempty"`
	Cloud  *Cloud           `json:"cloud,omitempty"` // nil if nobody has asked for it: it is unknown then
}

// NotAsked is why something is unknown that nobody has asked for.
const NotAsked = "not asked for"

// Unknown says why fields, by their name in expressions, could not be read; "*" stands for all that are not named. One
// that is named without a reason could be read.
type Unknown map[string]string

// Shoot is what shoot('name') gives.
type Shoot struct {
	Unknown Unknown `json:"unknown,omitempty"`
	// Exists is whether there is such a Shoot. Of one that is not there, all else is empty.
	Exists bool `cel:"exists" json:"exists,omitempty"`
	// Seed is status.seedName: the seed that holds the control plane.
	Seed string `cel:"seed" json:"seed,omitempty"`
	// SpecSeed is spec.seedName: the seed that shall hold it.
	SpecSeed string `cel:"specSeed" json:"specSeed,omitempty"`
	// Healthy: its last operation has succeeded, it is on the seed and as awake as its spec wants, what its spec asks for
	// is observed, and every condition is there and True, those of users' own controllers too; constraints do not count.
	Healthy bool `cel:"healthy" json:"healthy,omitempty"`
	// Problems are why it is not healthy, but for what its last operation says. They are for people: no expression has
	// them.
	Problems []string `json:"problems,omitempty"`
	// Answers is whether its API server, by its public name, answers a user; not to answer is not to do so three times in
	// a row, in a second each.
	Answers bool `cel:"answers" json:"answers,omitempty"`
	// AnswerTimes are how long each of forty answers to a user takes, over eight connections to its public name, such as
	// duration('75ms'); one that takes longer than two seconds counts as two; they are unknown after five seconds.
	AnswerTimes Durations `cel:"answerTimes" json:"answerTimes,omitempty"`
	// Hibernated is status.hibernated: it sleeps.
	Hibernated bool `cel:"hibernated" json:"hibernated,omitempty"`
	// Deleting is whether its deletion was asked for.
	Deleting bool `cel:"deleting" json:"deleting,omitempty"`
	// LastOperation is status.lastOperation.
	LastOperation Operation `cel:"lastOperation" json:"lastOperation,omitzero"`
	// LastErrors are the descriptions in status.lastErrors.
	LastErrors []string `cel:"lastErrors" json:"lastErrors,omitempty"`
	// ErrorCodes are those of its last errors, sorted.
	ErrorCodes []string `cel:"errorCodes" json:"errorCodes,omitempty"`
	// Warnings are the reasons of its events of type Warning, sorted.
	Warnings []string `cel:"warnings" json:"warnings,omitempty"`
	// Conditions are the statuses of its conditions, by type, such as conditions['EveryNodeReady'].
	Conditions map[string]string `cel:"conditions" json:"conditions,omitempty"`
	// Constraints are the statuses of its constraints, by type, such as constraints['HibernationPossible'].
	Constraints map[string]string `cel:"constraints" json:"constraints,omitempty"`
	// Reasons are those of its conditions and constraints, by type.
	Reasons map[string]string `cel:"reasons" json:"reasons,omitempty"`
	// TechnicalID is the name of its control plane's namespace.
	TechnicalID string `cel:"technicalID" json:"technicalID,omitempty"`
	// Status is the label shoot.gardener.cloud/status.
	Status string `cel:"status" json:"status,omitempty"`
	// Epoch is the owner epoch in the garden's claim, 0 without one. It goes on from that of an earlier shoot of the name.
	Epoch int `cel:"epoch" json:"epoch,omitempty"`
	// State is what is kept of it in the garden.
	State State `cel:"state" json:"state,omitzero"`
	// Kubernetes is spec.kubernetes.version.
	Kubernetes string `cel:"kubernetes" json:"kubernetes,omitempty"`
	// Maintenance is the last one.
	Maintenance Maintenance `cel:"maintenance" json:"maintenance,omitzero"`
	// PendingInPlace are the pools whose update in place is not done, sorted.
	PendingInPlace []string `cel:"pendingInPlace" json:"pendingInPlace,omitempty"`
	// Rotated are the credentials whose last rotation is complete, such as sshKeypair, sorted.
	Rotated []string `cel:"rotated" json:"rotated,omitempty"`
	// Workers are its nodes, as its API server has them.
	Workers Workers `cel:"workers" json:"workers,omitzero"`
}

// Sampled is the field that an expectation can take several samples of, by its name in expressions.
const Sampled = "answerTimes"

// Join appends the samples of a later snapshot, and takes all else from it. A shoot without samples has none to join:
// then it is false, and both stay as they are.
func (s Snapshot) Join(later Snapshot) (Snapshot, bool) {
	joined := Snapshot{Shoots: map[string]Shoot{}, Seeds: later.Seeds, Cloud: later.Cloud}
	for name, shoot := range later.Shoots {
		if len(shoot.AnswerTimes) == 0 {
			return s, false
		}
		shoot.AnswerTimes = slices.Concat(s.Shoots[name].AnswerTimes, shoot.AnswerTimes)
		joined.Shoots[name] = shoot
	}
	return joined, len(joined.Shoots) > 0
}

// WithoutSamples has no samples of any shoot that is there, for the reason that is given.
func (s Snapshot) WithoutSamples(why string) Snapshot {
	without := Snapshot{Shoots: map[string]Shoot{}, Seeds: s.Seeds, Cloud: s.Cloud}
	for name, shoot := range s.Shoots {
		if shoot.AnswerTimes = nil; shoot.Exists {
			shoot.Unknown = maps.Clone(shoot.Unknown)
			if shoot.Unknown == nil {
				shoot.Unknown = Unknown{}
			}
			shoot.Unknown[Sampled] = why
		}
		without.Shoots[name] = shoot
	}
	return without
}

// Durations are strings such as "75ms" in records.
type Durations []time.Duration

// MarshalJSON writes the strings.
func (d Durations) MarshalJSON() ([]byte, error) {
	texts := make([]metav1.Duration, len(d))
	for i := range d {
		texts[i].Duration = d[i]
	}
	return json.Marshal(texts)
}

// UnmarshalJSON reads what MarshalJSON has written.
func (d *Durations) UnmarshalJSON(text []byte) error {
	var texts []metav1.Duration
	if err := json.Unmarshal(text, &texts); err != nil {
		return err
	}
	*d = nil
	for _, one := range texts {
		*d = append(*d, one.Duration)
	}
	return nil
}

// Maintenance is a lastMaintenance; empty before the first.
type Maintenance struct {
	Unknown Unknown `json:"unknown,omitempty"`
	// State is Processing, Succeeded or Failed.
	State string `cel:"state" json:"state,omitempty"`
	// Description is what was done.
	Description string `cel:"description" json:"description,omitempty"`
	// FailureReason is why something was not; empty if all was.
	FailureReason string `cel:"failureReason" json:"failureReason,omitempty"`
}

// Workers are the nodes of a shoot, and the workload on them.
type Workers struct {
	Unknown Unknown `json:"unknown,omitempty"`
	// All is how many nodes there are. One may be Ready, Cordoned and Waiting at once.
	All int `cel:"all" json:"all,omitempty"`
	// Ready is how many nodes are.
	Ready int `cel:"ready" json:"ready,omitempty"`
	// Cordoned is how many nodes take no new pods.
	Cordoned int `cel:"cordoned" json:"cordoned,omitempty"`
	// Waiting is how many nodes take no pods before their critical components are ready.
	Waiting int `cel:"waiting" json:"waiting,omitempty"`
	// Candidates is how many nodes may be updated in place.
	Candidates int `cel:"candidates" json:"candidates,omitempty"`
	// Selected is how many of the candidates were selected for it.
	Selected int `cel:"selected" json:"selected,omitempty"`
	// UpdateFailed is how many of these could not be updated.
	UpdateFailed int `cel:"updateFailed" json:"updateFailed,omitempty"`
	// Kubelets are the versions of kubelets that nodes have, sorted, each once.
	Kubelets []string `cel:"kubelets" json:"kubelets,omitempty"`
	// Images are the versions of machine images that nodes have, sorted, each once.
	Images []string `cel:"images" json:"images,omitempty"`
	// Pods is how many of the workload are not being deleted.
	Pods int `cel:"pods" json:"pods,omitempty"`
	// PodsOnCordoned is how many of these are on cordoned nodes.
	PodsOnCordoned int `cel:"podsOnCordoned" json:"podsOnCordoned,omitempty"`
}

// State is a ShootState with what it has in chunks.
type State struct {
	Unknown Unknown `json:"unknown,omitempty"`
	// Exists is whether there is one.
	Exists bool `cel:"exists" json:"exists,omitempty"`
	// Epoch of the owner that has saved it.
	Epoch int `cel:"epoch" json:"epoch,omitempty"`
	// Bytes of the whole, as it is kept.
	Bytes int `cel:"bytes" json:"bytes,omitempty"`
	// Chunks is how many objects hold a part of them.
	Chunks int `cel:"chunks" json:"chunks,omitempty"`
}

// Operation is a lastOperation.
type Operation struct {
	Unknown Unknown `json:"unknown,omitempty"`
	// Type is Create, Reconcile, Delete, Migrate or Restore.
	Type string `cel:"type" json:"type,omitempty"`
	// State is Processing, Succeeded, Error, Failed, Pending or Aborted.
	State string `cel:"state" json:"state,omitempty"`
	// Progress in percent.
	Progress int `cel:"progress" json:"progress,omitempty"`
	// Description is what it is at.
	Description string `cel:"description" json:"description,omitempty"`
}

// Seed is what seed('name') gives.
type Seed struct {
	Unknown Unknown `json:"unknown,omitempty"`
	// Ready is whether the garden thinks that the seed's gardenlet is alive.
	Ready bool `cel:"ready" json:"ready,omitempty"`
	// Shoots counts the control planes that are on the seed's cluster, whether or not they belong there.
	Shoots int `cel:"shoots" json:"shoots,omitempty"`
	// Bound counts the Shoots whose spec names the seed.
	Bound int `cel:"bound" json:"bound,omitempty"`
	// Conditions are the statuses of its conditions, by type, such as conditions['GardenletReady'].
	Conditions map[string]string `cel:"conditions" json:"conditions,omitempty"`
}

// Cloud is what the variable cloud gives: how much there is of each kind, and of what the ledger records.
type Cloud struct {
	Unknown Unknown `json:"unknown,omitempty"`
	// Networks is how many there are.
	Networks int `cel:"networks" json:"networks,omitempty"`
	// Machines is how many there are.
	Machines int `cel:"machines" json:"machines,omitempty"`
	// LoadBalancers is how many there are.
	LoadBalancers int `cel:"loadBalancers" json:"loadBalancers,omitempty"`
	// Volumes is how many there are.
	Volumes int `cel:"volumes" json:"volumes,omitempty"`
	// Buckets is how many there are.
	Buckets int `cel:"buckets" json:"buckets,omitempty"`
}
