package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/step"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// prepare makes the load's namespace and one pod on every node.
func prepare(ctx context.Context, by clock.Clock, client kubernetes.Interface, shoot landscape.Shoot) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: probe.Namespace}}
	err := poll(ctx, by, "the namespace of the load", func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err), err
	})
	if err != nil {
		return err
	}
	if shoot.Workers == 0 {
		return nil
	}
	var nodes []corev1.Node
	err = poll(ctx, by, fmt.Sprintf("%d ready nodes", shoot.Workers), func(ctx context.Context) (bool, error) {
		list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		nodes = readyNodes(list.Items)
		return len(nodes) == shoot.Workers, fmt.Errorf("%d of %d nodes are ready", len(nodes), len(list.Items))
	})
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if err := place(ctx, by, client, node.Name); err != nil {
			return err
		}
	}
	return poll(ctx, by, "the workload", func(ctx context.Context) (bool, error) {
		return allRunning(ctx, client, len(nodes))
	})
}

// place puts a pod on a node directly: shoots have no scheduler. The namespace's ServiceAccount may still be missing.
func place(ctx context.Context, by clock.Clock, client kubernetes.Interface, node string) error {
	no := false
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "on-" + node, Labels: map[string]string{"app": "transplant-workload"}},
		Spec: corev1.PodSpec{
			NodeName: node, AutomountServiceAccountToken: &no,
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers:  []corev1.Container{{Name: "work", Image: "transplant.dev/work:dev"}},
		},
	}
	return poll(ctx, by, "a pod on node "+node, func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().Pods(probe.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err), err
	})
}

func readyNodes(all []corev1.Node) []corev1.Node {
	var ready []corev1.Node
	for _, node := range all {
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				ready = append(ready, node)
			}
		}
	}
	return ready
}

func allRunning(ctx context.Context, client kubernetes.Interface, want int) (bool, error) {
	pods, err := client.CoreV1().Pods(probe.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	running := 0
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodRunning {
			running++
		}
	}
	return running >= want, fmt.Errorf("%d of %d pods are running", running, want)
}

// poll looks until there is what is awaited, or ctx ends; then the error says how far it had come.
func poll(ctx context.Context, by clock.Clock, what string, look func(context.Context) (bool, error)) error {
	for {
		there, err := look(ctx)
		if there {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w; last: %w", what, context.Cause(ctx), err)
		case <-by.After(pollInterval):
		}
	}
}

// Prepared is a landscape whose shoots are ready, and what there was before them: without that, nobody could say
// what a run has left. Runs populate the shoots by themselves, each as its scenario wants it.
type Prepared struct {
	// LedgerAt is the number of the last entry of the cloud's ledger before the shoots.
	LedgerAt int64 `json:"ledgerAt"`
	// Before are the inventories of before the shoots, by place.
	Before map[string]timeline.InventorySeen `json:"before"`
}

// record the inventories, as a run does that takes them.
func (p *Prepared) record(to timeline.Recorder) {
	for _, place := range slices.Sorted(maps.Keys(p.Before)) {
		to.Record(timeline.Event{Actor: world.Observer, Subject: place, Payload: p.Before[place]})
	}
}

// Prepare makes the shoots that the scenario begins with, with a pod on each of their nodes, and waits until the
// landscape has settled. It ends with an error if something has not settled in time.
func Prepare(ctx context.Context, o Options) (*Prepared, error) {
	o.Patience.fill()
	o.Unwatched = true
	s := &scope{Options: o, registry: registry{shoots: map[string]entry{}}}
	var err error
	if s.clients, err = world.NewClients(o.World); err != nil {
		return nil, err
	}
	s.faults, s.observers = fault.NewActive(o.World, o.Journal), newObservers(o.Clock, o.Journal)
	made := &shoots{scope: s}
	made.env = &step.Environment{World: o.World, Clients: s.clients, Record: o.Journal, Clock: o.Clock, Faults: s.faults,
		Shoots: made}
	prepared := &Prepared{Before: map[string]timeline.InventorySeen{}}
	if c := o.World.Cloud(); c != nil {
		if prepared.LedgerAt, err = LedgerAt(ctx, c); err != nil {
			return nil, err
		}
	}
	if err := (inventories{s}).first(ctx); err != nil {
		return nil, fmt.Errorf("look around before the shoots: %w", err)
	}
	for e, seen := range timeline.Of[timeline.InventorySeen](o.Journal.Events()) {
		prepared.Before[e.Subject] = seen
	}
	if err := made.each(ctx, made.prepare); err != nil {
		return nil, err
	}
	if err := (convergence{s}).settle(ctx); err != nil {
		return nil, err
	}
	_, settled, _ := timeline.First[timeline.Settled](o.Journal.Events())
	if !settled.Converged {
		return nil, fmt.Errorf("wait until the landscape has settled: %s", strings.Join(slices.Concat(settled.Waiting,
			settled.Unknown), "; "))
	}
	return prepared, nil
}

// prepare makes a shoot and the pods on its nodes.
func (s *shoots) prepare(ctx context.Context, shoot landscape.Shoot) error {
	err := s.make(ctx, shoot, false)
	if err != nil {
		return err
	}
	client, err := s.clientset(ctx, shoot.Name)
	if err == nil {
		err = prepare(ctx, s.Clock, client, shoot)
	}
	if err != nil {
		return fmt.Errorf("prepare the shoot %q: %w", shoot.Name, err)
	}
	return nil
}
