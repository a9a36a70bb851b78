package program

import (
	"fmt"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
)

// Etcd is the command line of the cluster's etcd: one member, TLS for clients and peers, stock quota and fsync.
func (c Cluster) Etcd() process.Spec {
	peer := fmt.Sprintf("https://%s:%d", c.Address, EtcdPeerPort)
	keys := c.PKI()
	return c.spec("etcd",
		"--name="+c.Name,
		"--data-dir="+c.EtcdData(),
		"--listen-client-urls="+c.EtcdURL(),
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
