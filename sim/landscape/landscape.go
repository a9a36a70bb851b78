// Package landscape says what a scenario runs on: seeds, shoots, and the settings of the controllers. It is
// plain data, part of the scenario format; how a landscape is made is for the backends.
package landscape

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Garden is the name of the garden cluster.
const Garden = "garden"

// CloudProfile is the name of the landscape's only cloud profile.
const CloudProfile = "transplant"

// Landscape is what a scenario needs.
type Landscape struct {
	// Seeds are the seed clusters, at least one.
	Seeds []Seed `json:"seeds"`
	// Garden is what is special about the garden.
	Garden GardenSpec `json:"garden,omitzero"`
	// Shoots are the shoots of the scenario. They are created and populated before the first step, except those that a
	// create step names.
	Shoots []Shoot `json:"shoots,omitempty"`
	// Tolerable are the keys of taints that shoots may tolerate: the whitelist of their project.
	Tolerable []string `json:"tolerable,omitempty"`
	// Settings of the controllers.
	Settings Settings `json:"settings,omitzero"`
	// Extensions are the third-party extensions. They stand in files of their own, for they can be part of any scenario.
	Extensions []Extension `json:"-"`
}

// Seed is a seed cluster.
type Seed struct {
	// Name of its cluster.
	Name string `json:"name"`
	// Region it is in; that of all shoots, Home, when not given.
	Region string `json:"region,omitempty"`
	// Taints keep shoots off the seed that do not tolerate all of them.
	Taints []Taint `json:"taints,omitempty"`
	// HostedBy is the seed that has the control plane of this one: the seed is a shoot of the same name, and runs on the
	// workers of this shoot if it has any. When not given, its API server belongs to the cluster itself.
	HostedBy string `json:"hostedBy,omitempty"`
}

// Equal says whether both are the same seed.
func (s Seed) Equal(other Seed) bool {
	return s.Name == other.Name && s.Region == other.Region && s.HostedBy == other.HostedBy &&
		slices.Equal(s.Taints, other.Taints)
}

// Taint is one of a seed; without a value every toleration of its key will do.
type Taint struct {
	// Key that a toleration names.
	Key string `json:"key"`
	// Value that it names, too.
	Value string `json:"value,omitempty"`
}

// Home is the region that all shoots are in.
const Home = "here"

// Shoot is a shoot as the scenario wants it.
type Shoot struct {
	// Name in the project.
	Name string `json:"name"`
	// Seed that first runs its control plane.
	Seed string `json:"seed"`
	// Workers is the number of nodes; 0 makes a workerless shoot.
	Workers int `json:"workers,omitempty" zero:"workerless"`
	// Objects is the number of ConfigMaps it holds before the first step.
	Objects int `json:"objects,omitempty" zero:"empty"`
	// Hibernated shoots are populated and then put to sleep before the first step.
	Hibernated bool `json:"hibernated,omitempty"`
	// ExternalDomain gives the shoot its own domain: its load and the probe of its API use that name, its nodes
	// use the internal one.
	ExternalDomain bool `json:"externalDomain,omitempty"`
	// Purpose is that of the Shoot.
	Purpose Purpose `json:"purpose,omitempty"`
	// Kubernetes is its version, one of the landscape's; the latest when not given.
	Kubernetes string `json:"kubernetes,omitempty"`
	// Image is the version of its nodes' machine image, one of the landscape's; the latest when not given.
	Image string `json:"image,omitempty"`
	// Extended shoots have an Extension and, on their nodes, a ContainerRuntime: both bring objects into the shoot, and
	// the Extension has a state.
	Extended bool `json:"extended,omitempty"`
	// UpdateStrategy is how its nodes are updated; AutoRollingUpdate when not given.
	UpdateStrategy UpdateStrategy `json:"updateStrategy,omitempty"`
	// Nodes are simulated, unless they are to run their pods.
	Nodes Nodes `json:"nodes,omitempty"`
}

