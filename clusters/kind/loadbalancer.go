package kind

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/kind/docker"
)

// balancePeriod is the time between two looks for Services that wait for an address.
const balancePeriod = time.Second

// balance gives every Service of type LoadBalancer the address of the cluster's node, until ctx is done: what comes to
// the node at the Service's port is then kube-proxy's business. Two Services with one port would be in each other's
// way.
func (c *Cluster) balance(ctx context.Context) {
	ticker := time.NewTicker(balancePeriod)
	defer ticker.Stop()
	address := ""
	for {
		var err error
		if address == "" {
			address, err = c.address(ctx)
		}
		if err == nil {
			err = c.giveAddress(ctx, address)
		}
		if err != nil && ctx.Err() == nil {
			// A cluster that is lost or frozen now is looked at again, and may have another address when it is back.
			address = ""
			c.landscape.options.Log.V(1).Info("Services have no address yet", "cluster", c.name, "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (c *Cluster) giveAddress(ctx context.Context, address string) error {
	config, err := c.Connect(clusters.Observer)
	if err != nil {
		return err
	}
	config.Timeout = 5 * time.Second
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make the client for cluster %q: %w", c.name, err)
	}
	if err := balanceAll(ctx, clients, address); err != nil {
		return fmt.Errorf("give services of cluster %q their address: %w", c.name, err)
	}
	return nil
}

// balanceAll gives an address to every Service of type LoadBalancer that has another one, or none.
func balanceAll(ctx context.Context, clients kubernetes.Interface, address string) error {
	services, err := clients.CoreV1().Services("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the services: %w", err)
	}
	var errs []error
	for i := range services.Items {
		service := &services.Items[i]
		if service.Spec.Type != corev1.ServiceTypeLoadBalancer {
			continue
		}
		if slices.ContainsFunc(service.Status.LoadBalancer.Ingress, func(i corev1.LoadBalancerIngress) bool {
			return i.IP == address
		}) {
			continue
		}
		patch := fmt.Appendf(nil, `{"status":{"loadBalancer":{"ingress":[{"ip":%q}]}}}`, address)
		_, err = clients.CoreV1().Services(service.Namespace).Patch(ctx, service.Name, types.MergePatchType, patch,
			metav1.PatchOptions{}, "status")
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// address is that of the node on the network. A node that is made anew may have another.
func (c *Cluster) address(ctx context.Context) (string, error) {
	output, err := docker.Run(ctx, "inspect", "--format",
		"{{range .NetworkSettings.Networks}}{{println .IPAddress}}{{end}}", c.Node())
	if err != nil {
		return "", err
	}
	address := strings.TrimSpace(output)
	if net.ParseIP(address) == nil {
		return "", fmt.Errorf("find the address of cluster %q: its node has %q", c.name, address)
	}
	return address, nil
}
