// Package outside runs the control plane of one shoot outside any seed, as `gardenadm restore` does: etcd from its
// bucket, the API server and its controllers with the secrets of the ShootState. It is for a shoot whose seed cannot
// come back without it, as in a ring of seeds that was switched off as a whole.
//
// It owns the shoot as a seed does (docs/ownership.md): with an epoch of its own in both authorities, a guard before
// etcd, backups in the shoot's bucket, and a gateway that is a holder. In the end it ends its epoch, and a seed
// restores the shoot. It runs no extensions and no machine controller: what a shoot has in the cloud is left as it is.
//
// How programs are run is the Place's affair.
package outside

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/backupentry"
	"github.com/transplant-sim/transplant/controllers/controlplane/etcd"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/ownership"
)

// Place runs pods outside any cluster.
type Place interface {
	// Run runs a pod until ctx is done, and returns when nothing of it is left. Claims are the names of the volume claims
	// that it mounts.
	Run(ctx context.Context, name string, spec corev1.PodSpec, secrets func(string) (map[string][]byte, error),
		claims []string) error
}

// Entry lets clients in, by the shoot's public names, while the guard is valid.
type Entry interface {
	// Carry takes connections until ctx is done. The credentials are those of a gateway.
	Carry(ctx context.Context, hosts []string, guard etcd.Guard) error
	// Publish has the names lead to the entry.
	Publish(ctx context.Context, technicalID string, hosts []string, owner ownership.Record) error
}

// Releaser has a guard end its epoch, as the last step of the owner (docs/ownership.md#o11).
type Releaser interface {
	Release(ctx context.Context, guard etcd.Guard, epoch int64) error
}

// Listener hears shoots by their public names.
type Listener interface {
	// Hear returns why a shoot does not answer; nil if it does.
	Hear(ctx context.Context, shoot *gardencorev1beta1.Shoot) error
}

// Restore is how control planes are restored outside any seed. All fields are required.
type Restore struct {
	scope.Settings
	Garden   client.Client
	Owners   scope.Authorities
	Bucket   scope.Buckets
	States   scope.States
	Hear     Listener
	Release  Releaser
	Place    Place
	Entry    Entry
	Clock    clock.Clock
	Boottime ownership.Clock
	Log      logr.Logger
	// Address is where the programs listen.
	Address netip.Addr
	// GardenAccess and CloudAccess are the kubeconfigs of the programs; that of the cloud is good for this shoot only.
	GardenAccess []byte
	CloudAccess  func(technicalID string) ([]byte, error)
	// Say gets what happens, for the operator.
	Say func(format string, arguments ...any)
}

// run is the restore of one shoot.
type run struct {
	*scope.Scope
	of      *Restore
	key     types.NamespacedName
	entries *backupentry.Entries
	bucket  string
	guard   etcd.Guard
	given   bool // this place is responsible for the shoot, and no seed is yet
}

const (
	// poll is how often the restore looks again at what it waits for.
	poll = time.Second
	// releasePatience bounds one attempt to end the epoch.
	releasePatience = 5 * time.Minute
)

// Run restores the control plane of a shoot, and runs it until it is handed over to a seed or ctx is done. handOver is
// the seed that is to get it as soon as it is ready; empty to leave that to whoever asks by AskForHandOver.
func (r *Restore) Run(ctx context.Context, key types.NamespacedName, handOver string) error {
	one := r.on(key)
	err := one.begin(ctx)
	if err == nil {
		err = one.deploy(ctx)
	}
	if err == nil {
		err = one.serve(ctx, handOver)
	}
	if err != nil && one.given && !errors.Is(err, errTaken) {
		err = fmt.Errorf("%w; shoot %q has no control plane now: the same command starts it again", err, key)
	}
	return err
}

// Check returns why Run would refuse the shoot, or the seed that is to get it. It asks the garden and DNS, and no
// bucket, and writes nothing. What Run waits for is no reason.
func (r *Restore) Check(ctx context.Context, key types.NamespacedName, handOver string) error {
	if err := r.checkHandOver(ctx, key, handOver); err != nil {
		return err
	}
	err := r.on(key).checkGarden(ctx)
	if _, away := errors.AsType[*awayError](err); away {
		return nil
	}
	return err
}

// on makes the run for a shoot. Each is another owner.
func (r *Restore) on(key types.NamespacedName) *run {
	one := &run{of: r, key: key}
	one.Scope = &scope.Scope{Settings: r.Settings, Log: r.Log, Clock: r.Clock, Boottime: r.Boottime, Garden: r.Garden,
		Owners: r.Owners, Bucket: r.Bucket, States: r.States}
	one.SeedName = constants.SeedOutside
	one.SeedObject = &gardencorev1beta1.Seed{}
	one.SeedObject.Name, one.SeedObject.UID = constants.SeedOutside, uuid.NewUUID()
	one.entries = &backupentry.Entries{Scope: one.Scope}
	return one
}

// begin makes this place the owner of the shoot.
func (r *run) begin(ctx context.Context) error {
	if err := r.untilThere(ctx, r.check); err != nil {
		return err
	}
	r.of.Say("The ShootState of %s is complete, and there are backups in bucket %s.", r.key, r.bucket)
	if err := r.untilThere(ctx, r.take); err != nil {
		return err
	}
	r.of.Say("Shoot %s is owned by %q in epoch %d.", r.key, constants.SeedOutside, r.Epoch)
	return nil
}

// untilThere tries again while something does not answer that will come back, such as a bucket.
func (r *run) untilThere(ctx context.Context, try func(context.Context) error) error {
	for said := ""; ; {
		err := try(ctx)
		away, is := errors.AsType[*awayError](err)
		if !is {
			return err
		}
		if away.what != said {
			said = away.what
			r.of.Say("Nothing is restored yet, and nothing is lost: %v. This is tried again until it answers.", err)
		}
		select {
		case <-ctx.Done():
			return err
		case <-r.Clock.After(poll):
		}
	}
}
