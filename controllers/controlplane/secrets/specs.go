package secrets

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certutil "k8s.io/client-go/util/cert"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/api/pki"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
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
			labels: map[string]string{constants.ValidUntilTime: fmt.Sprint(now.Add(pki.Lifetime).Unix())},
			make:   makeAuthority(name, now),
		})
	}
	if lifecycle.RealNodes(s.Shoot) {
		specs = append(specs, s.tunnel(ctx, now)...)
	}
	for _, identity := range access.Clients() {
		specs = append(specs, guardClient(identity.Secret(), identity, now))
	}
	return append(specs,
		spec{name: ServiceAccountKey, make: makeServiceAccountKey},
		spec{name: StaticToken, make: makeStaticTokens},
		spec{name: EncryptionKey, make: makeEncryptionConfiguration},
		spec{name: SSHKeyPair, make: makeSSHKeyPair, rotation: s.sshRotation()},
		issued(KubeAggregator, CAFrontProxy, pki.Request{Name: "system:kube-aggregator"}, now),
		s.apiServer(now),
		s.etcdServer(ctx, now),
		guardClient(EtcdClient, access.APIServer, now),
		s.clientSecret(ctx, ControllerManager, now, "system:kube-controller-manager"),
		s.clientSecret(ctx, Scheduler, now, "system:kube-scheduler"),
		s.clientSecret(ctx, MachineController, now, UserMachineController),
		s.clientSecret(ctx, ResourceManager, now, UserResourceManager),
		s.tokenSecret(Gardener, func() (KubeconfigOptions, error) {
			return KubeconfigOptions{Server: s.APIServerURL()}, nil
		}),
		s.tokenSecret(GardenerInternal, func() (KubeconfigOptions, error) { return s.inSeed(ctx) }),
		spec{name: GenericTokenKubeconfig, make: func(set set) (map[string][]byte, error) {
			return set.kubeconfig(func() (KubeconfigOptions, error) {
				options, err := s.inSeed(ctx)
				options.TokenFile = genericTokenFile
				return options, err
			})
		}},
	)
}

// genericTokenFile is where pods mount the token that they use with the generic kubeconfig, as Gardener's do.
const genericTokenFile = "/var/run/secrets/gardener.cloud/shoot/generic-kubeconfig/token"

// tokenExpiration is for how long the tokens of administrators are requested.
const tokenExpiration = "24h"

// tokenSecret is a kubeconfig into which the resource manager of the shoot writes a token of the ServiceAccount of the
// same name (package tokenrequestor).
func (s *Secrets) tokenSecret(name string, options func() (KubeconfigOptions, error)) spec {
	return spec{
		name: name,
		labels: map[string]string{
			resourcesv1alpha1.LabelPurpose: resourcesv1alpha1.PurposeTokenRequestor,
			resourcesv1alpha1.LabelClass:   resourcesv1alpha1.ClassShoot,
		},
		annotations: map[string]string{
			resourcesv1alpha1.AnnotationAccountName:      name,
			resourcesv1alpha1.AnnotationAccountNamespace: metav1.NamespaceSystem,
			resourcesv1alpha1.AnnotationTokenExpiration:  tokenExpiration,
		},
		make: func(set set) (map[string][]byte, error) { return set.kubeconfig(options) },
	}
}

// kubeconfig is the data of a secret with a kubeconfig that trusts the shoot's certificate authority.
func (s set) kubeconfig(options func() (KubeconfigOptions, error)) (map[string][]byte, error) {
	given, err := options()
	if err != nil {
		return nil, err
	}
	given.CA = s[CA][KeyCACert]
	content, err := Kubeconfig(given)
	return map[string][]byte{resourcesv1alpha1.KeyKubeconfig: content}, err
}

// inSeed is how the API server is reached inside the seed. The seed may have no DNS for pods: the server is an address.
func (s *Secrets) inSeed(ctx context.Context) (KubeconfigOptions, error) {
	address, err := workload.ClusterIP(ctx, s.Scope, workload.ServiceKubeAPIServer)
	return KubeconfigOptions{Server: fmt.Sprintf("https://%s:%d", address, workload.PortAPIServer),
		ServerName: workload.ServiceKubeAPIServer}, err
}

// issued is a certificate that is made anew when it has come to half of its validity.
func issued(name, authority string, r pki.Request, now time.Time) spec {
	return spec{name: name, outdated: aging(now), make: func(set set) (map[string][]byte, error) {
		return set.issue(authority, r, now)
	}}
}

// guardClient is the certificate by which guard and sidecar know a caller (package etcd/access).
func guardClient(name string, identity access.Identity, now time.Time) spec {
	return issued(name, CAEtcd, pki.Request{Name: string(identity)}, now)
}

// apiServer is the API server's certificate. It has names only that no seed gives, so that it stays the same wherever
// the shoot lives.
func (s *Secrets) apiServer(now time.Time) spec {
	made := issued(KubeAPIServer, CA, pki.Request{
		Name: workload.ServiceKubeAPIServer, ServerOnly: true,
		Hosts: append([]string{
			workload.ServiceKubeAPIServer, "localhost",
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
			"127.0.0.1", scope.RangesOf(s.Shoot).Kubernetes(),
		}, s.Hosts()...),
	}, now)
	made.outdated = func(data map[string][]byte) bool { return s.lacksDomain(data) || aging(now)(data) }
	return made
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

// etcdServer is the certificate of guard and sidecar, and of etcd to its peers.
func (s *Secrets) etcdServer(ctx context.Context, now time.Time) spec {
	return spec{name: EtcdServer, outdated: aging(now), make: func(set set) (map[string][]byte, error) {
		address, err := workload.ClusterIP(ctx, s.Scope, workload.ServiceEtcdClient)
		if err != nil {
			return nil, err
		}
		return set.issue(CAEtcd, pki.Request{Name: string(access.Guard), Hosts: []string{
			"localhost", workload.ServiceEtcdClient, workload.ServiceEtcdClient + "." + s.Namespace() + ".svc",
			address,
		}}, now)
	}}
}

// clientSecret is a kubeconfig for a part of the control plane, which reaches the API server inside the seed. It
// names the files of certificate and key, which clients read again: nothing has to be restarted when they are
// renewed.
func (s *Secrets) clientSecret(ctx context.Context, name string, now time.Time, user string) spec {
	return spec{name: name, outdated: aging(now), make: func(set set) (map[string][]byte, error) {
		options, err := s.inSeed(ctx)
		if err != nil {
			return nil, err
		}
		data, err := set.issue(CAClient, pki.Request{Name: user}, now)
		if err != nil {
			return nil, err
		}
		options.CA, options.ClientCert, options.ClientKey = set[CA][KeyCACert], KeyCert, KeyKey
		kubeconfig, err := Kubeconfig(options)
		return map[string][]byte{"kubeconfig": kubeconfig, KeyCert: data[KeyCert], KeyKey: data[KeyKey]}, err
	}}
}

func makeServiceAccountKey(set) (map[string][]byte, error) {
	key, err := pki.RSAKey()
	return map[string][]byte{"id_rsa": key}, err
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
	_, _ = rand.Read(key) // never fails
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
	private, public, err := pki.SSHKey("gardener")
	return map[string][]byte{"id_rsa": private, "id_rsa.pub": public}, err
}

// randomHex writes as many random bytes in hexadecimal digits.
func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
