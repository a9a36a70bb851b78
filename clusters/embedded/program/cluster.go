// Package program holds the command lines of the programs that make up an embedded cluster, and writes the files
// they need: keys, certificates, kubeconfigs, the encryption of secrets at rest.
//
// It starts nothing and waits for nothing. Limits, fsync and admission are stock, so that what a run finds on
// these clusters it would find on any.
package program

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
)

// Ports on a cluster's own address.
const (
	EtcdPort      = 2379
	EtcdPeerPort  = 2380
	APIServerPort = 6443
	NodePort      = 10250

	// Of a member of another cluster's etcd: there may be an own one.
	MemberPort     = 2389
	MemberPeerPort = 2390
)

// Cluster is what the command lines and files of one cluster derive from.
type Cluster struct {
	Name       string
	Binary     string       // the multi-call binary
	Dir        string       // holds everything of the cluster
	Address    netip.Addr   // its own address, for the ports above
	Services   netip.Prefix // service addresses
	Encrypted  []string     // resources encrypted at rest, e.g. "secrets"
	AdminToken string       // a bearer token of group system:masters; empty for none
	Members    []Member     // of its etcd, on other machines; empty for one on its own
}

// Member of an etcd on another machine than the API server's.
type Member struct {
	Name    string
	Address netip.Addr
}

// URL is the address of the API server.
func (c Cluster) URL() string { return fmt.Sprintf("https://%s:%d", c.Address, APIServerPort) }

// EtcdURL is the address of etcd for clients.
func (c Cluster) EtcdURL() string { return fmt.Sprintf("https://%s:%d", c.Address, EtcdPort) }

// PKI is the folder of keys and certificates.
func (c Cluster) PKI() pki.Folder { return pki.Folder(filepath.Join(c.Dir, "pki")) }

// EtcdData is etcd's data directory.
func (c Cluster) EtcdData() string { return filepath.Join(c.Dir, "etcd") }

// Log is the log file of one of the cluster's processes.
func (c Cluster) Log(program string) string { return filepath.Join(c.Dir, "logs", program+".log") }

// Kubeconfig is the path of the kubeconfig of one of the cluster's own users: Admin, ControllerManager, Scheduler,
// Node.
func (c Cluster) Kubeconfig(user string) string { return filepath.Join(c.Dir, user+".kubeconfig") }

// Env is what every process that talks to API servers gets: with it a dead connection is noticed in seconds, and a new
// one takes less.
func Env() []string {
	return []string{"HTTP2_READ_IDLE_TIMEOUT_SECONDS=5", "HTTP2_PING_TIMEOUT_SECONDS=3",
		"GODEBUG=" + process.GoDebug(os.Getenv("GODEBUG"))}
}

func (c Cluster) spec(program string, args ...string) process.Spec {
	return process.Spec{
		Name: c.Name + "/" + program,
		Path: c.Binary,
		Args: append([]string{program}, args...),
		Env:  Env(),
		Dir:  c.Dir,
		Log:  c.Log(program),
	}
}
