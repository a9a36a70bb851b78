package observe

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
)

// locations are the mirrors of what probes have to find many times a second: the access to shoots, the seeds that
// they are on, and the pods of their control planes.
type locations struct {
	access *mirror[*corev1.Secret]
	shoots *mirror[*gardencorev1beta1.Shoot]
	pods   map[string]*mirror[*corev1.Pod] // by seed

	stop context.CancelFunc
	done sync.WaitGroup
}

// inControlPlanes are the pods that are asked for.
var inControlPlanes = func() labels.Requirement {
	is, err := labels.NewRequirement(constants.LabelRole, selection.In,
		[]string{workload.Etcd, workload.KubeAPIServer})
	if err != nil {
		panic(err) // names of ours
	}
	return *is
}()

func newLocations(garden client.WithWatch, seeds map[string]client.WithWatch) *locations {
	w := &locations{
		access: &mirror[*corev1.Secret]{
			cluster: garden, list: func() client.ObjectList {
				return &corev1.SecretList{}
			}, options: []client.ListOption{environment.AccessLabels()},
		},
		shoots: &mirror[*gardencorev1beta1.Shoot]{cluster: garden, list: func() client.ObjectList {
			return &gardencorev1beta1.ShootList{}
		}},
		pods: map[string]*mirror[*corev1.Pod]{},
	}
	planes := client.MatchingLabelsSelector{Selector: labels.SelectorFromSet(nil).Add(inControlPlanes)}
	for name, seed := range seeds {
		w.pods[name] = &mirror[*corev1.Pod]{
			cluster: seed, list: func() client.ObjectList { return &corev1.PodList{} },
			options: []client.ListOption{planes},
		}
	}
	return w
}

// follow the clusters until end is called.
func (w *locations) follow() {
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.done.Go(func() { w.access.run(ctx) })
	w.done.Go(func() { w.shoots.run(ctx) })
	for _, pods := range w.pods {
		w.done.Go(func() { pods.run(ctx) })
	}
}

func (w *locations) end() {
	if w != nil && w.stop != nil {
		w.stop()
		w.done.Wait()
	}
}
