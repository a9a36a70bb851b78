// Package world is the landscape as a scenario uses it: the interfaces that steps, faults and probes call, and the
// snapshot that expressions ask.
//
// It says what is needed, not how it is made: a backend implements World. It judges nothing.
package world

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Who reaches a shoot.
const (
	// Observer connects directly, over links that are never faulted.
	Observer = clusters.Observer
	// User takes the shoot's public name, the cloud's DNS and the seed's gateway, over link(user, shoots).
	User = "user"
	// Operator carries out the steps of a scenario; the name stands on the timeline.
	Operator = "operator"
)

// World is a running landscape. It is used by many goroutines.
type World interface {
	Shoots
	Inventory
	Breaker
	// Seeds are the names of the seeds, in the order of the scenario.
	Seeds() []string
	// Connect gives the observer's access to a cluster: landscape.Garden, or a seed.
	Connect(cluster string) (*rest.Config, error)
	// Cloud gives the observer's access to the cloud.
	Cloud() *cloud.Client
	// Ready is an error that names the first actor, extensions among them, that is not ready.
	Ready(ctx context.Context) error
	// Refresh replaces the actors that have died since they were made: the restart back-off of one run must not delay
	// them in the next. It ends the faults of the cloud that the run has left.
	Refresh(ctx context.Context) error
	// KeepLogs copies the logs of actors, of third-party extensions, of shoots' control planes and of the clusters' own
	// programs into a folder, which it makes. It copies what it can: an error is about the others.
	KeepLogs(ctx context.Context, folder string) error
	// Stop ends the landscape and everything in it.
	Stop(ctx context.Context) error
}

// Shoots is what a backend knows about shoots.
type Shoots interface {
	// ShootKey is namespace and name of the Shoot in the garden.
	ShootKey(shoot string) types.NamespacedName
	// ShootManifest is the Shoot to create for what a scenario describes; nothing of it exists yet.
	ShootManifest(shoot landscape.Shoot) (*gardencorev1beta1.Shoot, error)
	// ConnectShoot gives an actor's access to the shoot's API server: the User's by its public name, through its
	// link; the Observer's directly to the control plane that the Shoot's status points to.
	ConnectShoot(ctx context.Context, shoot, actor string) (*rest.Config, error)
	// PinShoot gives the User's access to the shoot's API server at the address that its public name has now, past its
	// link. The access stays there, whatever DNS says later.
	PinShoot(ctx context.Context, shoot string) (*rest.Config, error)
	// ControlPlanes finds every control plane of the shoot, on whatever seed it is, also where it does not belong.
	// Seeds that cannot be read are an error beside the control planes that were found.
	ControlPlanes(ctx context.Context, shoot string) ([]ControlPlane, error)
}

// NoAPIServer says that no API server runs for a shoot on the seed that its status points to.
type NoAPIServer struct{ Shoot, Seed string }

func (n NoAPIServer) Error() string {
	return fmt.Sprintf("shoot %q has no API server on seed %q", n.Shoot, n.Seed)
}

// ControlPlane is one control plane of a shoot on one seed.
type ControlPlane struct {
	Seed string
	// API is the observer's direct access to its API server; nil when it has none that runs.
	API *rest.Config
	// ShootUID is that of the Shoot whose published access API uses, which may be an earlier one of this name; empty
	// when it is not known.
	ShootUID types.UID
	// Validity asks its guard, as docs/ownership.md#spec-9-2 describes for holders, without becoming one.
	Validity func(ctx context.Context) (Validity, error)
}

// Validity is what a guard says about itself.
type Validity struct {
	State     string
	Owner     string
	Epoch     int64
	Remaining time.Duration
}

// Serving says whether the guard lets anything pass.
func (v Validity) Serving() bool { return v.Remaining > 0 }

// BackupReader is a World that knows how far a shoot's backups reach.
type BackupReader interface {
	// BackedUpTo is the newest revision of the shoot's store that a backup contains, 0 when there is none.
	BackedUpTo(ctx context.Context, shoot string) (revision int64, err error)
}

// Inventory is what is there beside the objects of API servers: processes, data folders, buckets
// and their objects, DNS records. The keys are seeds, or other places such as "cloud".
type Inventory interface {
	Items(ctx context.Context) (map[string][]timeline.Item, error)
	// Certain are the classes, of objects too, of which a control plane that runs on a seed has something there, and its
	// shoot in the cloud: an inventory that shows none is not whole.
	Certain() (onSeed, inCloud []string)
}

// Meter is a World that knows what it has cost.
type Meter interface {
	Cost(ctx context.Context) (timeline.CostSeen, error)
}
