package actors

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
)

// watchedSeed and watchedGarden have nothing but a cache.
type watchedSeed struct {
	cluster.Cluster
	cache *informertest.FakeInformers
}

func (w watchedSeed) GetCache() cache.Cache { return w.cache }

type watchedGarden struct {
	manager.Manager
	cache *informertest.FakeInformers
}

func (w watchedGarden) GetCache() cache.Cache { return w.cache }

// Whoever waits for the end of a namespace hears of it, and of the end of what was in it.
func TestRingOnChange_SomethingGoes_RingsForTheNamespace(t *testing.T) {
	t.Parallel()
	const shoot = "shoot--p--alpha"
	for name, gone := range map[string]client.Object{
		"a pod of the namespace": &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: shoot, Name: "etcd-main-0"}},
		"the namespace itself":   &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shoot}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := watchedSeed{cache: &informertest.FakeInformers{Scheme: seedScheme()}}
			garden, bell := watchedGarden{cache: &informertest.FakeInformers{Scheme: gardenScheme()}}, &scope.Bell{}
			if err := ringOnChange(t.Context(), seed, garden, bell); err != nil {
				t.Fatal(err)
			}
			watched, err := seed.cache.FakeInformerFor(t.Context(), gone)
			if err != nil {
				t.Fatal(err)
			}
			rung := bell.Listen(shoot)
			watched.Delete(gone)
			select {
			case <-rung:
			default:
				t.Error("nobody is woken")
			}
		})
	}
}
