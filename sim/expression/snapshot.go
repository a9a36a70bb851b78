package expression

// Snapshot is the world at one moment, as far as expressions can ask for it.
type Snapshot struct {
	Shoots map[string]Shoot
	Seeds  map[string]Seed
	Cloud  Cloud
}

// Unknown says why fields, by their name in expressions, could not be read; "*" stands for all that are not named.
type Unknown map[string]string

// Shoot is what shoot('name') gives.
type Shoot struct {
	Unknown Unknown
	// Exists is whether there is such a Shoot. Of one that is not there, all else is empty.
	Exists bool `cel:"exists"`
	// Seed is status.seedName: the seed that holds the control plane.
	Seed string `cel:"seed"`
	// SpecSeed is spec.seedName: the seed that shall hold it.
	SpecSeed string `cel:"specSeed"`
	// Healthy: its last operation has succeeded, it is on the seed and as awake as its spec wants, what its spec asks for
	// is observed, and every condition is there and True, those of users' own controllers too; constraints do not count.
	Healthy bool `cel:"healthy"`
	// Problems are why it is not healthy, but for what its last operation says. They are for people: no expression has
	// them.
	Problems []string
	// Answers is whether its API server, by its public name, answers a user; not to answer is not to do so three times in
	// a row, in a second each.
	Answers bool `cel:"answers"`
	// Hibernated is status.hibernated: it sleeps.
	Hibernated bool `cel:"hibernated"`
	// Deleting is whether its deletion was asked for.
	Deleting bool `cel:"deleting"`
	// LastOperation is status.lastOperation.
	LastOperation Operation `cel:"lastOperation"`
	// LastErrors are the descriptions in status.lastErrors.
	LastErrors []string `cel:"lastErrors"`
	// ErrorCodes are those of its last errors, sorted.
	ErrorCodes []string `cel:"errorCodes"`
	// Warnings are the reasons of its events of type Warning, sorted.
	Warnings []string `cel:"warnings"`
	// Conditions are the statuses of its conditions, by type, such as conditions['EveryNodeReady'].
	Conditions map[string]string `cel:"conditions"`
	// Constraints are the statuses of its constraints, by type, such as constraints['HibernationPossible'].
	Constraints map[string]string `cel:"constraints"`
	// Reasons are those of its conditions and constraints, by type.
	Reasons map[string]string `cel:"reasons"`
	// TechnicalID is the name of its control plane's namespace.
	TechnicalID string `cel:"technicalID"`
	// Status is the label shoot.gardener.cloud/status.
	Status string `cel:"status"`
	// Epoch is the owner epoch in the garden's claim, 0 without one. It goes on from that of an earlier shoot of the name.
	Epoch int `cel:"epoch"`
	// State is what is kept of it in the garden.
	State State `cel:"state"`
	// Kubernetes is spec.kubernetes.version.
	Kubernetes string `cel:"kubernetes"`
	// Maintenance is the last one.
	Maintenance Maintenance `cel:"maintenance"`
	// PendingInPlace are the pools whose update in place is not done, sorted.
	PendingInPlace []string `cel:"pendingInPlace"`
	// Rotated are the credentials whose last rotation is complete, such as sshKeypair, sorted.
	Rotated []string `cel:"rotated"`
	// Workers are its nodes, as its API server has them.
	Workers Workers `cel:"workers"`
}

// Maintenance is a lastMaintenance; empty before the first.
type Maintenance struct {
	Unknown Unknown
	// State is Processing, Succeeded or Failed.
	State string `cel:"state"`
	// Description is what was done.
	Description string `cel:"description"`
	// FailureReason is why something was not; empty if all was.
	FailureReason string `cel:"failureReason"`
}

// Workers are the nodes of a shoot, and the workload on them.
type Workers struct {
	Unknown Unknown
	// All is how many nodes there are. One may be Ready, Cordoned and Waiting at once.
	All int `cel:"all"`
	// Ready is how many nodes are.
	Ready int `cel:"ready"`
	// Cordoned is how many nodes take no new pods.
	Cordoned int `cel:"cordoned"`
	// Waiting is how many nodes take no pods before their critical components are ready.
	Waiting int `cel:"waiting"`
	// Candidates is how many nodes may be updated in place.
	Candidates int `cel:"candidates"`
	// Selected is how many of the candidates were selected for it.
	Selected int `cel:"selected"`
	// UpdateFailed is how many of these could not be updated.
	UpdateFailed int `cel:"updateFailed"`
	// Kubelets are the versions of kubelets that nodes have, sorted, each once.
	Kubelets []string `cel:"kubelets"`
	// Images are the versions of machine images that nodes have, sorted, each once.
	Images []string `cel:"images"`
	// Pods is how many of the workload are not being deleted.
	Pods int `cel:"pods"`
	// PodsOnCordoned is how many of these are on cordoned nodes.
	PodsOnCordoned int `cel:"podsOnCordoned"`
}

// State is a ShootState with what it has in chunks.
type State struct {
	Unknown Unknown
	// Exists is whether there is one.
	Exists bool `cel:"exists"`
	// Epoch of the owner that has saved it.
	Epoch int `cel:"epoch"`
	// Bytes of the whole, as it is kept.
	Bytes int `cel:"bytes"`
	// Chunks is how many objects hold a part of them.
	Chunks int `cel:"chunks"`
}

// Operation is a lastOperation.
type Operation struct {
	Unknown Unknown
	// Type is Create, Reconcile, Delete, Migrate or Restore.
	Type string `cel:"type"`
	// State is Processing, Succeeded, Error, Failed, Pending or Aborted.
	State string `cel:"state"`
	// Progress in percent.
	Progress int `cel:"progress"`
	// Description is what it is at.
	Description string `cel:"description"`
}

// Seed is what seed('name') gives.
type Seed struct {
	Unknown Unknown
	// Ready is whether the garden thinks that the seed's gardenlet is alive.
	Ready bool `cel:"ready"`
	// Shoots counts the control planes that are on the seed's cluster, whether or not they belong there.
	Shoots int `cel:"shoots"`
	// Bound counts the Shoots whose spec names the seed.
	Bound int `cel:"bound"`
	// Conditions are the statuses of its conditions, by type, such as conditions['GardenletReady'].
	Conditions map[string]string `cel:"conditions"`
}

// Cloud is what the variable cloud gives: how much there is of each kind, and of what the ledger records.
type Cloud struct {
	Unknown Unknown
	// Networks is how many there are.
	Networks int `cel:"networks"`
	// Machines is how many there are.
	Machines int `cel:"machines"`
	// LoadBalancers is how many there are.
	LoadBalancers int `cel:"loadBalancers"`
	// Volumes is how many there are.
	Volumes int `cel:"volumes"`
	// Buckets is how many there are.
	Buckets int `cel:"buckets"`
}
