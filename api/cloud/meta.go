package cloud

import "time"

// Kinds of resources, as they stand in paths, in the ledger and in faults.
const (
	KindNetworks       = "networks"
	KindSubnets        = "subnets"
	KindRouters        = "routers"
	KindSecurityGroups = "security-groups"
	KindKeyPairs       = "key-pairs"
	KindMachines       = "machines"
	KindVolumes        = "volumes"
	KindLoadBalancers  = "load-balancers"
	KindZones          = "zones"
	KindRecords        = "records"
	KindBuckets        = "buckets"
	KindObjects        = "objects"
	KindFences         = "fences"
	KindFaults         = "faults"
	KindPolicies       = "policies"
	KindNames          = "names" // questions to the DNS server, for faults only; the id is the name asked for
)

// Meta is what every resource has. The server sets all of it: a random id, a version that grows with every change and
// is never used twice, not even by a successor of the same name, and the time of creation.
type Meta struct {
	ID        string    `json:"id,omitempty"`
	Version   int64     `json:"version,omitempty"`
	CreatedAt time.Time `json:"createdAt,omitzero"`
}

// Metadata gives access to what all resources have in common.
func (m *Meta) Metadata() *Meta { return m }

// Resource is any object of the cloud.
type Resource interface{ Metadata() *Meta }

// Tagged is a resource that can be found by its tags.
type Tagged interface {
	Resource
	TagMap() map[string]string
}

// Named is a resource that can be found by its name.
type Named interface {
	Resource
	ResourceName() string
}
