package worldtest

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// Bug is something that can be planted.
type Bug string

// Bugs, each to be noticed by another oracle.
const (
	NoBug           Bug = ""
	LosesWrites     Bug = "the newest writes are not in the backup"
	NoRevisionBump  Bug = "the restored store goes on at a lower revision"
	LeavesOrphan    Bug = "a ClusterRole is left on the source"
	LeavesConfig    Bug = "an extension leaves a ConfigMap in the namespace that the source removes"
	RecreatesCloud  Bug = "a router is created again"
	ReplacesNodes   Bug = "the nodes are registered again"
	ReplacesObjects Bug = "an object of a user is made anew"
	NeverEnds       Bug = "the migration stops in the middle"
	TwoOwners       Bug = "the source goes on being valid and answers the observer"
	NeverRests      Bug = "the status of a shoot is written again and again"
)

// namespace of the project.
const namespace = "garden-p"

// World is a small world.
type World struct {
	Bug Bug
	// Outage is how long no control plane answers during a migration.
	Outage time.Duration
	// Kept is how long a source waits at most, before it removes the namespace, for somebody to read it.
	Kept time.Duration

	garden *Server
	seeds  map[string]*Server
	order  []string
	cloud  *httptest.Server
	client *cloud.Client

	ledger *ledger
	faults injections

	mu      sync.Mutex
	planes  map[string][]*plane // by shoot, the last one is the newest
	names   map[string]*Server  // public name of each shoot
	stopped int
	cancel  context.CancelFunc
	done    sync.WaitGroup
}

var _ world.World = &World{}

// plane is a control plane of a shoot.
type plane struct {
	seed    string
	epoch   int64
	server  *Server
	serving bool
}

var (
	namespaces = resource{"", "v1", "namespaces", "Namespace", false}
	configMaps = resource{"", "v1", "configmaps", "ConfigMap", true}
	events     = resource{"", "v1", "events", "Event", true}
	states     = resource{"core.gardener.cloud", "v1beta1", "shootstates", "ShootState", true}
	pods       = resource{"", "v1", "pods", "Pod", true}
	nodes      = resource{"", "v1", "nodes", "Node", false}
	runtimes   = resource{"node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", false}
	leases     = resource{"coordination.k8s.io", "v1", "leases", "Lease", true}
	roles      = resource{"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false}
	shoots     = resource{"core.gardener.cloud", "v1beta1", "shoots", "Shoot", true}
	profiles   = resource{"core.gardener.cloud", "v1beta1", "cloudprofiles", "CloudProfile", false}
	extensions = resource{"extensions.gardener.cloud", "v1alpha1", "extensions", "Extension", true}
	seedsKind  = resource{"core.gardener.cloud", "v1beta1", "seeds", "Seed", false}
)

// New makes a world with these seeds; it ends with the test.
func New(t testing.TB, seeds ...string) *World {
	ctx, cancel := context.WithCancel(context.Background())
	w := &World{
		Outage: 300 * time.Millisecond, order: seeds, seeds: map[string]*Server{}, planes: map[string][]*plane{},
		names: map[string]*Server{}, ledger: &ledger{},
		garden: newServer(newStore(), namespaces, events, leases, shoots, states, profiles, seedsKind), cancel: cancel,
	}
	for _, seed := range seeds {
		w.seeds[seed] = newServer(newCluster(), withBuiltIn(events, leases, pods, nodes, extensions)...)
		w.garden.store.put("/apis/core.gardener.cloud/v1beta1/seeds/"+seed, object{
			"kind": "Seed", "apiVersion": "core.gardener.cloud/v1beta1", "metadata": object{"name": seed},
			"status": object{"conditions": []object{{"type": "GardenletReady", "status": "True"}}},
		})
	}
	w.cloud = httptest.NewServer(w.ledger)
	var err error
	if w.client, err = cloud.New(&rest.Config{Host: w.cloud.URL}, cloud.Options{}); err != nil {
		t.Fatal(err)
	}
	w.done.Go(func() { gardenlet{w}.operate(ctx) })
	t.Cleanup(w.close)
	return w
}

func (w *World) close() {
	w.cancel()
	w.done.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	all := []*Server{w.garden}
	for _, seed := range w.order {
		all = append(all, w.seeds[seed])
	}
	for _, planes := range w.planes {
		for _, p := range planes {
			all = append(all, p.server)
		}
	}
	for _, name := range w.names {
		all = append(all, name)
	}
	for _, server := range all {
		server.CloseClientConnections()
		server.Close()
	}
	w.cloud.CloseClientConnections()
	w.cloud.Close()
}

// Seeds implements world.World.
func (w *World) Seeds() []string { return w.order }

// Connect implements world.World.
func (w *World) Connect(cluster string) (*rest.Config, error) {
	if cluster == landscape.Garden {
		return w.garden.Config(), nil
	}
	if server := w.seeds[cluster]; server != nil {
		return server.Config(), nil
	}
	return nil, fmt.Errorf("there is no cluster %q", cluster)
}

// Cloud implements world.World.
func (w *World) Cloud() *cloud.Client { return w.client }

// Ready implements world.World: whoever there is works.
func (*World) Ready(context.Context) error { return nil }

// Refresh implements world.World: nobody dies here.
func (*World) Refresh(context.Context) error { return nil }

// KeepLogs implements world.World: nobody writes any.
func (*World) KeepLogs(context.Context, string) error { return nil }

// Stop implements world.World; it only counts.
func (w *World) Stop(context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped++
	return nil
}

// Stopped is how often Stop was called.
func (w *World) Stopped() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stopped
}

