package secrets

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net"
	"time"

	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
)

// specs lists the secrets, those that others derive from first.
func (s *Secrets) specs(ctx context.Context, now time.Time) []spec {
	specs := []spec{}
	for _, name := range authorities {
		specs = append(specs, spec{
			name:   name,
			labels: map[string]string{labelValidUntil: fmt.Sprint(now.Add(caValidity).Unix())},
			make: func(set) (map[string][]byte, error) {
				ca, err := newCA(name, now)
				return map[string][]byte{KeyCACert: ca.cert, keyCAKey: ca.key}, err
			},
		})
	}
	for _, identity := range access.Clients() {
		specs = append(specs, guardClient(ctx, identity.Secret(), identity, now))
	}
	return append(specs,
		spec{name: ServiceAccountKey, make: makeServiceAccountKey},
		spec{name: StaticToken, make: makeStaticTokens},
		spec{name: EncryptionKey, make: makeEncryptionConfiguration},
		spec{name: SSHKeyPair, make: makeSSHKeyPair, rotation: s.sshRotation()},
		spec{name: KubeAggregator,
			make: issued(CAFrontProxy, now, func(context.Context) (certificate, error) {
				return certificate{commonName: "system:kube-aggregator", usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
					nil
			}, ctx), outdated: aging(now)},
		spec{name: KubeAPIServer,
			make: issued(CA, now, func(context.Context) (certificate, error) {
				return s.apiServerCertificate(), nil
			}, ctx), outdated: func(data map[string][]byte) bool { return s.lacksDomain(data) || aging(now)(data) }},
		s.etcdServer(ctx, now),
		guardClient(ctx, EtcdClient, access.APIServer, now),
		s.clientSecret(ctx, ControllerManager, now, "system:kube-controller-manager"),
		s.clientSecret(ctx, Scheduler, now, "system:kube-scheduler"),
		s.clientSecret(ctx, MachineController, now, UserMachineController),
		s.clientSecret(ctx, ResourceManager, now, UserResourceManager),
	)
}

// guardClient is the certificate by which guard and sidecar know a caller (package etcd/access).
func guardClient(ctx context.Context, name string, identity access.Identity, now time.Time) spec {
	client := certificate{commonName: string(identity), usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	return spec{name: name, outdated: aging(now), make: issued(CAEtcd, now,
		func(context.Context) (certificate, error) { return client, nil }, ctx)}
}

// etcdServer is the certificate of guard and sidecar, and of etcd to its peers.
func (s *Secrets) etcdServer(ctx context.Context, now time.Time) spec {
	return spec{
		name: EtcdServer, outdated: aging(now), make: issued(CAEtcd, now, s.etcdServerCertificate, ctx),
	}
}

func issued(ca string, now time.Time, describe func(context.Context) (certificate, error),
	ctx context.Context) func(set) (map[string][]byte, error) {
	return func(set set) (map[string][]byte, error) {
		c, err := describe(ctx)
		if err != nil {
			return nil, err
		}
		pair, err := set.ca(ca).issue(c, now)
		return map[string][]byte{KeyCACert: set.ca(ca).cert, KeyCert: pair.cert, KeyKey: pair.key}, err
	}
}

// apiServerCertificate has names only that no seed gives, so that it stays the same wherever the shoot lives.
func (s *Secrets) apiServerCertificate() certificate {
	return certificate{
		commonName: workload.ServiceKubeAPIServer,
		dnsNames: append([]string{
			workload.ServiceKubeAPIServer, "localhost",
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		}, s.Hosts()...),
		addresses: []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(scope.ShootKubernetesServiceIP)},
		usages:    []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

// lacksDomain reports whether the API server's certificate does not name the shoot's domain. The shoot may have got the
// domain after the certificate was made.
func (s *Secrets) lacksDomain(data map[string][]byte) bool {
	host := s.ExternalHost()
	if host == "" {
		return false
	}
	certificates, err := certutil.ParseCertsPEM(data[KeyCert])
	return err != nil || certificates[0].VerifyHostname(host) != nil
}

func (s *Secrets) etcdServerCertificate(ctx context.Context) (certificate, error) {
	service := &corev1.Service{}
	if err := s.Seed.Get(ctx, s.Key(workload.ServiceEtcdClient), service); err != nil {
		return certificate{}, fmt.Errorf("read service %q: %w", workload.ServiceEtcdClient, err)
	}
	return certificate{
		commonName: string(access.Guard),
		dnsNames: []string{"localhost", workload.ServiceEtcdClient,
			workload.ServiceEtcdClient + "." + s.Namespace() + ".svc"},
		addresses: []net.IP{net.ParseIP(service.Spec.ClusterIP)},
		usages:    []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, nil
}

// clientSecret is a kubeconfig for a part of the control plane, which reaches the API server inside the seed. It
// names the files of certificate and key, which clients read again: nothing has to be restarted when they are
// renewed.
func (s *Secrets) clientSecret(ctx context.Context, name string, now time.Time, user string,
	groups ...string) spec {
	return spec{name: name, outdated: aging(now), make: func(set set) (map[string][]byte, error) {
		service := &corev1.Service{}
		if err := s.Seed.Get(ctx, s.Key(workload.ServiceKubeAPIServer), service); err != nil {
			return nil, fmt.Errorf("read service %q: %w", workload.ServiceKubeAPIServer, err)
		}
		pair, err := set.ca(CAClient).issue(certificate{
			commonName: user, organizations: groups, usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}, now)
		if err != nil {
			return nil, err
		}
		kubeconfig, err := Kubeconfig(KubeconfigOptions{
			Server:     fmt.Sprintf("https://%s:%d", service.Spec.ClusterIP, workload.PortAPIServer),
			ServerName: workload.ServiceKubeAPIServer,
			CA:         set.ca(CA).cert,
			ClientCert: KeyCert, ClientKey: KeyKey,
		})
		return map[string][]byte{"kubeconfig": kubeconfig, KeyCert: pair.cert, KeyKey: pair.key}, err
	}}
}

func makeServiceAccountKey(set) (map[string][]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"id_rsa": pem.EncodeToMemory(&pem.Block{
		Type: keyutil.RSAPrivateKeyBlockType, Bytes: x509.MarshalPKCS1PrivateKey(key),
	})}, nil
}

func makeStaticTokens(set) (map[string][]byte, error) {
	admin, node := randomHex(32), randomHex(32)
	return map[string][]byte{
		KeyClusterAdminToken: []byte(admin),
		KeyNodeToken:         []byte(node),
		KeyTokens: []byte(admin + `,system:cluster-admin,system:cluster-admin,"system:masters"` + "\n" +
			node + "," + UserNodes + "," + UserNodes + "\n"),
	}, nil
}

func makeEncryptionConfiguration(set) (map[string][]byte, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	return map[string][]byte{"encryption-configuration.yaml": fmt.Appendf(nil, `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - aescbc: {keys: [{name: key-1, secret: %s}]}
  - identity: {}
`, base64.StdEncoding.EncodeToString(key))}, nil
}

func makeSSHKeyPair(set) (map[string][]byte, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(private, "gardener")
	if err != nil {
		return nil, err
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"id_rsa": pem.EncodeToMemory(block), "id_rsa.pub": ssh.MarshalAuthorizedKey(key)}, nil
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	if _, err := rand.Read(b); err != nil {
		panic(err) // the system has no randomness left
	}
	return hex.EncodeToString(b)
}
