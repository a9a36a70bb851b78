package program

import (
	"fmt"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
)

// Issuer of ServiceAccount tokens.
const Issuer = "https://kubernetes.default.svc"

// APIServer is the command line of the cluster's kube-apiserver. Further flags are appended.
func (c Cluster) APIServer(flags ...string) process.Spec {
	keys := c.PKI()
	args := []string{
		"--bind-address=" + c.Address.String(),
		"--advertise-address=" + c.Address.String(),
		fmt.Sprintf("--secure-port=%d", APIServerPort),
		"--service-cluster-ip-range=" + c.Services.String(),
		// The default reconciler would log an error every ten seconds: Endpoints refuse loopback addresses.
		"--endpoint-reconciler-type=none",
		// By default an open watch delays the exit by a minute.
		"--shutdown-watch-termination-grace-period=1s",
		"--allow-privileged=true",
		"--authorization-mode=Node,RBAC",
		"--client-ca-file=" + keys.Certificate(ClusterCA),
		"--tls-cert-file=" + keys.Certificate(apiServer),
		"--tls-private-key-file=" + keys.Key(apiServer),
		"--kubelet-certificate-authority=" + keys.Certificate(ClusterCA),
		"--kubelet-client-certificate=" + keys.Certificate(kubeletClient),
		"--kubelet-client-key=" + keys.Key(kubeletClient),
		"--kubelet-preferred-address-types=InternalIP",
		"--requestheader-client-ca-file=" + keys.Certificate(frontProxyCA),
		"--requestheader-allowed-names=" + frontProxyClient,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + keys.Certificate(frontProxyClient),
		"--proxy-client-key-file=" + keys.Key(frontProxyClient),
		"--service-account-issuer=" + Issuer,
		"--service-account-key-file=" + keys.PublicKey(serviceAccounts),
		"--service-account-signing-key-file=" + keys.Key(serviceAccounts),
	}
	args = append(args, c.etcdServers()...)
	if len(c.Encrypted) > 0 {
		args = append(args, "--encryption-provider-config="+c.encryptionFile())
	}
	if c.AdminToken != "" {
		args = append(args, "--token-auth-file="+c.tokenFile())
	}
	return c.spec("kube-apiserver", append(args, flags...)...)
}