// Nodes is what the nodes of a shoot are.
type Nodes string

// Kinds of nodes.
const (
	SimulatedNodes Nodes = "simulated"
	RealNodes      Nodes = "real"
)

// Values are all kinds of nodes.
func (Nodes) Values() []string { return []string{string(SimulatedNodes), string(RealNodes)} }

// RealNodes are the names of the shoots whose nodes run pods.
func (l Landscape) RealNodes() []string {
	var names []string
	for _, shoot := range l.Shoots {
		if shoot.Nodes == RealNodes {
			names = append(names, shoot.Name)
		}
	}
	return names
}

// UpdateStrategy is how the nodes of a shoot are updated (docs/specification/versions.md#spec-4-9).
type UpdateStrategy string

// Strategies of updates.
const (
	AutoRollingUpdate   UpdateStrategy = "AutoRollingUpdate"
	AutoInPlaceUpdate   UpdateStrategy = "AutoInPlaceUpdate"
	ManualInPlaceUpdate UpdateStrategy = "ManualInPlaceUpdate"
)

// Values are all strategies.
func (UpdateStrategy) Values() []string {
	return []string{string(AutoRollingUpdate), string(AutoInPlaceUpdate), string(ManualInPlaceUpdate)}
}

// Purpose is how important a shoot is (docs/ownership.md#spec-9-4).
type Purpose string

// Purposes of shoots.
const (
	Evaluation     Purpose = "evaluation"
	Testing        Purpose = "testing"
	Development    Purpose = "development"
	Production     Purpose = "production"
	Infrastructure Purpose = "infrastructure"
)

// Values are all purposes.
func (Purpose) Values() []string {
	return []string{string(Evaluation), string(Testing), string(Development), string(Production), string(Infrastructure)}
}

// Settings of the controllers (docs/ownership.md#spec-9-4); what is not set takes the value for scenarios.
type Settings struct {
	// OwnerCheckInterval is how often a guard reads the authorities.
	OwnerCheckInterval metav1.Duration `json:"ownerCheckInterval,omitzero"`
	// OwnerCheckTimeout is how long a read of an authority gives validity.
	OwnerCheckTimeout metav1.Duration `json:"ownerCheckTimeout,omitzero"`
	// DeltaInterval is the time between two incremental backups.
	DeltaInterval metav1.Duration `json:"deltaInterval,omitzero"`
	// FullSnapshotInterval is the time between two full snapshots.
	FullSnapshotInterval metav1.Duration `json:"fullSnapshotInterval,omitzero"`
	// DNSTTL is the TTL of the shoots' DNS records, whole seconds.
	DNSTTL metav1.Duration `json:"dnsTTL,omitzero"`
	// SeedLeaseRenew is the time between two renewals of a seed's Lease.
	SeedLeaseRenew metav1.Duration `json:"seedLeaseRenew,omitzero"`
	// SeedLossGracePeriod is how long a seed may be gone before its shoots are evacuated.
	SeedLossGracePeriod metav1.Duration `json:"seedLossGracePeriod,omitzero"`
	// WaitInterval is the fallback interval of waits that are woken by watches.
	WaitInterval metav1.Duration `json:"waitInterval,omitzero"`
	// SyncPeriod is how often a shoot that nobody changed is reconciled.
	SyncPeriod metav1.Duration `json:"syncPeriod,omitzero"`
	// ReconcileInMaintenanceOnly is whether a shoot that nobody changed is reconciled once in each of its maintenance time
	// windows, not every sync period.
	ReconcileInMaintenanceOnly bool `json:"reconcileInMaintenanceOnly,omitempty"`
	// RetryDuration is how long an operation that fails is tried again before it is Failed.
	RetryDuration metav1.Duration `json:"retryDuration,omitzero"`
	// ThrottledRetryPeriod is after how long a shoot that has Failed because the cloud throttled it is retried unasked,
	// and half of it is what chance adds at most.
	ThrottledRetryPeriod metav1.Duration `json:"throttledRetryPeriod,omitzero"`
	// CareSyncPeriod is the time between two looks of care at a shoot. The reference provider checks its objects five
	// times as often.
	CareSyncPeriod metav1.Duration `json:"careSyncPeriod,omitzero"`
	// CareThreshold is how long conditions of shoots are Progressing before they are False.
	CareThreshold metav1.Duration `json:"careThreshold,omitzero"`
	// RemediateWebhooks is whether care changes webhooks that might keep nodes from joining.
	RemediateWebhooks bool `json:"remediateWebhooks,omitempty"`
	// CleanupTimeout is after how long a step of the clean-up of a shoot in deletion fails, and is tried again.
	CleanupTimeout metav1.Duration `json:"cleanupTimeout,omitzero"`
	// RestoresAtOnce is how many shoots of a lost seed one destination restores at the same time.
	RestoresAtOnce int `json:"restoresAtOnce,omitempty"`
	// SecondSign is whether shoots of a silent seed are evacuated only once they do not answer by their names either.
	SecondSign bool `json:"secondSign,omitempty"`
}

