package probe

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/transplant-sim/transplant/sim/probe/access"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Workload looks at the pods of the load's namespace, past every link, and records what changes.
type Workload struct {
	Shoot   string
	Actor   string
	Connect access.Connector

	seen gathering[timeline.PodSeen]
}

var _ Watched = &Workload{}

// Name of the probe.
func (w *Workload) Name() string { return timeline.WorkloadOf(w.Shoot) }

// Pace of samples.
func (w *Workload) Pace() Pace { return gatheringPace }

// Sample lists the pods.
func (w *Workload) Sample(ctx context.Context, to timeline.Recorder) error {
	return w.seen.sample(ctx, w.view(to))
}

// Follow watches the pods.
func (w *Workload) Follow(ctx context.Context, to timeline.Recorder) error {
	return w.seen.follow(ctx, w.view(to))
}

func (w *Workload) view(to timeline.Recorder) view[timeline.PodSeen] {
	return view[timeline.PodSeen]{
		connect: w.Connect,
		sources: func(c kubernetes.Interface) []source { return []source{sourceOf("pods", c.CoreV1().Pods(Namespace))} },
		describe: func(there []map[string]runtime.Object) map[string]timeline.PodSeen {
			seen := map[string]timeline.PodSeen{}
			for _, pod := range of[*corev1.Pod](there[0]) {
				seen[pod.Name] = describePod(pod)
			}
			return seen
		},
		gone: func(name string) timeline.PodSeen { return timeline.PodSeen{Name: name, Gone: true} },
		note: func(seen timeline.PodSeen) {
			to.Record(timeline.Event{Actor: w.Actor, Subject: w.Shoot, Payload: seen})
		},
	}
}

func describePod(pod *corev1.Pod) timeline.PodSeen {
	seen := timeline.PodSeen{
		Name: pod.Name, UID: string(pod.UID), Node: pod.Spec.NodeName,
		Phase: string(pod.Status.Phase), Deleting: pod.DeletionTimestamp != nil,
	}
	for _, container := range pod.Status.ContainerStatuses {
		seen.Restarts += int(container.RestartCount)
	}
	return seen
}
