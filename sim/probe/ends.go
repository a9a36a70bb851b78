package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/sim/diagnosis"
	"github.com/transplant-sim/transplant/sim/logs"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// Ends watches the pods of one cluster and records every container of an actor, of a third-party extension or of a
// shoot's control plane that ends while its pod is to go on, with the last lines of its log. Whether the end was meant
// to be, as one by a fault is, it does not say.
type Ends struct {
	Cluster string
	Pods    client.WithWatch
	API     kubernetes.Interface // for logs
	Owners  world.PodOwners
	// Since is when the run began: what has ended before is not of it.
	Since time.Time

	known map[part]string // the last end that is known of each container
}

var _ Follower = &Ends{}

// part is a container of a pod.
type part struct {
	pod       types.UID
	container string
}

// logWithin bounds the reading of one log: what happens meanwhile is seen later.
const logWithin = 5 * time.Second

// Name of the probe.
func (p *Ends) Name() string { return "ends of actors in " + p.Cluster }

// Follow lists and watches until the watch ends.
func (p *Ends) Follow(ctx context.Context, to timeline.Recorder) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	return followObjects(ctx, p.Pods, list, func(there []unstructured.Unstructured) error {
		for i := range there {
			if err := p.see(ctx, &there[i], to); err != nil {
				return err
			}
		}
		return nil
	}, func(kind watch.EventType, pod *unstructured.Unstructured) error {
		if kind == watch.Deleted {
			return nil
		}
		return p.see(ctx, pod, to)
	})
}

func (p *Ends) see(ctx context.Context, object *unstructured.Unstructured, to timeline.Recorder) error {
	pod := &corev1.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, pod); err != nil {
		return fmt.Errorf("decode the pod %s/%s: %w", object.GetNamespace(), object.GetName(), err)
	}
	owner, known := p.Owners.OwnerOf(p.Cluster, pod)
	if !known {
		return nil
	}
	for _, container := range diagnosis.Containers(pod) {
		if p.fresh(pod, container) && pod.DeletionTimestamp == nil && !container.Done() {
			p.record(ctx, owner, pod, container, to)
		}
	}
	return nil
}

// fresh says whether the last end of a container is one that was not known.
func (p *Ends) fresh(pod *corev1.Pod, container diagnosis.Container) bool {
	if container.Ended == nil {
		return false
	}
	if p.known == nil {
		p.known = map[part]string{}
	}
	at, end := part{pod.UID, container.Name}, cmp.Or(container.Ended.ID, container.Ended.At.String())
	if p.known[at] == end {
		return false
	}
	p.known[at] = end
	return !container.Ended.At.Before(p.Since.Truncate(time.Second)) // the node's times are whole seconds
}

func (p *Ends) record(
	ctx context.Context, owner world.PodOwner, pod *corev1.Pod, c diagnosis.Container, to timeline.Recorder,
) {
	ended := timeline.ActorEnded{
		Who: owner.Actor, Extension: owner.Extension,
		Cluster: p.Cluster, Pod: pod.Namespace + "/" + pod.Name, Container: c.Name,
		ExitCode: c.Ended.ExitCode, Signal: c.Ended.Signal, Reason: c.Ended.Reason, Message: c.Ended.Message,
		Restarts: c.Restarts, Ended: c.Ended.At.UTC().Format(time.RFC3339),
	}
	lines, err := p.log(ctx, pod, c)
	if ended.Log = lines; err != nil {
		ended.LogUnread = err.Error()
	}
	to.Record(timeline.Event{Actor: world.Observer, Subject: cmp.Or(owner.Shoot, owner.Actor), Payload: ended})
}

// log of the run that has ended: the container may run again, or do so while its log is read.
func (p *Ends) log(ctx context.Context, pod *corev1.Pod, c diagnosis.Container) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, logWithin)
	defer cancel()
	if c.Running {
		return logs.Tail(ctx, p.API, pod, c.Name, logs.Previous)
	}
	lines, err := logs.Tail(ctx, p.API, pod, c.Name, logs.Last)
	if err != nil {
		return lines, err
	}
	now, err := p.API.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("make sure whose log it is: %w", err)
	}
	for _, is := range diagnosis.Containers(now) {
		switch {
		case is.Name != c.Name:
		case !is.Running && is.Restarts == c.Restarts:
			return lines, nil
		case is.Restarts <= c.Restarts+1:
			return logs.Tail(ctx, p.API, pod, c.Name, logs.Previous)
		}
	}
	return nil, errors.New("it has been started again since, more than once")
}
