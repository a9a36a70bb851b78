package program

import (
	"fmt"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
)

// etcdSocket is where the cluster's own API server reaches etcd. It opens some seventy connections when it starts, and
// by TLS each took both programs a millisecond and more; so did every request a little. It has a folder of its own,
// which nobody else can enter. The path is relative to the cluster's folder, in which both run: that of a socket has at
// most 108 bytes.
const etcdSocket = "unix://" + sockets + "/etcd.sock"

// sockets is the folder of sockets in that of the cluster.
const sockets = "run"

// Etcd is the command line of the cluster's etcd: one member, TLS for peers and for clients other than the cluster's
// API server, stock quota and fsync.
func (c Cluster) Etcd() process.Spec {
	peer := fmt.Sprintf("https://%s:%d", c.Address, EtcdPeerPort)
	keys := c.PKI()
	return c.spec("etcd",
		"--name="+c.Name,
		"--data-dir="+c.EtcdData(),
		"--listen-client-urls="+c.EtcdURL()+","+etcdSocket,
		"--advertise-client-urls="+c.EtcdURL(),
		"--listen-peer-urls="+peer,
		"--initial-advertise-peer-urls="+peer,
		"--initial-cluster="+c.Name+"="+peer,
		"--client-cert-auth",
		"--trusted-ca-file="+keys.Certificate(etcdCA),
		"--cert-file="+keys.Certificate(etcdServer),
		"--key-file="+keys.Key(etcdServer),
		"--peer-client-cert-auth",
		"--peer-trusted-ca-file="+keys.Certificate(etcdCA),
		"--peer-cert-file="+keys.Certificate(etcdServer),
		"--peer-key-file="+keys.Key(etcdServer),
	)
}
