package actors

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/api/crds"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
)

// reads counts what is read from an API server, not from a cache, by verb and type.
type reads struct {
	mu    sync.Mutex
	count map[string]int
}

func (r *reads) note(verb string, object any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count[fmt.Sprintf("%s %T", verb, object)]++
}

func (r *reads) reset() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := maps.Clone(r.count)
	clear(r.count)
	return before
}

func (r *reads) client(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	c, err := client.NewWithWatch(config, client.Options{Scheme: gardenScheme()})
	if err != nil {
		t.Fatal(err)
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			r.note("get", o)
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			r.note("list", list)
			return c.List(ctx, list, opts...)
		},
	})
}

func merge(t *testing.T, c client.Writer, object client.Object, patch string) {
	t.Helper()
	if err := c.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

func mergeStatus(t *testing.T, c client.Client, object client.Object, patch string) {
	t.Helper()
	if err := c.Status().Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

const readySeed = `{"status":{"conditions":[{"type":"GardenletReady","status":"True","reason":"r","message":"m",` +
	`"lastTransitionTime":"2026-01-01T00:00:00Z","lastUpdateTime":"2026-01-01T00:00:00Z"}]}}`

// populate makes two seeds with Leases, and a shoot with its state.
func populate(t *testing.T, g client.Client) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: "garden-p", Name: "s"}
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: meta}
	shoot.Spec.Region, shoot.Spec.Provider.Type, shoot.Spec.Kubernetes.Version = "here", "transplant", "1.36.3"
	shoot.Spec.CloudProfile = &gardencorev1beta1.CloudProfileReference{Kind: "CloudProfile", Name: "c"}
	seed := "a"
	shoot.Spec.SeedName = &seed
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-p"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: constants.SeedLeaseNamespace}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: constants.GardenNamespace}},
		shoot, &gardencorev1beta1.ShootState{ObjectMeta: meta},
	}
	for _, name := range []string{"a", "b"} {
		seed := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: name}}
		seed.Spec.Provider = gardencorev1beta1.SeedProvider{Type: "transplant", Region: "here"}
		seed.Spec.Networks = gardencorev1beta1.SeedNetworks{Pods: "10.1.0.0/16", Services: "10.2.0.0/16"}
		objects = append(objects, seed)
	}
	for _, object := range objects {
		if err := g.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		if seed, is := object.(*gardencorev1beta1.Seed); is {
			mergeStatus(t, g, seed, readySeed)
			holder := string(seed.UID)
			lease := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
			lease.Namespace, lease.Name = constants.SeedLeaseNamespace, seed.Name
			if err := g.Create(t.Context(), lease); err != nil {
				t.Fatal(err)
			}
		}
	}
	mergeStatus(t, g, shoot, `{"status":{"seedName":"a"}}`)
}

func renewLeases(t *testing.T, g client.Client, seeds ...string) {
	t.Helper()
	for _, name := range seeds {
		lease := &coordinationv1.Lease{}
		lease.Namespace, lease.Name = constants.SeedLeaseNamespace, name
		merge(t, g, lease, `{"spec":{"renewTime":"`+time.Now().UTC().Format(metav1.RFC3339Micro)+`"}}`)
	}
}

