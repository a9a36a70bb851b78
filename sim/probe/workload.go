package probe

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// Workload looks at the pods of the load's namespace, past every link, and records what has changed.
type Workload struct {
	Shoot   string
	Actor   string
	Connect Connector

	kept keptClient
	last map[string]timeline.PodSeen
}

var _ Probe = &Workload{}

// Name of the probe.
func (w *Workload) Name() string { return "workload of " + w.Shoot }

// Pace is once a second.
func (w *Workload) Pace() Pace { return Pace{Every: time.Second, Timeout: 3 * time.Second, Overlap: 1} }

// Sample lists the pods.
func (w *Workload) Sample(ctx context.Context, to timeline.Recorder) error {
	config, err := w.Connect(ctx)
	if err != nil {
		return fmt.Errorf("find out how to reach the shoot: %w", err)
	}
	client, err := w.kept.get(compact(config))
	if err != nil {
		return err
	}
	pods, err := client.CoreV1().Pods(Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	seen := map[string]timeline.PodSeen{}
	for i := range pods.Items {
		seen[pods.Items[i].Name] = describePod(&pods.Items[i])
	}
	for _, name := range changed(w.last, seen) {
		now, there := seen[name]
		if !there {
			now = timeline.PodSeen{Name: name, Gone: true}
		}
		to.Record(timeline.Event{Actor: w.Actor, Subject: w.Shoot, Payload: now})
	}
	w.last = seen
	return nil
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
