package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/probe/access"
	"github.com/transplant-sim/transplant/sim/probe/load"
	"github.com/transplant-sim/transplant/sim/step"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// Groups of probes that are of no shoot, by names that no shoot can have; the others are named after theirs.
const (
	cloudGroup = "the cloud"
	seedsGroup = "the seeds"
)

// loadGroup of a shoot: what writes to it.
func loadGroup(shoot string) string { return "load of " + shoot }

// stateGroup of a shoot: what follows it in the garden, until the end of the run.
func stateGroup(shoot string) string { return "state of " + shoot }

// pollInterval between two looks at something that will be there soon.
const pollInterval = 200 * time.Millisecond

var _ step.Shoots = &runner{}

// SetUp creates and populates a shoot, and watches it from then on. An error says what is not up.
func (r *runner) SetUp(ctx context.Context, name string) error {
	return r.explained(ctx, r.setUp(ctx, name))
}

func (r *runner) setUp(ctx context.Context, name string) error {
	shoot, err := r.shoot(name)
	if err != nil {
		return err
	}
	if err := r.create(ctx, shoot); err != nil {
		return err
	}
	// A shoot whose state was never saved cannot be restored without its seed: no scenario begins with that
	// (docs/ownership.md#spec-9-3).
	ready := fmt.Sprintf("shoot('%[1]s').healthy && shoot('%[1]s').state.epoch == shoot('%[1]s').epoch", name)
	if err := r.env.Await(ctx, ready, r.Patience.SetUp); err != nil {
		return fmt.Errorf("wait for the shoot %q: %w", name, err)
	}
	population, err := r.populate(ctx, shoot)
	if err != nil {
		return fmt.Errorf("populate the shoot %q: %w", name, err)
	}
	if err := r.watch(ctx, shoot); err != nil {
		return err
	}
	r.lookAtObjects(ctx, name, r.Patience.Finale)
	// After the look: all that it has seen is in the backups then.
	if population.BackedUp, err = r.awaitBackup(ctx, name); err != nil {
		return fmt.Errorf("save what the scenario begins with of the shoot %q: %w", name, err)
	}
	if shoot.Hibernated {
		if err := r.putToSleep(ctx, name); err != nil {
			return err
		}
	}
	r.record(name, population)
	return nil
}

// create the Shoot, and follow its state from the first moment.
func (r *runner) create(ctx context.Context, shoot landscape.Shoot) error {
	garden, err := r.clients.Cluster(landscape.Garden)
	if err != nil {
		return err
	}
	manifest, err := r.World.ShootManifest(shoot)
	if err != nil {
		return fmt.Errorf("describe the shoot %q: %w", shoot.Name, err)
	}
	object, err := world.WithUnmodelled(manifest)
	if err != nil {
		return err
	}
	if err := garden.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the shoot %q: %w", shoot.Name, err)
	} else if err != nil {
		return fmt.Errorf("create the shoot %q: there is one of this name already; delete it, or use a landscape of its "+
			"own: %w", shoot.Name, err)
	}
	r.mu.Lock()
	r.on[shoot.Name] = true
	r.keys[shoot.Name] = load.NewKeys(dice(r.RandomSeed, "keys of "+shoot.Name))
	r.mu.Unlock()
	if r.Unwatched {
		return nil
	}
	r.observers.followOnce(ctx, stateGroup(shoot.Name), &probe.Shoots{Shoot: shoot.Name, Key: r.World.ShootKey(shoot.Name),
		Garden: garden})
	return nil
}

// populate fills the shoot, past every link, and says what is in it.
func (r *runner) populate(ctx context.Context, shoot landscape.Shoot) (timeline.ShootReady, error) {
	id, err := r.technicalID(ctx, shoot.Name)
	if err != nil {
		return timeline.ShootReady{}, err
	}
	ready := timeline.ShootReady{TechnicalID: id, Nodes: shoot.Workers, Objects: shoot.Objects}
	client, err := r.observe(ctx, shoot.Name)
	if err != nil {
		return ready, err
	}
	if err := r.prepare(ctx, client, shoot); err != nil {
		return ready, err
	}
	return ready, load.Preload(ctx, shoot.Name, client, r.keysOf(shoot.Name), shoot.Objects, r.Journal)
}

