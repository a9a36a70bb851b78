package secrets

import (
	"context"
	"fmt"
	"time"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
)

// Names in the certificates of those who use the tunnel: its server knows them by these.
const (
	UserVPNShoot  = VPNShoot
	UserVPNClient = workload.KubeAPIServer
	userKubelets  = "system:kube-apiserver:kubelet"
)

// tunnel lists the secrets of a shoot whose pods run on its nodes. The authority and the certificate of the nodes' end
// move with the shoot: a migration changes nothing in it. Where they are lost, new ones do: the nodes get them by a way
// that needs no tunnel.
func (s *Secrets) tunnel(ctx context.Context, now time.Time) []spec {
	authority := spec{name: CAVPN, make: makeAuthority(CAVPN, now), labels: map[string]string{
		constants.ValidUntilTime: fmt.Sprint(now.Add(pki.Lifetime).Unix()), constants.Persist: constants.LabelTrue,
	}}
	server := spec{name: VPNSeedServer, outdated: aging(now), make: func(set set) (map[string][]byte, error) {
		address, err := workload.ClusterIP(ctx, s.Scope, workload.VPNSeedServer)
		if err != nil {
			return nil, err
		}
		return set.issue(CAVPN, pki.Request{Name: workload.VPNSeedServer, ServerOnly: true,
			Hosts: []string{workload.VPNSeedServer, address}}, now)
	}}
	client := spec{name: VPNClient, outdated: aging(now), make: func(set set) (map[string][]byte, error) {
		address, err := workload.ClusterIP(ctx, s.Scope, workload.VPNSeedServer)
		if err != nil {
			return nil, err
		}
		data, err := set.issue(CAVPN, pki.Request{Name: UserVPNClient}, now)
		if err == nil {
			data[KeyEgress] = egressSelector(address)
		}
		return data, err
	}}
	shoot := issued(VPNShoot, CAVPN, pki.Request{Name: UserVPNShoot}, now)
	shoot.labels = map[string]string{constants.Persist: constants.LabelTrue}
	return []spec{
		authority, server, client, shoot,
		issued(KubeletClient, CAKubelet, pki.Request{Name: userKubelets, Groups: []string{"system:masters"}}, now),
	}
}

// egressSelector sends what the API server asks of nodes, pods and Services of its cluster through the tunnel. The seed
// may have no DNS for pods: the server is an address.
func egressSelector(address string) []byte {
	file := func(key string) string { return workload.SecretFile(VPNClient, key) }
	return fmt.Appendf(nil, `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      tcp:
        url: https://%s:%d
        tlsConfig:
          caBundle: %s
          clientCert: %s
          clientKey: %s
- name: controlplane
  connection: {proxyProtocol: Direct}
- name: etcd
  connection: {proxyProtocol: Direct}
`, address, workload.PortEgress, file(KeyCACert), file(KeyCert), file(KeyKey))
}
