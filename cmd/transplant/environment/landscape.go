package environment

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/switchboard"
)

// Landscape is what the environment needs of a backend.
type Landscape interface {
	clusters.Landscape
	Links
	Surroundings
	// Networks are the address ranges of a cluster's pods and services.
	Networks(cluster string) (pods, services string, err error)
	// Reach is where this process finds a port of a pod, past all links.
	Reach(ctx context.Context, cluster string, pod *corev1.Pod, port int) (address string, err error)
	// WriteKubeconfig keeps the kubeconfig of an actor for a target, for Cluster.Connect and for people; KubeconfigPath
	// is where.
	WriteKubeconfig(actor, target string, content []byte) error
	KubeconfigPath(actor, target string) string
	// CPU is the processor time of everything that the landscape runs, this process left out.
	CPU() (time.Duration, error)
	// Dir is the run directory.
	Dir() rundir.Dir
	Stop(ctx context.Context) error
}

// Links are the links of a landscape, and what they have to do with credentials.
type Links interface {
	Link(actor, target string) (*link.Link, error)
	Proxy(actor string) (*link.Proxy, error)
	// LinkCA is the certificate, in PEM, of the authority that signs for links.
	LinkCA() []byte
	// LinkKubeconfig makes a kubeconfig for a ServiceAccount of a cluster, over link(actor, cluster).
	LinkKubeconfig(ctx context.Context, actor, cluster, serviceAccount string) ([]byte, error)
	// Traffic is what has crossed the links, by actor and target.
	Traffic() []switchboard.Traffic
}

// Surroundings are where companions live.
type Surroundings interface {
	// CloudAddresses says where the simulated cloud listens, and where others find it.
	CloudAddresses() clusters.CloudAddresses
	// MetricsAddress says where a companion serves its metrics, and where others find them.
	MetricsAddress(companion string) clusters.MetricsAddress
	// IssueServing makes a certificate for a server of the landscape and returns the paths of certificate and key.
	IssueServing(name string, hosts ...string) (certificate, key string, err error)
	// ControlPlane is where a companion finds the multi-call binary with etcd and the Kubernetes programs.
	ControlPlane() string
}

var _ Landscape = &embedded.Landscape{}
