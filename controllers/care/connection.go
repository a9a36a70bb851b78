package care

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/care/health"
	"github.com/transplant-sim/transplant/controllers/controlplane"
)

// systemComponents selects what the resource manager keeps in a shoot.
const systemComponents = resourcesv1alpha1.ManagedBy + "=gardener"

// nodeConfigs selects what node agents follow.
const nodeConfigs = constants.GardenRole + "=" + cloud.NodeAgentRole

// connection is a way into a shoot for one round of care. None is kept between rounds: a connection that outlives a
// migration would be one to an API server that is not the shoot's any more.
type connection struct {
	http       *http.Client
	kubernetes kubernetes.Interface
	crds       apiextensions.Interface
}

// connect makes clients for the shoot's API server, by its public name. It asks nobody yet.
func (r *Reconciler) connect(ctx context.Context, o *controlplane.Operation) (*connection, error) {
	ca, token, err := o.Access.Admin(ctx)
	if err != nil {
		return nil, err
	}
	config := r.Shoots.Config(o.APIServerURL(), ca, token)
	config.ContentType = runtime.ContentTypeProtobuf
	config.QPS = -1 // a round asks a fixed number of questions
	c := &connection{}
	if c.http, err = rest.HTTPClientFor(config); err != nil {
		return nil, fmt.Errorf("make the connection to the shoot: %w", err)
	}
	if c.kubernetes, err = kubernetes.NewForConfigAndClient(config, c.http); err != nil {
		return nil, fmt.Errorf("make the client of the shoot: %w", err)
	}
	plain := rest.CopyConfig(config)
	plain.ContentType = runtime.ContentTypeJSON
	if c.crds, err = apiextensions.NewForConfigAndClient(plain, c.http); err != nil {
		return nil, fmt.Errorf("make the client of the shoot's definitions: %w", err)
	}
	return c, nil
}

func (c *connection) close() { c.http.CloseIdleConnections() }

// observe asks the API server how it is, and then for everything that care looks at.
func (c *connection) observe(ctx context.Context, seen *health.Observation) {
	c.healthz(ctx, seen.APIServer)
	if err := seen.APIServer.RequestErr; err != nil {
		seen.Cluster = silent(err)
		return
	}
	all, system := metav1.ListOptions{}, metav1.ListOptions{LabelSelector: systemComponents}
	core, apps, admission := c.kubernetes.CoreV1(), c.kubernetes.AppsV1(), c.kubernetes.AdmissionregistrationV1()
	coordination := c.kubernetes.CoordinationV1()
	to := &seen.Cluster
	nodes, err := core.Nodes().List(ctx, all)
	to.Nodes = listed(err, &nodes.Items)
	leases, err := coordination.Leases(corev1.NamespaceNodeLease).List(ctx, all)
	to.NodeLeases = listed(err, &leases.Items)
	agents, err := coordination.Leases(metav1.NamespaceSystem).List(ctx, all)
	to.NodeAgentLeases = listed(err, &agents.Items)
	configs, err := core.Secrets(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: nodeConfigs})
	to.NodeConfigs = listed(err, &configs.Items)
	daemonSets, err := apps.DaemonSets(metav1.NamespaceSystem).List(ctx, system)
	to.DaemonSets = listed(err, &daemonSets.Items)
	deployments, err := apps.Deployments(metav1.NamespaceSystem).List(ctx, system)
	to.Deployments = listed(err, &deployments.Items)
	statefulSets, err := apps.StatefulSets(metav1.NamespaceSystem).List(ctx, system)
	to.StatefulSets = listed(err, &statefulSets.Items)
	validating, err := admission.ValidatingWebhookConfigurations().List(ctx, all)
	to.Validating = listed(err, &validating.Items)
	mutating, err := admission.MutatingWebhookConfigurations().List(ctx, all)
	to.Mutating = listed(err, &mutating.Items)
	crds, err := c.crds.ApiextensionsV1().CustomResourceDefinitions().List(ctx, all)
	to.CRDs = listed(err, &crds.Items)
}

// healthz asks once: who is asked again until the answer pleases does not find out.
func (c *connection) healthz(ctx context.Context, seen *health.APIServer) {
	body, err := c.kubernetes.Discovery().RESTClient().Get().AbsPath("/healthz").MaxRetries(0).
		Do(ctx).StatusCode(&seen.Code).Raw()
	seen.Body = string(body)
	if seen.Code == 0 {
		seen.RequestErr = err
	}
}

// silent is a shoot of which nothing can be seen.
func silent(err error) health.Cluster {
	var c health.Cluster
	c.Nodes.Err, c.NodeLeases.Err, c.NodeAgentLeases.Err, c.NodeConfigs.Err = err, err, err, err
	c.DaemonSets.Err, c.Deployments.Err, c.StatefulSets.Err = err, err, err
	c.Validating.Err, c.Mutating.Err, c.CRDs.Err = err, err, err
	return c
}
