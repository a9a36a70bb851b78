package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// shoots sets shoots up, puts load on them, and has probes watch them.
type shoots struct {
	*scope
	env *step.Environment
}

var _ step.Shoots = &shoots{}

// setUpAll sets up the shoots that are there before the first step.
func (s *shoots) setUpAll(ctx context.Context) error {
	return s.each(ctx, func(ctx context.Context, shoot landscape.Shoot) error {
		return s.setUp(ctx, shoot.Name, s.Prepared != nil || s.Scenario.Spec.Landscape.IsHosted(shoot.Name))
	})
}

// each does something with the shoots that are there before the first step, with all at once.
func (s *shoots) each(ctx context.Context, do func(context.Context, landscape.Shoot) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Patience.SetUp, fmt.Errorf("the shoots were not ready within %s",
		s.Patience.SetUp))
	defer cancel()
	later := step.Later(s.Scenario.Spec.Steps)
	all := s.Scenario.Spec.Landscape.Shoots
	errs := make([]error, len(all))
	var working sync.WaitGroup
	for i, shoot := range all {
		if !later[shoot.Name] {
			working.Go(func() { errs[i] = do(ctx, shoot) })
		}
	}
	working.Wait()
	return errors.Join(errs...)
}

// SetUp creates and populates a shoot, and watches it from then on. An error says what is not up.
func (s *shoots) SetUp(ctx context.Context, name string) error {
	return s.explained(ctx, s.setUp(ctx, name, false))
}

// setUp sets up a shoot, which is there already if it is prepared.
func (s *shoots) setUp(ctx context.Context, name string, prepared bool) error {
	shoot, known := s.Scenario.Spec.Landscape.Shoot(name)
	if !known {
		return fmt.Errorf("find the shoot %q: the landscape has none of this name", name)
	}
	if err := s.make(ctx, shoot, prepared); err != nil {
		return err
	}
	population, err := s.populate(ctx, shoot)
	if err != nil {
		return fmt.Errorf("populate the shoot %q: %w", name, err)
	}
	if err := s.watch(ctx, shoot); err != nil {
		return err
	}
	objects{s.scope}.observe(ctx, name, s.Patience.Finale)
	// After the look: all that it has seen is in the backups then.
	if population.BackedUp, err = s.awaitBackup(ctx, name); err != nil {
		return fmt.Errorf("save what the scenario begins with of the shoot %q: %w", name, err)
	}
	if shoot.Hibernated {
		if err := s.putToSleep(ctx, name); err != nil {
			return err
		}
	}
	s.record(name, population)
	return nil
}

// make the shoot, unless it is there, and wait until it is ready.
func (s *shoots) make(ctx context.Context, shoot landscape.Shoot, prepared bool) error {
	garden, err := s.clients.Cluster(landscape.Garden)
	if err != nil {
		return err
	}
	if !prepared {
		if err := s.create(ctx, garden, shoot); err != nil {
			return err
		}
	}
	keys := load.NewKeys(dice(s.RandomSeed, "keys of "+shoot.Name))
	s.registry.change(shoot.Name, func(e *entry) { e.on, e.keys = true, keys })
	if !s.Unwatched {
		s.observers.followOnce(ctx, stateGroup(shoot.Name), &probe.Shoots{Shoot: shoot.Name,
			Key: s.World.ShootKey(shoot.Name), Garden: garden})
	}
	// A shoot whose state was never saved cannot be restored without its seed: no scenario begins with that
	// (docs/ownership.md#spec-9-3).
	ready := fmt.Sprintf("shoot('%[1]s').healthy && shoot('%[1]s').state.epoch == shoot('%[1]s').epoch", shoot.Name)
	if err := s.env.Await(ctx, ready, s.Patience.SetUp); err != nil {
		return fmt.Errorf("wait for the shoot %q: %w", shoot.Name, err)
	}
	return nil
}

