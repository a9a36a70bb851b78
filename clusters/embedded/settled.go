package embedded

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/clusters/ready"
)

// settledPoll is short: every start of a landscape waits for it.
const settledPoll = 50 * time.Millisecond

// awaitSettled waits until pods can be created and, with a node, run: the controllers have made the first
// ServiceAccount, and the node is ready.
func (c *Cluster) awaitSettled(ctx context.Context, config *rest.Config) error {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make the client for cluster %q: %w", c.name, err)
	}
	checks := []func(context.Context, kubernetes.Interface) error{ready.Controllers}
	if hasNode(c) {
		checks = append(checks, c.nodeReady)
	}
	err = ready.Await(ctx, settledPoll, 0, func(ctx context.Context) error {
		for _, p := range c.all() {
			if !p.Running() {
				return ready.Never(p.Ended())
			}
		}
		for len(checks) > 0 {
			if err := checks[0](ctx, clients); err != nil {
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

func (c *Cluster) nodeReady(ctx context.Context, clients kubernetes.Interface) error {
	node, err := clients.CoreV1().Nodes().Get(ctx, c.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("node %q has not registered", c.name)
	}
	if err != nil {
		return fmt.Errorf("get the node %q: %w", c.name, err)
	}
	return ready.Node(node)
}
