package care

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
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
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
	"github.com/transplant-sim/transplant/controllers/controlplane/tunnel"
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

// admin is what a client of a shoot's API server trusts, and the token of its administrator.
type admin struct{ ca, token string }

// adminIn looks among Secrets of a control plane; zero for none.
func adminIn(authorities []corev1.Secret) admin {
	found := admin{}
	for i := range authorities {
		switch data := authorities[i].Data; authorities[i].Name {
		case secrets.CA:
			found.ca = string(data[secrets.KeyCACert])
		case secrets.StaticToken:
			found.token = string(data[secrets.KeyClusterAdminToken])
		}
	}
	return found
}

// reach connects to the shoot's API server, and asks it how it is. It goes by the Secrets that were seen, which may be
// those of before. If the API server is not well by them, the seed is asked for those of now.
func (r *Reconciler) reach(ctx context.Context, o *controlplane.Operation,
	seen *health.Observation) (*connection, error) {
	known := adminIn(seen.Authorities.Items)
	if known.ca != "" && known.token != "" {
		c, err := r.ask(ctx, o, known, seen.APIServer)
		if err != nil || seen.APIServer.Code == http.StatusOK {
			return c, err
		}
		if ca, token, err := o.Access.Admin(ctx); err != nil || known == (admin{string(ca), token}) {
			return c, nil //nolint:nilerr // the API server's answer is what was seen
		}
		c.close()
		*seen.APIServer = health.APIServer{}
	}
	ca, token, err := o.Access.Admin(ctx)
	if err != nil {
		return nil, err
	}
	return r.ask(ctx, o, admin{string(ca), token}, seen.APIServer)
}

func (r *Reconciler) ask(ctx context.Context, o *controlplane.Operation, as admin,
	seen *health.APIServer) (*connection, error) {
	c, err := r.connect(o, as)
	if err == nil {
		c.healthz(ctx, seen)
	}
	return c, err
}

// connect makes clients for the shoot's API server, by its public name. It asks nobody yet.
func (r *Reconciler) connect(o *controlplane.Operation, as admin) (*connection, error) {
	config := r.Shoots.Config(o.APIServerURL(), []byte(as.ca), as.token)
	config.ContentType = runtime.ContentTypeProtobuf
	config.QPS = -1 // a round asks a fixed number of questions
	c := &connection{}
	var err error
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

// observe asks an API server that has answered for everything that care looks at. What seldom changes it takes from
// before, if that is given, and the Leases of nodes, if none has expired since.
func (c *connection) observe(ctx context.Context, seen *health.Observation, before *health.Cluster, now time.Time) {
	if err := seen.APIServer.RequestErr; err != nil {
		seen.Cluster = silent(err)
		return
	}
	all, system := metav1.ListOptions{}, metav1.ListOptions{LabelSelector: systemComponents}
	core, apps, admission := c.kubernetes.CoreV1(), c.kubernetes.AppsV1(), c.kubernetes.AdmissionregistrationV1()
	to := &seen.Cluster
	if before != nil {
		*to = *before
	}
	nodes, err := core.Nodes().List(ctx, all)
	to.Nodes = listed(err, &nodes.Items)
	if lifecycle.RealNodes(seen.Shoot) {
		to.Tunnel = tunnel.Check(ctx, c.kubernetes)
	}
	if before == nil || !to.HasLeases(now) {
		leases, err := c.kubernetes.CoordinationV1().Leases(metav1.NamespaceAll).List(ctx, all)
		to.NodeLeases = listedIn(corev1.NamespaceNodeLease, err, leases.Items)
		to.NodeAgentLeases = listedIn(metav1.NamespaceSystem, err, leases.Items)
	}
	if before != nil {
		return
	}
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

// listedIn are the Leases of one namespace.
func listedIn(namespace string, err error, leases []coordinationv1.Lease) health.Seen[coordinationv1.Lease] {
	return health.Seen[coordinationv1.Lease]{Err: err, Items: slices.DeleteFunc(slices.Clone(leases),
		func(lease coordinationv1.Lease) bool { return lease.Namespace != namespace })}
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
	c.Validating.Err, c.Mutating.Err, c.CRDs.Err, c.Tunnel = err, err, err, err
	return c
}
