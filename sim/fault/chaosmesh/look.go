package chaosmesh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/chaos-mesh/chaos-mesh/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/clusters/ready"
	"github.com/transplant-sim/transplant/sim/world"
)

// look sees for itself, whatever Chaos Mesh says, whether a victim is harmed now. before is the pod as it was. What
// cannot be seen is an error.
type look func(ctx context.Context, m *meshed, before *corev1.Pod) (harmed bool, err error)

const (
	// biteWithin is how long the probe is waited for when Chaos Mesh says that the harm is done.
	biteWithin  = 15 * time.Second
	cleanWithin = 40 * time.Second
	// noticeable is what a delay must take to be no chance.
	noticeable = 20 * time.Millisecond
	// again is when a lost packet is sent again that was to open a connection; a bit less.
	again = 900 * time.Millisecond
	// nodePort is the kubelet's, which every node has: pods without another target knock there.
	nodePort = 10250
)

// podsApplied leaves all actions to Chaos Mesh; the API server shows whether they bite.
func podsApplied(spec *v1alpha1.PodChaosSpec) *applied {
	looks := map[v1alpha1.PodChaosAction]look{
		v1alpha1.PodKillAction: gone, v1alpha1.ContainerKillAction: restarted(spec.ContainerNames),
		v1alpha1.PodFailureAction: otherImage,
	}
	if looks[spec.Action] == nil {
		return nil
	}
	return &applied{
		selectors: []v1alpha1.PodSelector{spec.PodSelector}, look: looks[spec.Action],
		lasting: spec.Action == v1alpha1.PodFailureAction,
	}
}

// networkApplied leaves to Chaos Mesh what connections from the victims show. They show neither rates nor duplicates,
// which links do, unless they lack something; then the records say whether there are hits. External targets are other
// clusters here, which only links know.
func networkApplied(spec *v1alpha1.NetworkChaosSpec, linksLack bool) *applied {
	slowest, visible := slowness(spec)
	if spec.Action == v1alpha1.BandwidthAction || spec.Rate != nil || spec.Duplicate != nil ||
		spec.PartitionBehavior == v1alpha1.RejectPartitionBehavior {
		visible = false
	}
	if !visible && !linksLack || len(spec.ExternalTargets) > 0 {
		return nil
	}
	a := &applied{selectors: []v1alpha1.PodSelector{spec.PodSelector}, network: true, lasting: true}
	if visible {
		a.look = knock(slowest)
	}
	if spec.Target != nil {
		a.selectors = append(a.selectors, *spec.Target)
	}
	return a
}

// slowness is how long a connection may take that is not harmed.
func slowness(spec *v1alpha1.NetworkChaosSpec) (limit time.Duration, visible bool) {
	const longerThanAnyKnock = time.Hour
	limit = longerThanAnyKnock
	if d := spec.Delay; d != nil {
		latency, err := time.ParseDuration(d.Latency)
		if err != nil {
			return 0, false // the check reports it
		}
		limit, visible = max(latency/2, noticeable), true
	}
	if spec.Loss != nil || spec.Corrupt != nil { // what is corrupt is dropped by the receiver
		limit, visible = min(limit, again), true
	}
	return limit, visible || spec.Action == v1alpha1.PartitionAction
}

// now is the pod as it is; nil when it is no more.
func now(ctx context.Context, m *meshed, before *corev1.Pod) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	err := m.client.Get(ctx, client.ObjectKeyFromObject(before), pod)
	if apierrors.IsNotFound(err) || err == nil && pod.UID != before.UID {
		return nil, nil
	}
	return pod, err
}

func gone(ctx context.Context, m *meshed, before *corev1.Pod) (bool, error) {
	pod, err := now(ctx, m, before)
	return err == nil && (pod == nil || pod.DeletionTimestamp != nil), err
}

func restarted(names []string) look {
	return compare(func(was, is corev1.ContainerStatus) bool {
		return slices.Contains(names, was.Name) && was.ContainerID != is.ContainerID
	})
}

// otherImage is how a pod is made to fail: its containers run what does nothing.
var otherImage = compare(func(was, is corev1.ContainerStatus) bool { return was.Image != is.Image })

