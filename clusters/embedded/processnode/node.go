package processnode

import (
	"fmt"
	"path/filepath"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/address"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podenv"
)

// node is what all pods of this node share.
type node struct {
	config    Config
	client    kubernetes.Interface
	clock     clock.WithDelayedExecution
	log       logr.Logger
	recorder  record.EventRecorder
	launcher  *container.Launcher
	addresses *address.Pool
	services  listers.ServiceLister // of all services
	capacity  corev1.ResourceList
	apiServer podenv.APIServer
	version   string // of the API server, and so of this node
}

// podFolder is where everything of a pod is kept while it exists.
func (n *node) podFolder(pod *corev1.Pod) string {
	return filepath.Join(n.config.RootDir, "pods", string(pod.UID))
}

func (n *node) servicesOf(namespace string) ([]*corev1.Service, error) {
	services, err := n.services.Services(namespace).List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list the services of namespace %q: %w", namespace, err)
	}
	return services, nil
}
