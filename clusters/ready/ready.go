// Package ready has the questions that a landscape's start asks until the answer is yes, the same ones on every
// backend, and the one way to wait with a bound. How often they are asked, and for how long, is the backend's business.
package ready

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Endpoint says why a URL does not answer 200; nil when it does.
func Endpoint(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}

// Node says why a node is not ready; nil when it is.
func Node(node *corev1.Node) error {
	ready := func(condition corev1.NodeCondition) bool {
		return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
	}
	if !slices.ContainsFunc(node.Status.Conditions, ready) {
		return fmt.Errorf("node %q is not ready", node.Name)
	}
	return nil
}

// Controllers says why pods cannot be created yet; nil once the controllers have made the first ServiceAccount.
func Controllers(ctx context.Context, clients kubernetes.Interface) error {
	if _, err := clients.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default",
		metav1.GetOptions{}); err != nil {
		return fmt.Errorf("get the default ServiceAccount: %w", err)
	}
	return nil
}
