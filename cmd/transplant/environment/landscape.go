package environment

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/authorities"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/switchboard"
)

// Landscape is what the environment needs of a backend.
type Landscape interface {
	clusters.Landscape
	Surroundings
	// Links are the links of actors, which Authorities sign for.
	Links() *switchboard.Board
	Authorities() *authorities.Landscape
	// Networks are the address ranges of a cluster's pods and services.
	Networks(cluster string) (pods, services string, err error)
	// Reach is where this process finds a port of a pod, past all links.
	Reach(ctx context.Context, cluster string, pod *corev1.Pod, port int) (address string, err error)
	// Usage is what everything that the landscape runs has used, and this process if it has started that.
	Usage() ([]process.Usage, error)
	// Dir is the run directory. It keeps the kubeconfigs of actors, for Cluster.Connect and for people.
	Dir() rundir.Dir
	// Go runs work until Stop ends its context, which waits for it.
	Go(work func(ctx context.Context))
	Stop(ctx context.Context) error
}

// Surroundings are where companions live.
type Surroundings interface {
	// CloudAddresses says where the simulated cloud listens, and where others find it.
	CloudAddresses() clusters.CloudAddresses
	// MetricsAddress says where a companion serves its metrics, and where others find them.
	MetricsAddress(companion string) clusters.MetricsAddress
	// ControlPlane is where a companion finds the multi-call binary with etcd and the Kubernetes programs.
	ControlPlane() string
}

var _ Landscape = &embedded.Landscape{}