// compare finds a container of which something is said to have changed. A pod that is no more is not harmed by that.
func compare(differ func(was, is corev1.ContainerStatus) bool) look {
	return func(ctx context.Context, m *meshed, before *corev1.Pod) (bool, error) {
		pod, err := now(ctx, m, before)
		if err != nil || pod == nil {
			return false, err
		}
		for _, was := range before.Status.ContainerStatuses {
			if slices.ContainsFunc(pod.Status.ContainerStatuses, func(is corev1.ContainerStatus) bool {
				return is.Name == was.Name && differ(was, is)
			}) {
				return true, nil
			}
		}
		return false, nil
	}
}

// knock connects to somebody from the victim's network: no answer, or a late one, is harm.
func knock(slowest time.Duration) look {
	return func(ctx context.Context, m *meshed, before *corev1.Pod) (bool, error) {
		if pod, err := now(ctx, m, before); err != nil || pod == nil {
			return false, err
		}
		took, err := m.world.DialFromPod(ctx, m.cluster, before.UID, m.peer(before))
		if errors.Is(err, world.ErrNoAnswer) {
			return true, nil
		}
		return err == nil && took >= slowest, err
	}
}

// peer is where a victim knocks: at a pod that Chaos Mesh took for its target, or at its node. Whether the port is open
// is no matter.
func (m *meshed) peer(victim *corev1.Pod) string {
	for _, r := range m.records() {
		pod, known := m.before[podOfRecord(r)]
		if r.SelectorKey == ".Target" && known && pod.UID != victim.UID {
			port := int32(nodePort)
			for _, c := range pod.Spec.Containers {
				for _, p := range c.Ports {
					port = cmp.Or(p.ContainerPort, port)
				}
			}
			return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(port)))
		}
	}
	return net.JoinHostPort(victim.Status.HostIP, strconv.Itoa(nodePort))
}

// victims are the pods that Chaos Mesh says it has harmed, as they were before.
func (m *meshed) victims() []corev1.Pod {
	found := map[types.NamespacedName]corev1.Pod{}
	for _, r := range m.records() {
		if pod, known := m.before[podOfRecord(r)]; known && r.SelectorKey == "." {
			found[podOfRecord(r)] = pod
		}
	}
	var pods []corev1.Pod
	for _, pod := range found {
		pods = append(pods, pod)
	}
	return pods
}

// watcher looks at the victims until each was seen to be harmed.
type watcher struct {
	cancel context.CancelFunc
	done   chan struct{}

	mutex sync.Mutex
	seen  map[types.UID]bool
}

func (m *meshed) watch(ctx context.Context) *watcher {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &watcher{cancel: cancel, done: make(chan struct{}), seen: map[types.UID]bool{}}
	victims := m.victims()
	go func() {
		defer close(w.done)
		// ends with the watcher
		_ = wait.PollUntilContextCancel(ctx, meshPoll, true, func(ctx context.Context) (bool, error) {
			for i := range victims {
				if harmed, err := m.look(ctx, m, &victims[i]); err == nil && harmed { // what cannot be seen is unknown
					w.note(victims[i].UID)
				}
			}
			return w.count() == len(victims), nil
		})
	}()
	return w
}

func (w *watcher) note(victim types.UID) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.seen[victim] = true
}

// count is how many victims were seen to be harmed.
func (w *watcher) count() int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return len(w.seen)
}

// await the proof, for a while: without one the fault has hit nothing, which is for the verdict to say.
func (w *watcher) await(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, biteWithin)
	defer cancel()
	select {
	case <-w.done:
	case <-ctx.Done():
	}
}

func (w *watcher) stop() {
	w.cancel()
	<-w.done
}

// awaitClean waits until no victim is seen to be harmed any more.
func (m *meshed) awaitClean(ctx context.Context) error {
	err := ready.Await(ctx, meshPoll, cleanWithin, func(ctx context.Context) error {
		for _, victim := range m.victims() {
			harmed, err := m.look(ctx, m, &victim)
			switch {
			case err != nil:
				return fmt.Errorf("look at the pod %s/%s: %w", victim.Namespace, victim.Name, err)
			case harmed:
				return fmt.Errorf("the pod %s/%s is still harmed", victim.Namespace, victim.Name)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("wait until nothing is left of %s: %w", m, err)
	}
	return nil
}
