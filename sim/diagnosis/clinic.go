package diagnosis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/logs"
	"github.com/transplant-sim/transplant/sim/world"
)

// askWithin bounds one request to a cluster.
const askWithin = 5 * time.Second

// Clinic examines the pods of one cluster.
type Clinic struct {
	Cluster string
	Owners  world.PodOwners
	Clock   clock.PassiveClock
	API     kubernetes.Interface
	// PortHolders names the programs that listen at a port, where all pods share those of this machine; nil elsewhere.
	PortHolders func(port int) []string
}

// NewClinic for a cluster, as whom the config says.
func NewClinic(cluster string, config *rest.Config, owners world.PodOwners, c clock.PassiveClock) (*Clinic, error) {
	api, err := kubernetes.NewForConfig(world.Unlimited(config))
	if err != nil {
		return nil, fmt.Errorf("make the client for cluster %q: %w", cluster, err)
	}
	return &Clinic{Cluster: cluster, Owners: owners, Clock: c, API: api}, nil
}

// Look at all pods that are somebody's, once. Findings are the containers that are not up, without their logs.
func (c *Clinic) Look(ctx context.Context) ([]Finding, error) {
	pods, err := c.pods(ctx)
	if err != nil {
		return nil, err
	}
	var found []Finding
	for i := range pods {
		found = append(found, c.ofPod(ctx, &pods[i])...)
	}
	return found, nil
}

func (c *Clinic) pods(ctx context.Context) ([]corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	pods, err := c.API.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, fmt.Errorf("list the pods of cluster %q: %w", c.Cluster, err)
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return pods.Items, nil
}

// Ranks of owners: what comes later may fail because of what comes before.
const (
	rankExtension = iota
	rankActor
	rankControlPlane
)

func rankOf(owner world.PodOwner) int {
	switch {
	case owner.Extension != "":
		return rankExtension
	case owner.Shoot != "":
		return rankControlPlane
	}
	return rankActor
}

func (c *Clinic) ofPod(ctx context.Context, pod *corev1.Pod) []Finding {
	owner, known := c.Owners.OwnerOf(c.Cluster, pod)
	if !known || pod.DeletionTimestamp != nil {
		return nil
	}
	base := Finding{Owner: owner, Cluster: c.Cluster, pod: pod}
	name := pod.Namespace + "/" + pod.Name
	if why := withoutContainers(pod); why != "" {
		base.State, base.What = Suspect, fmt.Sprintf("%s (pod %s)", why, name)
		if owner.Extension != "" && pod.Status.Phase == corev1.PodFailed {
			base.State = Unstartable // the node has refused it as it is
		}
		return []Finding{base}
	}
	var found []Finding
	for _, one := range Containers(pod) {
		f := base
		f.State = one.state(c.Clock.Since(pod.CreationTimestamp.Time))
		c.addCause(ctx, &f, one)
		if f.State == Fine {
			continue
		}
		f.container, f.logged = one.Name, !one.neverRan()
		f.What = fmt.Sprintf("%s (container %s of pod %s)", one.why(), one.Name, name)
		found = append(found, f)
	}
	return found
}

// OfExtension is the finding about a third-party extension that leaves its objects in a state: the first of its
// containers that is not up, or what its log ends with. what says which objects, and for how long.
func (c *Clinic) OfExtension(ctx context.Context, owner world.PodOwner, state State, what string) Finding {
	f := Finding{Owner: owner, Cluster: c.Cluster, State: state, What: what, object: true}
	found, _ := c.Look(ctx) // if that cannot be, the log cannot be read either, and the finding says why
	for _, one := range found {
		if one.Owner == owner {
			f = one
			f.What += "; " + what
			break
		}
	}
	c.addLog(ctx, &f)
	return f
}

// withoutContainers is why a pod has none to speak of; empty when it has.
func withoutContainers(pod *corev1.Pod) string {
	if pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "" {
		return pod.Status.Reason + ": " + oneLine(pod.Status.Message)
	}
	if len(pod.Status.ContainerStatuses) > 0 || len(pod.Status.InitContainerStatuses) > 0 {
		return ""
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status != corev1.ConditionTrue {
			return condition.Reason + ": " + oneLine(condition.Message)
		}
	}
	return "no node has started it yet"
}

// addLog adds what a log ends with: that of the container or, to a finding about an object, those of whom it waits for.
// Where nothing has run there is a warning of the node.
func (c *Clinic) addLog(ctx context.Context, f *Finding) {
	switch {
	case f.object:
		c.addLogOfOwner(ctx, f)
	case f.logged:
		f.Log, f.LogUnread = LastWords(ctx, c.API, f.pod, f.container)
		c.addHolders(f)
	default:
		if warned := c.warning(ctx, f.pod); warned != "" {
			f.What += "; " + warned
		}
	}
}

// addLogOfOwner takes the first of its containers that has said anything.
func (c *Clinic) addLogOfOwner(ctx context.Context, f *Finding) {
	pods, err := c.pods(ctx)
	if err != nil {
		f.LogUnread = oneLine(err.Error())
		return
	}
	for i := range pods {
		if owner, known := c.Owners.OwnerOf(c.Cluster, &pods[i]); !known || owner.Actor != f.Owner.Actor {
			continue
		}
		for _, container := range pods[i].Spec.Containers {
			f.logged = true
			if f.Log, f.LogUnread = LastWords(ctx, c.API, &pods[i], container.Name); len(f.Log) > 0 {
				if cause, known := c.causeOf(ctx, &pods[i], container.Name); known && f.Owner.Extension != "" {
					f.Cause = &cause
				}
				return
			}
		}
	}
}

// addHolders names who has the port that the container cannot have.
func (c *Clinic) addHolders(f *Finding) {
	if f.Cause == nil || f.Cause.port == 0 || c.PortHolders == nil {
		return
	}
	if holders := c.PortHolders(f.Cause.port); len(holders) > 0 {
		f.Cause.Remedy = "the port is taken by " + strings.Join(holders, ", ") + "; " + f.Cause.Remedy
	}
}

// LastWords of a container: the last lines of the run that goes on or has ended last and, where that has said nothing
// yet, of the one before. Without lines, unread is why they could not be read; empty when nothing was said.
func LastWords(
	ctx context.Context, api kubernetes.Interface, pod *corev1.Pod, container string,
) (lines []string, unread string) {
	lines, err := logs.Tail(ctx, api, pod, container, logs.Last)
	if len(lines) > 0 {
		return lines, ""
	}
	if before, _ := logs.Tail(ctx, api, pod, container, logs.Previous); len(before) > 0 { // there may be none
		return before, ""
	}
	if err != nil {
		return nil, oneLine(err.Error())
	}
	return nil, ""
}

// warning is the newest that there is about a pod; empty when there is none, or the cluster does not answer.
func (c *Clinic) warning(ctx context.Context, pod *corev1.Pod) string {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	about := fields.Set{"involvedObject.uid": string(pod.UID), "type": corev1.EventTypeWarning}
	events, err := c.API.CoreV1().Events(pod.Namespace).List(ctx, metav1.ListOptions{FieldSelector: about.String()})
	if err != nil || len(events.Items) == 0 {
		return ""
	}
	newest := slices.MaxFunc(events.Items, func(a, b corev1.Event) int {
		return a.LastTimestamp.Compare(b.LastTimestamp.Time)
	})
	return newest.Reason + ": " + oneLine(newest.Message)
}
