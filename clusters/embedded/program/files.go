package program

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/clusters/atrest"
)

// Names of the files in a cluster's PKI folder: ClusterCA signs for the API server, the node and all users.
const (
	ClusterCA        = "ca"
	etcdCA           = "etcd-ca"
	etcdServer       = "etcd"
	etcdClient       = "etcd-client"
	apiServer        = "kube-apiserver"
	kubeletClient    = "kubelet-client"
	frontProxyCA     = "front-proxy-ca"
	frontProxyClient = "front-proxy-client"
	serviceAccounts  = "service-accounts"
	NodeServing      = "node"
)

// The cluster's own users, by the name of their kubeconfig.
const (
	Admin             = "admin"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Node              = "node"
)

// Write makes every file the programs of the cluster need. Keys, tokens and kubeconfigs are readable by the owner
// only. It is called once in the life of a cluster: a cluster that returns keeps its keys.
func (c Cluster) Write() error {
	if err := c.write(c.writeClusterKeys, c.writeNodeKeys, c.writeEtcdKeys, c.writeFrontProxyKeys,
		c.writeKubeconfigs); err != nil {
		return err
	}
	if err := c.writeTokens(); err != nil {
		return err
	}
	return c.writeEncryption()
}

// WriteNode is Write for a cluster that is no more than a node.
func (c Cluster) WriteNode() error { return c.write(c.writeNodeKeys) }

// write the files that an authority of the cluster signs.
func (c Cluster) write(parts ...func(*pki.Authority) error) error {
	for folder, mode := range map[string]os.FileMode{"logs": 0o755, sockets: 0o700} {
		if err := os.MkdirAll(filepath.Join(c.Dir, folder), mode); err != nil {
			return fmt.Errorf("make the folder of cluster %q: %w", c.Name, err)
		}
	}
	authority, err := pki.NewAuthority(c.Name, time.Now())
	if err != nil {
		return err
	}
	for _, write := range append([]func(*pki.Authority) error{c.writeAuthority}, parts...) {
		if err := write(authority); err != nil {
			return fmt.Errorf("write the files of cluster %q: %w", c.Name, err)
		}
	}
	return nil
}

func (c Cluster) writeAuthority(authority *pki.Authority) error {
	return c.PKI().WriteAuthority(ClusterCA, authority)
}

func (c Cluster) writeNodeKeys(authority *pki.Authority) error {
	return issue(c.PKI(), authority, NodeServing,
		pki.Request{Name: NodeServing, Hosts: []string{c.Address.String(), c.Name}})
}

func (c Cluster) writeClusterKeys(authority *pki.Authority) error {
	service := c.Services.Masked().Addr().Next().String() // the address of service default/kubernetes
	hosts := []string{c.Address.String(), service, "localhost", c.Name,
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	if err := issue(c.PKI(), authority, apiServer, pki.Request{Name: apiServer, Hosts: hosts}); err != nil {
		return err
	}
	kubelet := pki.Request{Name: kubeletClient, Groups: []string{"system:masters"}}
	if err := issue(c.PKI(), authority, kubeletClient, kubelet); err != nil {
		return err
	}
	return c.PKI().WriteSigningKey(serviceAccounts)
}

// writeEtcdKeys makes an authority of etcd's own: whoever it signs for may read and write everything.
func (c Cluster) writeEtcdKeys(*pki.Authority) error {
	authority, err := pki.NewAuthority(c.Name+"-etcd", time.Now())
	if err != nil {
		return err
	}
	if err := c.PKI().WriteAuthority(etcdCA, authority); err != nil {
		return err
	}
	hosts := []string{c.Address.String(), "localhost"}
	for _, m := range c.Members {
		hosts = append(hosts, m.Address.String())
	}
	if err := issue(c.PKI(), authority, etcdServer, pki.Request{Name: etcdServer, Hosts: hosts}); err != nil {
		return err
	}
	return issue(c.PKI(), authority, etcdClient, pki.Request{Name: etcdClient})
}

func (c Cluster) writeFrontProxyKeys(*pki.Authority) error {
	authority, err := pki.NewAuthority(c.Name+"-front-proxy", time.Now())
	if err != nil {
		return err
	}
	if err := c.PKI().WriteAuthority(frontProxyCA, authority); err != nil {
		return err
	}
	return issue(c.PKI(), authority, frontProxyClient, pki.Request{Name: frontProxyClient})
}

func issue(folder pki.Folder, authority *pki.Authority, name string, request pki.Request) error {
	pair, err := authority.Issue(request, time.Now())
	if err != nil {
		return err
	}
	return folder.WriteKeyPair(name, pair)
}

func (c Cluster) tokenFile() string      { return filepath.Join(c.Dir, "tokens.csv") }
func (c Cluster) encryptionFile() string { return filepath.Join(c.Dir, atrest.FileName) }

func (c Cluster) writeTokens() error {
	if c.AdminToken == "" {
		return nil
	}
	line := fmt.Sprintf("%s,admin,admin,system:masters\n", c.AdminToken)
	if err := os.WriteFile(c.tokenFile(), []byte(line), 0o600); err != nil {
		return fmt.Errorf("write the tokens of cluster %q: %w", c.Name, err)
	}
	return nil
}

func (c Cluster) writeEncryption() error {
	if len(c.Encrypted) == 0 {
		return nil
	}
	if err := os.WriteFile(c.encryptionFile(), atrest.Configuration(c.Encrypted), 0o600); err != nil {
		return fmt.Errorf("write the encryption of cluster %q: %w", c.Name, err)
	}
	return nil
}
