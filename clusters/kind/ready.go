package kind

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/ready"
)

// readyPoll is short: every start of a landscape waits for it.
const readyPoll = 200 * time.Millisecond

// awaitReady waits until pods can be made and run. What was written down before the node began to start does not count:
// a node that returns finds itself ready in its own memory.
func (c *Cluster) awaitReady(ctx context.Context, began time.Time) error {
	config, err := c.Connect(clusters.Observer)
	if err != nil {
		return err
	}
	config.Timeout = 5 * time.Second // a server that starts may take a connection and say nothing
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make the client for cluster %q: %w", c.name, err)
	}
	checks := []func(context.Context, kubernetes.Interface, time.Time) error{c.nodeReady, c.systemReady, c.accountReady}
	err = ready.Await(ctx, readyPoll, readyTimeout, func(ctx context.Context) error {
		for len(checks) > 0 {
			if err := checks[0](ctx, clients, began); err != nil {
				return err
			}
			checks = checks[1:]
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("wait for cluster %q: %w", c.name, err)
	}
	return nil
}

func (c *Cluster) nodeReady(ctx context.Context, clients kubernetes.Interface, began time.Time) error {
	lease, err := clients.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, c.Node(), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get the node's lease: %w", err)
	}
	if lease.Spec.RenewTime == nil || lease.Spec.RenewTime.Time.Before(began) {
		return fmt.Errorf("the node's lease was last renewed at %s", lease.Spec.RenewTime)
	}
	node, err := clients.CoreV1().Nodes().Get(ctx, c.Node(), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get the node: %w", err)
	}
	return ready.Node(node)
}

// systemReady says whether the cluster's own pods run, since the node began to start: DNS and services need them.
func (c *Cluster) systemReady(ctx context.Context, clients kubernetes.Interface, began time.Time) error {
	pods, err := clients.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the system's pods: %w", err)
	}
	seen := map[string]bool{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		seen[pod.Labels["k8s-app"]] = true
		for _, status := range pod.Status.ContainerStatuses {
			// a second is what Kubernetes writes times down to
			if !status.Ready || status.State.Running == nil || status.State.Running.StartedAt.Add(time.Second).Before(began) {
				return fmt.Errorf("pod %q is not ready", pod.Name)
			}
		}
		if len(pod.Status.ContainerStatuses) == 0 {
			return fmt.Errorf("pod %q has not started", pod.Name)
		}
	}
	for _, app := range []string{"kube-proxy", "kube-dns"} {
		if !seen[app] {
			return fmt.Errorf("there is no pod of %q yet", app)
		}
	}
	return nil
}

func (c *Cluster) accountReady(ctx context.Context, clients kubernetes.Interface, _ time.Time) error {
	return ready.Controllers(ctx, clients)
}