// ShootKey implements world.World.
func (w *World) ShootKey(shoot string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: shoot}
}

// ShootManifest implements world.World.
func (w *World) ShootManifest(wanted landscape.Shoot) (*gardencorev1beta1.Shoot, error) {
	seed := wanted.Seed
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: wanted.Name}}
	shoot.Spec.SeedName = &seed
	if wanted.Workers > 0 {
		shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Name: "pool", Minimum: int32(wanted.Workers),
			Maximum: int32(wanted.Workers)}}
	}
	return shoot, nil
}

// ConnectShoot implements world.World.
func (w *World) ConnectShoot(_ context.Context, shoot, actor string) (*rest.Config, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	planes := w.planes[shoot]
	switch {
	case len(planes) == 0:
		return nil, fmt.Errorf("the shoot %q has no control plane", shoot)
	case actor == world.User:
		return w.names[shoot].Config(), nil
	}
	return planes[len(planes)-1].server.Config(), nil
}

// PinShoot implements world.World: the newest control plane of now.
func (w *World) PinShoot(ctx context.Context, shoot string) (*rest.Config, error) {
	return w.ConnectShoot(ctx, shoot, world.Observer)
}

// ControlPlanes implements world.World.
func (w *World) ControlPlanes(_ context.Context, shoot string) ([]world.ControlPlane, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []world.ControlPlane
	for _, p := range w.planes[shoot] {
		validity := world.Validity{State: "Fenced", Owner: p.seed, Epoch: p.epoch}
		if p.serving {
			validity.State, validity.Remaining = "Serving", 5*time.Second
		}
		found = append(found, world.ControlPlane{
			Seed: p.seed, API: p.server.Config(), Validity: func(context.Context) (world.Validity, error) {
				return validity, nil
			},
		})
	}
	return found, nil
}

// Items implements world.World: a data folder for each control plane on its seed.
func (w *World) Items(context.Context) (map[string][]timeline.Item, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	items := map[string][]timeline.Item{"cloud": {{Class: "record", Name: "api.example"}}}
	for shoot, planes := range w.planes {
		if len(planes) > 0 {
			p := planes[len(planes)-1]
			items[p.seed] = append(items[p.seed], timeline.Item{Class: "folder", Name: technicalID(shoot)})
		}
	}
	return items, nil
}

// Certain implements world.World: of a control plane here there is a folder.
func (*World) Certain() (onSeed, inCloud []string) { return []string{"folder"}, nil }

func technicalID(shoot string) string { return "shoot--p--" + shoot }