func (s *shoots) create(ctx context.Context, garden client.Client, shoot landscape.Shoot) error {
	manifest, err := s.World.ShootManifest(shoot)
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
	return nil
}

// dice are a stream of chance of its own: another consumer, under another name, does not change what it rolls.
func dice(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// populate fills the shoot, past every link, and says what is in it.
func (s *shoots) populate(ctx context.Context, shoot landscape.Shoot) (timeline.ShootReady, error) {
	id, _, err := s.locate(ctx, shoot.Name)
	if err != nil {
		return timeline.ShootReady{}, err
	}
	ready := timeline.ShootReady{TechnicalID: id, Nodes: shoot.Workers, Objects: shoot.Objects}
	client, err := s.clientset(ctx, shoot.Name)
	if err != nil {
		return ready, err
	}
	if err := prepare(ctx, s.Clock, client, shoot); err != nil {
		return ready, err
	}
	return ready, load.Preload(ctx, shoot.Name, client, s.registry.all()[shoot.Name].keys, shoot.Objects, s.Journal)
}

// clientset gives a client of a shoot's API server, past every link.
func (s *scope) clientset(ctx context.Context, shoot string) (kubernetes.Interface, error) {
	config, err := s.connector(shoot, world.Observer)(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	client, err := kubernetes.NewForConfig(world.Unlimited(config))
	if err != nil {
		return nil, fmt.Errorf("make the client: %w", err)
	}
	return client, nil
}

// locate gives the technical id of a shoot, and the seed that it is on.
func (s *shoots) locate(ctx context.Context, shoot string) (id, seed string, err error) {
	err = poll(ctx, s.Clock, "the technical id and the seed", func(ctx context.Context) (bool, error) {
		seen := world.Observe(ctx, s.World, s.clients, world.Query{Shoots: []string{shoot}}).Shoots[shoot]
		if id, seed = seen.TechnicalID, seen.Seed; id == "" || seed == "" {
			return false, fmt.Errorf("the shoot %q has the id %q and the seed %q %v", shoot, id, seed, seen.Unknown)
		}
		return true, nil
	})
	if err != nil {
		return "", "", err
	}
	s.registry.change(shoot, func(e *entry) { e.id = id })
	return id, seed, nil
}

// watch starts the probes of the shoot. The first look at nodes and workload is taken here, so that it is there before
// anything happens.
func (s *shoots) watch(ctx context.Context, shoot landscape.Shoot) error {
	if s.Unwatched {
		return nil
	}
	observer, user := s.connector(shoot.Name, world.Observer), s.connector(shoot.Name, world.User)
	if shoot.Workers > 0 {
		nodes := &probe.Nodes{Shoot: shoot.Name, Actor: world.Observer, Connect: observer}
		pods := &probe.Workload{Shoot: shoot.Name, Actor: world.Observer, Connect: observer}
		for _, p := range []probe.Watched{nodes, pods} {
			if err := p.Sample(ctx, s.Journal); err != nil {
				return fmt.Errorf("look at the %s: %w", p.Name(), err)
			}
			s.observers.follow(ctx, shoot.Name, p)
		}
	}
	if err := s.watchStates(ctx, shoot.Name); err != nil {
		return err
	}
	s.observers.sample(ctx, shoot.Name, &probe.Epochs{Shoot: shoot.Name, World: s.World})
	s.observers.sample(ctx, shoot.Name, &load.Reachability{
		Shoot: shoot.Name, Actor: world.User, Connect: user, Beside: len(s.Scenario.Spec.Landscape.Shoots),
	})
	s.observers.follow(ctx, shoot.Name, &load.Revisions{Shoot: shoot.Name, Actor: world.User, Connect: user})
	return nil
}

// watchStates follows what third-party extensions keep of a shoot, on every seed. The first look is taken here,
// where the shoot is: other seeds may be lost just then.
func (s *shoots) watchStates(ctx context.Context, shoot string) error {
	if len(s.Scenario.Spec.Landscape.Extensions) == 0 {
		return nil
	}
	id, home, err := s.locate(ctx, shoot)
	if err != nil {
		return err
	}
	for _, e := range s.Scenario.Spec.Landscape.Extensions {
		for _, resource := range e.Resources {
			// A Worker's state is the gardenlet's, which makes it of the machines
			// (docs/specification/extensions.md#spec-3-7).
			kind, known := extensionsv1alpha1.KindByName(resource.Kind)
			if !known || !kind.Namespaced || !resource.IsPrimary() {
				continue
			}
			uncompared := kind.Name == extensionsv1alpha1.WorkerResource || resource.StateMayChange
			for _, seed := range s.World.Seeds() {
				c, err := s.clients.Cluster(seed)
				if err != nil {
					return err
				}
				states := &probe.States{Shoot: shoot, Namespace: id, SeedName: seed, Seed: c, Kind: kind, Type: resource.Type,
					Uncompared: uncompared}
				if seed == home {
					if err := states.Sample(ctx, s.Journal); err != nil {
						return fmt.Errorf("look at the %s: %w", states.Name(), err)
					}
				}
				s.observers.follow(ctx, shoot, states)
			}
		}
	}
	return nil
}

func (s *shoots) putToSleep(ctx context.Context, shoot string) error {
	hibernate := step.Hibernate{Shoot: shoot}
	if err := hibernate.Run(ctx, s.env); err != nil {
		return err
	}
	asleep := fmt.Sprintf("shoot('%s').hibernated && shoot('%s').healthy", shoot, shoot)
	if err := s.env.Await(ctx, asleep, s.Patience.SetUp); err != nil {
		return fmt.Errorf("put the shoot %q to sleep: %w", shoot, err)
	}
	return nil
}

// Load starts numbered writes, and reads beside them.
func (s *shoots) Load(ctx context.Context, l step.Load) error {
	user, keys := s.connector(l.Shoot, world.User), s.registry.all()[l.Shoot].keys
	if keys == nil {
		return fmt.Errorf("load the shoot %q: it is not there", l.Shoot)
	}
	s.observers.sample(ctx, loadGroup(l.Shoot), &load.Writer{
		Shoot: l.Shoot, Actor: world.User, Connect: user, Keys: keys, PerSecond: l.WritesPerSecond, Keep: l.KeepConnection,
	})
	s.sample(ctx, loadGroup(l.Shoot), &load.Reader{Shoot: l.Shoot, Actor: world.User, Connect: user, Keys: keys})
	if l.KeepAddress {
		pinned, err := s.World.PinShoot(ctx, l.Shoot)
		if err != nil {
			return fmt.Errorf("keep the address of the shoot %q: %w", l.Shoot, err)
		}
		s.sample(ctx, loadGroup(l.Shoot), &load.CachedReader{
			Shoot: l.Shoot, Actor: world.User, Connect: func(context.Context) (*rest.Config, error) { return pinned, nil },
		})
	}
	return nil
}

// Dismiss ends writes to and probes of a shoot. Its state in the garden is followed on.
func (s *shoots) Dismiss(shoot string) {
	s.observers.end(loadGroup(shoot))
	s.observers.end(shoot)
	s.registry.change(shoot, func(e *entry) { e.on = false })
}

// connector gives an actor's access. A user keeps the access that it was once given, as people do: so the probes of
// users need nothing of the landscape but the shoot. The observer asks anew where the control plane is.
func (s *scope) connector(shoot, actor string) access.Connector {
	if actor != world.User {
		return func(ctx context.Context) (*rest.Config, error) { return s.World.ConnectShoot(ctx, shoot, actor) }
	}
	var mu sync.Mutex
	var kept *rest.Config
	return func(ctx context.Context) (*rest.Config, error) {
		mu.Lock()
		defer mu.Unlock()
		if kept != nil {
			return kept, nil
		}
		config, err := s.World.ConnectShoot(ctx, shoot, actor)
		if err == nil {
			kept = config
		}
		return config, err
	}
}
