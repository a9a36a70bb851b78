// Package clusters names what a scenario runs on: API servers in a role, and what can be done to them.
//
// It says nothing about how a cluster is made; that is for the backends below it. It imports nothing of the product.
package clusters

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
)

// Role is what a cluster is to the landscape.
type Role string

// The roles (ARCHITECTURE.md#clusters).
const (
	Garden Role = "garden"
	Seed   Role = "seed"
)

// Observer is the actor whose connections are direct: no fault ever reaches them.
const Observer = "observer"

// Cluster is one API server in a role, with what belongs to it.
type Cluster interface {
	// Name is unique in the landscape: "garden", or the seed's name.
	Name() string
	Role() Role
	// Connect returns a configuration for an actor that has been given credentials. Its traffic crosses
	// link(actor, cluster); the Observer's goes straight to the API server. Unknown actors are an error.
	Connect(actor string) (*rest.Config, error)
}

// Stopper is a cluster that can be lost at once, as in a fire, and may return.
type Stopper interface {
	// Lose ends everything that belongs to the cluster without a warning. With wipe its data is gone too.
	Lose(ctx context.Context, wipe bool) error
	// Return starts it again, on the data it has left, and waits until it is ready.
	Return(ctx context.Context) error
}

// Freezer is a cluster whose processes can be frozen and thawed. While frozen, connections stay open, nothing answers.
type Freezer interface {
	Freeze(ctx context.Context) error
	Thaw(ctx context.Context) error
}

// Killer is a cluster whose programs ("etcd", "kube-apiserver", …) can be killed and started again one by one.
type Killer interface {
	Kill(ctx context.Context, program string) error
	// Revive leaves a cluster alone that is lost.
	Revive(ctx context.Context, program string) error
}

// Landscape is a garden and its seeds.
type Landscape interface {
	// Clusters lists the garden first, then the seeds in the order of their definition.
	Clusters() []Cluster
	// Cluster finds one by name.
	Cluster(name string) (Cluster, error)
}

// Members are the clusters of a landscape as its backend knows them: the garden first, then the seeds.
type Members[C Cluster] []C

// All lists them for those who know no backend.
func (m Members[C]) All() []Cluster {
	all := make([]Cluster, 0, len(m))
	for _, c := range m {
		all = append(all, c)
	}
	return all
}

// Find finds one by name.
func (m Members[C]) Find(name string) (found C, err error) {
	seeds := []string{}
	for _, c := range m {
		if c.Name() == name {
			return c, nil
		}
		if c.Role() == Seed {
			seeds = append(seeds, c.Name())
		}
	}
	return found, fmt.Errorf("find the cluster %q: the landscape has the garden and seeds %v", name, seeds)
}

// Companion is a subcommand of transplant that runs beside the clusters and outlives them, such as the simulated cloud.
type Companion struct {
	Name string
	Args []string
	// Reads and Writes are the files and folders of this machine that it uses, by the paths that its arguments name.
	// A folder to write into need not exist.
	Reads, Writes []string
	// Env names the variables of this process that it is to have, too, where they are set.
	Env []string
	// ReadyURL answers 200 when it is ready; its certificate is of the landscape's authority. Empty for one that counts
	// as ready when it has started.
	ReadyURL string
	// Metrics is where this machine finds its /metrics, as host:port; empty where it cannot.
	Metrics string
}

// MetricsAddress is that of a companion's /metrics.
type MetricsAddress struct {
	// Listen is what the companion listens on.
	Listen string
	// Reach is where this machine finds it; empty where it cannot.
	Reach string
}

// CloudAddresses are those of the simulated cloud's API and of its DNS server, as host:port.
type CloudAddresses struct {
	// ListenAPI and ListenDNS are what the companion listens on.
	ListenAPI, ListenDNS string
	// API and DNS are where the links find it.
	API, DNS string
}