// restoresAtOnce is the same in scenarios and by default.
const restoresAtOnce = 20

// Default fills in what is not set with the values for scenarios of docs/ownership.md#spec-9-4.
func (s *Settings) Default() {
	s.RestoresAtOnce = cmp.Or(s.RestoresAtOnce, restoresAtOnce)
	for setting, value := range map[*metav1.Duration]time.Duration{
		&s.OwnerCheckInterval: time.Second, &s.OwnerCheckTimeout: 5 * time.Second,
		&s.DeltaInterval: time.Second, &s.FullSnapshotInterval: 5 * time.Minute, &s.DNSTTL: time.Second,
		&s.SeedLeaseRenew: time.Second, &s.SeedLossGracePeriod: 10 * time.Second, &s.WaitInterval: time.Second,
		&s.SyncPeriod: time.Hour, &s.CareSyncPeriod: 5 * time.Second, &s.CareThreshold: time.Minute,
		&s.CleanupTimeout: 10 * time.Minute, &s.RetryDuration: 12 * time.Hour, &s.ThrottledRetryPeriod: 10 * time.Minute,
	} {
		setting.Duration = cmp.Or(setting.Duration, value)
	}
}

// ProductSettings are those that the product has by default (docs/ownership.md#spec-9-4): what a landscape has whose
// operator sets nothing.
func ProductSettings() Settings {
	d := func(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }
	return Settings{
		OwnerCheckInterval: d(5 * time.Second), OwnerCheckTimeout: d(30 * time.Second),
		DeltaInterval: d(5 * time.Second), FullSnapshotInterval: d(time.Hour), DNSTTL: d(2 * time.Minute),
		SeedLeaseRenew: d(2 * time.Second), SeedLossGracePeriod: d(5 * time.Minute), WaitInterval: d(5 * time.Second),
		SyncPeriod:     d(time.Hour),
		RestoresAtOnce: restoresAtOnce, RetryDuration: d(12 * time.Hour), ThrottledRetryPeriod: d(10 * time.Minute),
	}
}

// OwnerWait is W (docs/ownership.md#spec-9-2-wait): how long a new owner waits when the old one has left no final
// snapshot.
func (s Settings) OwnerWait() time.Duration {
	return s.OwnerCheckTimeout.Duration*11/10 + s.OwnerCheckInterval.Duration
}

// LossNoticed is how long after the loss of a seed its shoots are evacuated at the earliest. The grace period begins
// with the last renewal of its Lease that was seen, and one may have been late.
func (s Settings) LossNoticed() time.Duration {
	return s.SeedLossGracePeriod.Duration - 2*s.SeedLeaseRenew.Duration
}
