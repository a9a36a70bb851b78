// Package fault breaks a landscape on purpose: one file per fault. A fault is plain data, part of the scenario format;
// what is going on lives in its injection, and Active sees to it that each is healed exactly once.
//
// To add a fault, write its file and add one field to Spec. Its Traits say all that others must know of it. A fault
// judges nothing and records nothing.
package fault

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/choice"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Fault is a harm that can be done to a world.
type Fault interface {
	// Name is the fault as people write it, such as "cut(gardenlet-a,garden)".
	Name() string
	// Check finds what is wrong with the fault on this landscape.
	Check(path *field.Path, on landscape.Landscape) field.ErrorList
	// Traits are what is known of it before it begins.
	Traits() Traits
	// Inject begins the fault. If anything may have begun, an Injection comes with the error, too, and is healed at once.
	Inject(ctx context.Context, w world.World) (world.Injection, error)
}

// Spec is a fault in a scenario: its name there, and exactly one fault.
type Spec struct {
	// Name by which it is healed and reported.
	Name string `json:"name"`

	// Cluster faults.
	LoseCluster   *LoseCluster   `json:"loseCluster,omitempty"`
	FreezeCluster *FreezeCluster `json:"freezeCluster,omitempty"`

	// Link faults.
	Cut       *Cut       `json:"cut,omitempty"`
	Latency   *Latency   `json:"latency,omitempty"`
	Bandwidth *Bandwidth `json:"bandwidth,omitempty"`
	Reset     *Reset     `json:"reset,omitempty"`

	// Faults of requests to API servers.
	FailRequest  *FailRequest  `json:"failRequest,omitempty"`
	DelayRequest *DelayRequest `json:"delayRequest,omitempty"`
	DropAnswer   *DropAnswer   `json:"dropAnswer,omitempty"`
	HoldRequest  *HoldRequest  `json:"holdRequest,omitempty"`
	RequestLimit *RequestLimit `json:"requestLimit,omitempty"`
	Crash        *Crash        `json:"crash,omitempty"`

	// Faults of objects.
	GrowObject *GrowObject `json:"growObject,omitempty"`
	LoseObject *LoseObject `json:"loseObject,omitempty"`

	// Faults of lists and watches.
	StaleList   *StaleList   `json:"staleList,omitempty"`
	FrozenWatch *FrozenWatch `json:"frozenWatch,omitempty"`
	CloseWatch  *CloseWatch  `json:"closeWatch,omitempty"`
	GoneWatch   *GoneWatch   `json:"goneWatch,omitempty"`

	// Faults of disks, backups and buckets.
	BucketUnreachable *BucketUnreachable `json:"bucketUnreachable,omitempty"`
	SlowBucket        *SlowBucket        `json:"slowBucket,omitempty"`
	DamageBackup      *DamageBackup      `json:"damageBackup,omitempty"`

	WipeEtcd *WipeEtcd `json:"wipeEtcd,omitempty"`

	// Faults of the cloud.
	CloudError       *CloudError       `json:"cloudError,omitempty"`
	CloudQuota       *CloudQuota       `json:"cloudQuota,omitempty"`
	CloudThrottle    *CloudThrottle    `json:"cloudThrottle,omitempty"`
	CloudUnreachable *CloudUnreachable `json:"cloudUnreachable,omitempty"`
	SlowCloud        *SlowCloud        `json:"slowCloud,omitempty"`

	// Faults in the words of Chaos Mesh.
	Chaos *Chaos `json:"chaos,omitempty"`

	// Process faults.
	Kill   *Kill   `json:"kill,omitempty"`
	Freeze *Freeze `json:"freeze,omitempty"`
}

// Kinds are the names of all faults, as they stand in files.
func Kinds() []string { return choice.Members[Fault, Spec]() }

// Fault is the one that is set, with its name in files; nil when not exactly one is.
func (s *Spec) Fault() (string, Fault) { return choice.Only[Fault](s) }

// Check finds what is wrong with the fault on this landscape.
func (s *Spec) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	switch given, faults := choice.Given[Fault](s); len(given) {
	case 0:
		return field.ErrorList{field.Required(path, "exactly one fault must be given: "+strings.Join(Kinds(), ", "))}
	case 1:
		return faults[0].Check(path.Child(given[0]), on)
	default:
		return field.ErrorList{field.Invalid(path, strings.Join(given, ", "),
			"a step begins one fault: give each a step and a name of its own")}
	}
}
