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
	// Healthy: its last operation has succeeded, no condition is False, and it is where it shall be.
	Healthy       bool              `cel:"healthy"`
	Hibernated    bool              `cel:"hibernated"`
	Deleting      bool              `cel:"deleting"`
	LastOperation Operation         `cel:"lastOperation"`
	LastErrors    []string          `cel:"lastErrors"`
	ErrorCodes    []string          `cel:"errorCodes"` // of its last errors, sorted
	Warnings      []string          `cel:"warnings"`   // reasons of its events of type Warning, sorted
	Conditions    map[string]string `cel:"conditions"` // status by type
	Constraints   map[string]string `cel:"constraints"`
	// Reasons are those of its conditions and constraints, by type.
	Reasons     map[string]string `cel:"reasons"`
	TechnicalID string            `cel:"technicalID"`
	// Status is the label shoot.gardener.cloud/status.
	Status string `cel:"status"`
	// Epoch is the owner epoch in the garden's claim, 0 without one.
	Epoch int `cel:"epoch"`
	// State is what is kept of it in the garden.
	State State `cel:"state"`
	// Kubernetes is spec.kubernetes.version.
	Kubernetes string `cel:"kubernetes"`
	// Maintenance is the last one.
	Maintenance Maintenance `cel:"maintenance"`
	// PendingInPlace are the pools whose update in place is not done, sorted.
	PendingInPlace []string `cel:"pendingInPlace"`
	// Workers are its nodes, as its API server has them.
	Workers Workers `cel:"workers"`
}

// Maintenance is a lastMaintenance; empty before the first.
type Maintenance struct {
	Unknown       Unknown
	State         string `cel:"state"`
	Description   string `cel:"description"`
	FailureReason string `cel:"failureReason"`
}

// Workers are the nodes of a shoot, and the workload on them.
type Workers struct {
	Unknown Unknown
	// All nodes, and those that are Ready, Cordoned, or Waiting for their critical components before they take pods; a
	// node may be several of these.
	All      int `cel:"all"`
	Ready    int `cel:"ready"`
	Cordoned int `cel:"cordoned"`
	Waiting  int `cel:"waiting"`
	// Candidates for an update in place, and those of them that are Selected for it.
	Candidates int `cel:"candidates"`
	Selected   int `cel:"selected"`
	// Kubelets and Images are the versions that nodes have, sorted, each once.
	Kubelets []string `cel:"kubelets"`
	Images   []string `cel:"images"`
	// Pods of the workload that are not being deleted, and those of them that are on cordoned nodes.
	Pods           int `cel:"pods"`
	PodsOnCordoned int `cel:"podsOnCordoned"`
}

// State is a ShootState with what it has in chunks.
type State struct {
	Unknown Unknown
	Exists  bool `cel:"exists"`
	// Epoch of the owner that has saved it.
	Epoch int `cel:"epoch"`
	// Bytes of the whole, as it is kept, and the number of chunks that hold a part of them.
	Bytes  int `cel:"bytes"`
	Chunks int `cel:"chunks"`
}

// Operation is a lastOperation.
type Operation struct {
	Unknown     Unknown
	Type        string `cel:"type"`
	State       string `cel:"state"`
	Progress    int    `cel:"progress"`
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
	Bound      int               `cel:"bound"`
	Conditions map[string]string `cel:"conditions"`
}

// Cloud is what the variable cloud gives: how much there is of each kind, and of what the ledger records.
type Cloud struct {
	Unknown       Unknown
	Networks      int `cel:"networks"`
	Machines      int `cel:"machines"`
	LoadBalancers int `cel:"loadBalancers"`
	Volumes       int `cel:"volumes"`
	Buckets       int `cel:"buckets"`
}