// TestGardenControllerManager_SeedsAreThereAndShootsChange_GardenIsHardlyRead: at rest and while shoots report what
// happens to them, watches say all that is to be known. A seed that is lost is found in time, and costs little.
func TestGardenControllerManager_SeedsAreThereAndShootsChange_GardenIsHardlyRead(t *testing.T) {
	t.Parallel()
	config := apiservertest.Start(t, apiservertest.Options{CRDs: crds.Garden()})
	g, err := client.New(config, client.Options{Scheme: gardenScheme()})
	if err != nil {
		t.Fatal(err)
	}
	populate(t, g)
	read := &reads{count: map[string]int{}}
	mgr := startManager(t, config, read.client(t, config))
	shoot := &gardencorev1beta1.Shoot{}
	shoot.Namespace, shoot.Name = "garden-p", "s"
	alive, renewed := []string{"a", "b"}, time.Now() // renewed is from before the last renewal of a
	await := func(what string, is func(*gardencorev1beta1.Shoot) bool) {
		t.Helper()
		err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true,
			func(ctx context.Context) (bool, error) {
				if slices.Contains(alive, "a") {
					renewed = time.Now()
				}
				renewLeases(t, g, alive...)
				return is(shoot), client.IgnoreNotFound(mgr.GetClient().Get(ctx, client.ObjectKeyFromObject(shoot), shoot))
			})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	await("the shoot gets its label", func(s *gardencorev1beta1.Shoot) bool {
		return s.Labels[constants.ShootStatus] == "healthy" && s.Labels[constants.LabelPrefixSeedName+"a"] != ""
	})
	read.reset()
	began := time.Now()
	for i := range int64(20) {
		mergeStatus(t, g, shoot.DeepCopy(), fmt.Sprintf(`{"status":{"observedGeneration":%d}}`, 100+i))
		await("the change is seen", func(s *gardencorev1beta1.Shoot) bool { return s.Status.ObservedGeneration == 100+i })
	}
	mergeStatus(t, g, shoot.DeepCopy(), `{"status":{"lastOperation":{"type":"Reconcile","state":"Failed","progress":1,`+
		`"description":"","lastUpdateTime":"2026-01-01T00:00:00Z"}}}`)
	await("the shoot gets another label", func(s *gardencorev1beta1.Shoot) bool {
		return s.Labels[constants.ShootStatus] == "unhealthy"
	})
	check := func(most map[string]int) {
		t.Helper()
		for what, count := range read.reset() {
			if count > most[what] {
				t.Errorf("%s: %d times in %v, want at most %d", what, count, time.Since(began), most[what])
			}
		}
	}
	// most is less than one read in two looks, of which there are five in four seconds, and what a slow start needs.
	most := func() int { return 5 + int(time.Since(began)/(800*time.Millisecond))/2 }
	// Seeds and Leases once in five monitor periods; the Shoot if it has changed while its label was written.
	check(map[string]int{"list *v1.LeaseList": most(), "list *v1beta1.SeedList": most(), "get *v1beta1.Shoot": 4})

	alive, began = []string{"b"}, renewed
	await("the shoot of the lost seed says that it cannot go anywhere", func(s *gardencorev1beta1.Shoot) bool {
		return slices.ContainsFunc(s.Status.Constraints, func(c gardencorev1beta1.Condition) bool {
			return c.Type == gardencorev1beta1.ShootEvacuationPossible
		})
	})
	took := time.Since(began)
	if took < 10*time.Second {
		t.Errorf("the seed was lost after %v, within the grace period of ten seconds", took)
	}
	// Seeds and Leases at each look in the second half of the monitor period. Seeds and Shoots when the seed falls silent,
	// when it is lost, twice in the grace period, and where no heartbeat came between two looks.
	lists := most()
	check(map[string]int{"list *v1.LeaseList": lists, "list *v1beta1.SeedList": lists, "list *v1beta1.ShootList": lists,
		"get *v1beta1.Seed": 4, "get *v1beta1.Shoot": 4, "get *v1beta1.ShootState": 4, "get *v1beta1.BackupEntry": 4,
		"get *v1beta1.CloudProfile": 4})
}

// startManager runs the controllers, which read with garden.
func startManager(t *testing.T, config *rest.Config, garden client.Client) manager.Manager {
	t.Helper()
	mgr, err := ctrl.NewManager(config, manager.Options{
		Scheme: gardenScheme(), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Cache: heartbeatsOnly(), Logger: logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	const host = "127.221.9.2" // nobody else has a port there
	listener, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	f := &gardenControllerManagerFlags{}
	if err := f.command().ParseFlags([]string{
		"--webhook-host", host, "--wait-interval", "1s", "--seed-monitor-period", "4s", "--seed-loss-grace-period", "10s",
	}); err != nil {
		t.Fatal(err)
	}
	f.webhook.Port = listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.addDuties(mgr, garden); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
	return mgr
}