// observe gives a client of a shoot's API server, past every link.
func (r *runner) observe(ctx context.Context, shoot string) (kubernetes.Interface, error) {
	config, err := r.connector(shoot, world.Observer)(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	client, err := kubernetes.NewForConfig(world.Unlimited(config))
	if err != nil {
		return nil, fmt.Errorf("make the client: %w", err)
	}
	return client, nil
}

func (r *runner) technicalID(ctx context.Context, shoot string) (string, error) {
	id, _, err := r.locate(ctx, shoot)
	return id, err
}

// locate gives the technical id of a shoot, and the seed that it is on.
func (r *runner) locate(ctx context.Context, shoot string) (id, seed string, err error) {
	err = poll(ctx, r.Clock, "the technical id and the seed", func(ctx context.Context) (bool, error) {
		seen := world.Observe(ctx, r.World, r.clients, world.Query{Shoots: []string{shoot}}).Shoots[shoot]
		if id, seed = seen.TechnicalID, seen.Seed; id == "" || seed == "" {
			return false, fmt.Errorf("the shoot %q has the id %q and the seed %q %v", shoot, id, seed, seen.Unknown)
		}
		return true, nil
	})
	if err != nil {
		return "", "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids[shoot] = id
	return id, seed, nil
}

// watch starts the probes of the shoot. The first look at nodes and workload is taken here, so that it is there before
// anything happens.
func (r *runner) watch(ctx context.Context, shoot landscape.Shoot) error {
	if r.Unwatched {
		return nil
	}
	observer, user := r.connector(shoot.Name, world.Observer), r.connector(shoot.Name, world.User)
	if shoot.Workers > 0 {
		nodes := &probe.Nodes{Shoot: shoot.Name, Actor: world.Observer, Connect: observer}
		pods := &probe.Workload{Shoot: shoot.Name, Actor: world.Observer, Connect: observer}
		for _, p := range []probe.Watched{nodes, pods} {
			if err := p.Sample(ctx, r.Journal); err != nil {
				return fmt.Errorf("look at the %s: %w", p.Name(), err)
			}
			r.observers.follow(ctx, shoot.Name, p)
		}
	}
	if err := r.watchStates(ctx, shoot.Name); err != nil {
		return err
	}
	r.observers.sample(ctx, shoot.Name, &probe.Epochs{Shoot: shoot.Name, World: r.World})
	r.observers.sample(ctx, shoot.Name, &load.Reachability{
		Shoot: shoot.Name, Actor: world.User, Connect: user, Beside: len(r.Scenario.Spec.Landscape.Shoots),
	})
	r.observers.follow(ctx, shoot.Name, &load.Revisions{Shoot: shoot.Name, Actor: world.User, Connect: user})
	return nil
}

// watchStates follows what third-party extensions keep of a shoot, on every seed. The first look is taken here,
// where the shoot is: other seeds may be lost just then.
func (r *runner) watchStates(ctx context.Context, shoot string) error {
	if len(r.Scenario.Spec.Landscape.Extensions) == 0 {
		return nil
	}
	id, home, err := r.locate(ctx, shoot)
	if err != nil {
		return err
	}
	for _, e := range r.Scenario.Spec.Landscape.Extensions {
		for _, resource := range e.Resources {
			// A Worker's state is the gardenlet's, which makes it of the machines
			// (docs/specification/extensions.md#spec-3-7).
			kind, known := extensionsv1alpha1.KindByName(resource.Kind)
			if !known || !kind.Namespaced || kind.Name == extensionsv1alpha1.WorkerResource || resource.StateMayChange {
				continue
			}
			for _, seed := range r.World.Seeds() {
				c, err := r.clients.Cluster(seed)
				if err != nil {
					return err
				}
				states := &probe.States{Shoot: shoot, Namespace: id, SeedName: seed, Seed: c, Kind: kind, Type: resource.Type}
				if seed == home {
					if err := states.Sample(ctx, r.Journal); err != nil {
						return fmt.Errorf("look at the %s: %w", states.Name(), err)
					}
				}
				r.observers.follow(ctx, shoot, states)
			}
		}
	}
	return nil
}

func (r *runner) putToSleep(ctx context.Context, shoot string) error {
	hibernate := step.Hibernate{Shoot: shoot}
	if err := hibernate.Run(ctx, r.env); err != nil {
		return err
	}
	asleep := fmt.Sprintf("shoot('%s').hibernated && shoot('%s').healthy", shoot, shoot)
	if err := r.env.Await(ctx, asleep, r.Patience.SetUp); err != nil {
		return fmt.Errorf("put the shoot %q to sleep: %w", shoot, err)
	}
	return nil
}

// Load starts numbered writes, and reads beside them.
func (r *runner) Load(ctx context.Context, l step.Load) error {
	user, keys := r.connector(l.Shoot, world.User), r.keysOf(l.Shoot)
	if keys == nil {
		return fmt.Errorf("load the shoot %q: it is not there", l.Shoot)
	}
	r.observers.sample(ctx, loadGroup(l.Shoot), &load.Writer{
		Shoot: l.Shoot, Actor: world.User, Connect: user, Keys: keys, PerSecond: l.WritesPerSecond, Keep: l.KeepConnection,
	})
	r.sample(ctx, loadGroup(l.Shoot), &load.Reader{Shoot: l.Shoot, Actor: world.User, Connect: user, Keys: keys})
	if l.KeepAddress {
		pinned, err := r.World.PinShoot(ctx, l.Shoot)
		if err != nil {
			return fmt.Errorf("keep the address of the shoot %q: %w", l.Shoot, err)
		}
		r.sample(ctx, loadGroup(l.Shoot), &load.CachedReader{
			Shoot: l.Shoot, Actor: world.User, Connect: func(context.Context) (*rest.Config, error) { return pinned, nil },
		})
	}
	return nil
}

// Dismiss ends writes to and probes of a shoot. Its state in the garden is followed on.
func (r *runner) Dismiss(shoot string) {
	r.observers.end(loadGroup(shoot))
	r.observers.end(shoot)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on[shoot] = false
}

func (r *runner) keysOf(shoot string) *load.Keys {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keys[shoot]
}

// connector gives an actor's access. A user keeps the access that it was once given, as people do: so the probes of
// users need nothing of the landscape but the shoot. The observer asks anew where the control plane is.
func (r *runner) connector(shoot, actor string) access.Connector {
	if actor != world.User {
		return func(ctx context.Context) (*rest.Config, error) { return r.World.ConnectShoot(ctx, shoot, actor) }
	}
	var mu sync.Mutex
	var kept *rest.Config
	return func(ctx context.Context) (*rest.Config, error) {
		mu.Lock()
		defer mu.Unlock()
		if kept != nil {
			return kept, nil
		}
		config, err := r.World.ConnectShoot(ctx, shoot, actor)
		if err == nil {
			kept = config
		}
		return config, err
	}
}
