package program

import (
	"fmt"
	"strings"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
)

// EtcdSocket is where the cluster's own API server reaches etcd. It opens some seventy connections when it starts, and
// by TLS each took both programs a millisecond and more; so did every request a little. It has a folder of its own,
// which nobody else can enter. The path is relative to the cluster's folder, in which both run: that of a socket has at
// most 108 bytes.
const EtcdSocket = "unix://" + sockets + "/etcd.sock"

// sockets is the folder of sockets in that of the cluster.
const sockets = "run"

// EtcdPeerURL is where etcd is for other members.
func (c Cluster) EtcdPeerURL() string { return fmt.Sprintf("https://%s:%d", c.Address, EtcdPeerPort) }

// Etcd is the command line of the cluster's etcd: one member, TLS for peers and for clients other than the cluster's
// API server, stock quota and fsync.
func (c Cluster) Etcd() process.Spec {
	return c.spec("etcd", c.etcdFlags(c.Name, c.EtcdData(), c.EtcdURL(), c.EtcdURL()+","+EtcdSocket, c.EtcdPeerURL(),
		c.Name+"="+c.EtcdPeerURL())...)
}

// EtcdMember is the command line of one of several members of the cluster's etcd. It has a name, a folder for its data
// and a log on the machine on which it runs.
func (c Cluster) EtcdMember(m Member, name, data, log string) process.Spec {
	var all []string
	for _, one := range c.Members {
		all = append(all, one.Name+"="+one.peerURL())
	}
	spec := c.spec("etcd", c.etcdFlags(m.Name, data, m.url(), m.url(), m.peerURL(), strings.Join(all, ","))...)
	spec.Name, spec.Log = m.Name+"/"+name, log
	return spec
}

func (m Member) url() string { return fmt.Sprintf("https://%s:%d", m.Address, MemberPort) }

func (m Member) peerURL() string { return fmt.Sprintf("https://%s:%d", m.Address, MemberPeerPort) }

// etcdServers are the flags by which the API server reaches etcd.
func (c Cluster) etcdServers() []string {
	if len(c.Members) == 0 {
		return []string{"--etcd-servers=" + EtcdSocket}
	}
	var all []string
	for _, m := range c.Members {
		all = append(all, m.url())
	}
	keys := c.PKI()
	return []string{"--etcd-servers=" + strings.Join(all, ","), "--etcd-cafile=" + keys.Certificate(etcdCA),
		"--etcd-certfile=" + keys.Certificate(etcdClient), "--etcd-keyfile=" + keys.Key(etcdClient)}
}

func (c Cluster) etcdFlags(name, data, url, listen, peer, all string) []string {
	keys := c.PKI()
	return []string{
		"--name=" + name,
		"--data-dir=" + data,
		"--listen-client-urls=" + listen,
		"--advertise-client-urls=" + url,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=" + all,
		"--client-cert-auth",
		"--trusted-ca-file=" + keys.Certificate(etcdCA),
		"--cert-file=" + keys.Certificate(etcdServer),
		"--key-file=" + keys.Key(etcdServer),
		"--peer-client-cert-auth",
		"--peer-trusted-ca-file=" + keys.Certificate(etcdCA),
		"--peer-cert-file=" + keys.Certificate(etcdServer),
		"--peer-key-file=" + keys.Key(etcdServer),
	}
}
