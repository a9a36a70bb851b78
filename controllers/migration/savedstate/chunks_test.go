package savedstate

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/crds"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
)

// chunksGarden is a garden on a real API server.
type chunksGarden struct{ client.Client }

func (g chunksGarden) create(t *testing.T, object client.Object) {
	t.Helper()
	if err := g.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// chunk is written over a version of the ShootState of shoot s.
func (g chunksGarden) chunk(t *testing.T, name, over string) {
	t.Helper()
	chunk := &transplantv1alpha1.ShootStateChunk{
		ShootName: "s", Bytes: 1, SHA256: fmt.Sprintf("%064d", 0), Data: []byte("x"),
	}
	chunk.Namespace, chunk.Name = "garden-p", name
	chunk.Labels = map[string]string{"transplant.dev/shoot": "s"}
	chunk.Annotations = map[string]string{"transplant.dev/over": over}
	g.create(t, chunk)
}

// await waits until only those chunks are there.
func (g chunksGarden) await(t *testing.T, when string, names ...string) {
	t.Helper()
	var got []string
	const often = 50 * time.Millisecond
	err := wait.PollUntilContextTimeout(t.Context(), often, time.Minute, true, func(ctx context.Context) (bool, error) {
		chunks := &transplantv1alpha1.ShootStateChunkList{}
		if err := g.List(ctx, chunks); err != nil {
			return false, err
		}
		got = nil
		for _, chunk := range chunks.Items {
			got = append(got, chunk.Name)
		}
		return fmt.Sprint(got) == fmt.Sprint(names), nil
	})
	if err != nil {
		t.Fatalf("%s: there are %v, want %v: %v", when, got, names, err)
	}
}

// Chunks that were left while nobody looked go, and those that a later event of a ShootState, a chunk or a Shoot names.
func TestChunks_OnARealAPIServer_RemovesWhatNobodyNeeds(t *testing.T) {
	t.Parallel()
	config := apiservertest.Start(t, apiservertest.Options{CRDs: crds.Garden()})
	c, err := client.New(config, client.Options{Scheme: gardenScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	g := chunksGarden{c}
	g.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-p"}})
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "s"}}
	shoot.Spec.Region, shoot.Spec.Provider.Type, shoot.Spec.Kubernetes.Version = "here", "transplant", "1.36.3"
	shoot.Spec.CloudProfile = &gardencorev1beta1.CloudProfileReference{Kind: "CloudProfile", Name: "c"}
	g.create(t, shoot)
	state := &gardencorev1beta1.ShootState{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "s"}}
	g.create(t, state)
	g.chunk(t, "s-left", "older")
	g.chunk(t, "s-now", state.ResourceVersion)

	mgr, err := manager.New(config, manager.Options{
		Scheme: c.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Logger: logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := (&Chunks{States: &shootstate.Store{Garden: c, Clock: clock.RealClock{}}}).AddToManager(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run the manager: %v", err)
		}
	})

	g.await(t, "at the start", "s-now")
	g.chunk(t, "s-late", "older")
	g.await(t, "a save that stood still", "s-now")
	metav1.SetMetaDataAnnotation(&state.ObjectMeta, "transplant.dev/epoch", "1")
	if err := c.Update(t.Context(), state); err != nil {
		t.Fatal(err)
	}
	g.await(t, "the next version of the state")
	g.chunk(t, "s-next", state.ResourceVersion)
	remove(t, c, state)
	g.await(t, "the state is deleted")
	g.chunk(t, "s-first", "none/"+string(shoot.UID))
	g.chunk(t, "s-former", "none/former")
	g.await(t, "before the first version", "s-first")
	remove(t, c, shoot)
	g.await(t, "the shoot is gone")
}
