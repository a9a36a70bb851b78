package health

import (
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
)

// Seen is what was read of something, or why it could not be read.
type Seen[T any] struct {
	Items []T
	Err   error
}

// Observation is everything that one round of care has seen of a shoot.
type Observation struct {
	Shoot *gardencorev1beta1.Shoot
	// Err is why nothing could be looked at. Everything is unknown then.
	Err error

	// Of the control plane's namespace in the seed.

	// Extensions are the conditions on the shoot's extension objects.
	Extensions Seen[ExtensionReport]
	// Etcds are the StatefulSets with the role of an etcd, Deployments those of the control plane, Monitoring those of the
	// observability components.
	Etcds                   Seen[appsv1.StatefulSet]
	Deployments, Monitoring Seen[appsv1.Deployment]
	ManagedResources        Seen[resourcesv1alpha1.ManagedResource]
	MachineDeployments      Seen[machinev1alpha1.MachineDeployment]
	Machines                Seen[machinev1alpha1.Machine]
	// Authorities are the persisted Secrets; those without a certificate authority do not matter.
	Authorities Seen[corev1.Secret]

	// APIServer is how the shoot's API server answers; nil if there is none, because it was not made yet or is gone.
	APIServer *APIServer
	// Cluster is what is in the shoot. It counts only while there is an API server.
	Cluster Cluster
}

// APIServer is how a shoot's API server answered GET /healthz.
type APIServer struct {
	// ClientErr is why there is no client for it, RequestErr why the request had no answer.
	ClientErr, RequestErr error
	Code                  int
	Body                  string
}

// Cluster is what was seen in a shoot.
type Cluster struct {
	Nodes Seen[corev1.Node]
	// NodeLeases are those of kube-node-lease.
	NodeLeases Seen[coordinationv1.Lease]
	// NodeAgentLeases are those of kube-system, among them those of the node agents.
	NodeAgentLeases Seen[coordinationv1.Lease]
	// NodeConfigs are the Secrets that the node agents follow.
	NodeConfigs Seen[corev1.Secret]
	// DaemonSets, Deployments and StatefulSets are the system components.
	DaemonSets   Seen[appsv1.DaemonSet]
	Deployments  Seen[appsv1.Deployment]
	StatefulSets Seen[appsv1.StatefulSet]
	// Validating and Mutating are all webhook configurations.
	Validating Seen[admissionregistrationv1.ValidatingWebhookConfiguration]
	Mutating   Seen[admissionregistrationv1.MutatingWebhookConfiguration]
	CRDs       Seen[apiextensionsv1.CustomResourceDefinition]
	// Tunnel is what tunnel.Check says of the way to the nodes, if pods run on them.
	Tunnel error
}

// ExtensionReport is one condition on an extension object.
type ExtensionReport struct {
	Kind, Namespace, Name string
	Condition             gardencorev1beta1.Condition
	// Heartbeat is when the extension last said that it lives; nil if it never did
	// (docs/specification/extensions.md#spec-3-9).
	Heartbeat *metav1.MicroTime
}

// Reports are the conditions on an extension object that care looks at, all of them for conditions of shoots.
func Reports(kind string, object extensionsv1alpha1.Object, heartbeat *metav1.MicroTime) []ExtensionReport {
	var reports []ExtensionReport
	for _, c := range object.GetExtensionStatus().GetConditions() {
		reports = append(reports, ExtensionReport{
			Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName(), Condition: c, Heartbeat: heartbeat,
		})
	}
	return reports
}

// Config says how long care waits and what it expects to find.
type Config struct {
	// Thresholds are how long conditions are Progressing before they become False. There are no defaults.
	Thresholds map[gardencorev1beta1.ConditionType]time.Duration
	// StaleExtensions is after how long without a heartbeat an extension's conditions are unknown; 0 is never.
	StaleExtensions time.Duration
	// ProgressingManagedResources is how long a ManagedResource may be progressing; 0 is not at all.
	ProgressingManagedResources time.Duration
	// Components are what a control plane must have.
	Components Components
}

// Components are the names of what a control plane must have.
type Components struct {
	Etcds []string
	// Always are Deployments; WithWorkers are those that only shoots with workers need.
	Always, WithWorkers []string
	// WithRealNodes are Deployments that only shoots need whose nodes run pods.
	WithRealNodes []string
	// Monitoring are Deployments too; the shoot's observability depends on them.
	Monitoring []string
}

const (
	// DefaultStaleExtensions is ten heartbeats of an extension.
	DefaultStaleExtensions = 5 * time.Minute
	// DefaultProgressingManagedResources is what a rollout may take.
	DefaultProgressingManagedResources = time.Hour
)
