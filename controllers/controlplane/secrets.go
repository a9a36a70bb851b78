package controlplane

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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/controllers/etcd/access"
)

// Names of the secrets of a control plane. The persisted ones cover the list of docs/specification/README.md#s0, but
// for a password file that API servers do not know any more (docs/deviations.md); Gardener's names are used where it
// renamed one.
const (
	SecretCA                = "ca"
	SecretCAClient          = "ca-client"
	SecretCAEtcd            = "ca-etcd"
	SecretCAFrontProxy      = "ca-front-proxy"
	SecretCAKubelet         = "ca-kubelet"
	SecretCAMetricsServer   = "ca-metrics-server"
	SecretServiceAccountKey = "service-account-key"
	SecretStaticToken       = "static-token"
	SecretEncryptionKey     = "kube-apiserver-etcd-encryption-key"
	SecretSSHKeyPair        = "ssh-keypair"
	SecretKubeAggregator    = "kube-aggregator"
	SecretKubeAPIServer     = "kube-apiserver"

	secretEtcdServer        = "etcd-server"
	secretEtcdClient        = "etcd-client"
	secretControllerManager = "kube-controller-manager"
	secretScheduler         = "kube-scheduler"
	secretMachineController = "machine-controller"
	secretResourceManager   = "gardener-resource-manager"

	keyCACert = "ca.crt"
	keyCAKey  = "ca.key"
	keyCert   = "tls.crt"
	keyKey    = "tls.key"

	// keyClusterAdminToken and keyNodeToken are the tokens of static-token beside the CSV that the API server reads.
	keyTokens            = "static_tokens.csv"
	keyClusterAdminToken = "cluster-admin"
	keyNodeToken         = "node"

	labelPersist   = "persist"
	labelManagedBy = "managed-by"
	labelName      = "name"

	labelValidUntil = "valid-until-time"
)

// secretSpec says how one secret comes to be when it is missing.
type secretSpec struct {
	name    string
	persist bool
	labels  map[string]string
	make    func(*secretSet) (map[string][]byte, error)
	// outdated reports whether a secret must be made anew, although it exists; nil for never.
	outdated func(map[string][]byte) bool
	// rotation is the value of labelRotated that the rotation under way gives the secret; "" without one.
	rotation string
}

// secretSet are the secrets of one control plane as far as they exist.
type secretSet struct {
	o    *Operation
	data map[string]map[string][]byte
}

func (s *secretSet) ca(name string) keyPair {
	return keyPair{cert: s.data[name][keyCACert], key: s.data[name][keyCAKey]}
}

// InitializeSecrets restores the persisted secrets of the ShootState while restoring, and creates what is missing,
// each derived from those before it. What exists is never changed (docs/specification/migration.md#spec-2-8), but for
// the certificate of a shoot that has been given a domain since, for certificates that have come to half of their
// validity, and for what a rotation makes anew.
func (o *Operation) InitializeSecrets(ctx context.Context) error {
	if o.State != nil {
		if err := o.restoreSecrets(ctx); err != nil {
			return err
		}
	}
	set := &secretSet{o: o, data: map[string]map[string][]byte{}}
	for _, spec := range o.secretSpecs(ctx, o.Clock.Now()) {
		data, err := o.ensureSecret(ctx, spec, set)
		if err != nil {
			return err
		}
		set.data[spec.name] = data
	}
	return nil
}

func (o *Operation) restoreSecrets(ctx context.Context) error {
	for _, secret := range o.State.Secrets {
		secret := secret.DeepCopy()
		secret.Namespace = o.Namespace()
		if err := o.Seed.Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
			return describe("restore", secret, o.Seed, err)
		}
	}
	return nil
}

// MissingSecrets names the persisted secrets that the loaded ShootState lacks.
func (o *Operation) MissingSecrets() []string {
	saved := map[string]bool{}
	for _, secret := range o.State.Secrets {
		saved[secret.Name] = true
	}
	var missing []string
	for _, spec := range o.secretSpecs(context.Background(), time.Time{}) {
		if spec.persist && !saved[spec.name] {
			missing = append(missing, fmt.Sprintf("the secret %q in the ShootState", spec.name))
		}
	}
	return missing
}

func (o *Operation) ensureSecret(ctx context.Context, spec secretSpec, set *secretSet) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	err := o.Seed.Get(ctx, o.key(spec.name), secret)
	if err == nil && spec.outdated != nil && spec.outdated(secret.Data) {
		return o.renewSecret(ctx, secret, spec, set)
	}
	if err == nil && spec.rotation != "" && secret.Labels[labelRotated] != spec.rotation {
		return o.rotateSecret(ctx, secret, spec, set)
	}
	if err == nil {
		return secret.Data, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read secret %q: %w", spec.name, err)
	}
	if o.Restoring() && spec.persist {
		return nil, fmt.Errorf(
			"secret %q is missing in the ShootState: restoring without it would give the shoot a new identity", spec.name)
	}
	data, err := spec.make(set)
	if err != nil {
		return nil, fmt.Errorf("make secret %q: %w", spec.name, err)
	}
	secret = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: spec.name, Namespace: o.Namespace(), Labels: map[string]string{
			labelManagedBy: "secrets-manager",
			labelName:      spec.name,
		}},
		Type: corev1.SecretTypeOpaque,
		Data: data,
	}
	for key, value := range spec.labels {
		secret.Labels[key] = value
	}
	if spec.persist {
		secret.Labels[labelPersist] = "true"
	}
	if spec.rotation != "" {
		secret.Labels[labelRotated] = spec.rotation
	}
	if err := o.Seed.Create(ctx, secret); err != nil {
		return nil, fmt.Errorf("create secret %q: %w", spec.name, err)
	}
	return data, nil
}

// renewSecret puts what is made anew in the place of what a secret holds.
func (o *Operation) renewSecret(ctx context.Context, secret *corev1.Secret, spec secretSpec,
	set *secretSet) (map[string][]byte, error) {
	data, err := spec.make(set)
	if err != nil {
		return nil, fmt.Errorf("make secret %q anew: %w", spec.name, err)
	}
	before := secret.DeepCopy()
	secret.Data = data
	if err := o.Seed.Patch(ctx, secret, client.MergeFrom(before)); err != nil {
		return nil, fmt.Errorf("renew secret %q: %w", spec.name, err)
	}
	return data, nil
}

// secretSpecs lists the secrets, those that others derive from first.
func (o *Operation) secretSpecs(ctx context.Context, now time.Time) []secretSpec {
	specs := []secretSpec{}
	for _, name := range []string{SecretCA, SecretCAClient, SecretCAEtcd, SecretCAFrontProxy, SecretCAKubelet,
		SecretCAMetricsServer} {
		specs = append(specs, secretSpec{
			name: name, persist: true,
			labels: map[string]string{labelValidUntil: fmt.Sprint(now.Add(caValidity).Unix())},
			make: func(*secretSet) (map[string][]byte, error) {
				ca, err := newCA(name, now)
				return map[string][]byte{keyCACert: ca.cert, keyCAKey: ca.key}, err
			},
		})
	}
	for _, identity := range access.Clients() {
		specs = append(specs, guardClient(ctx, identity.Secret(), identity, now))
	}
	return append(specs,
		secretSpec{name: SecretServiceAccountKey, persist: true, make: makeServiceAccountKey},
		secretSpec{name: SecretStaticToken, persist: true, make: makeStaticTokens},
		secretSpec{name: SecretEncryptionKey, persist: true, make: makeEncryptionConfiguration},
		secretSpec{name: SecretSSHKeyPair, persist: true, make: makeSSHKeyPair, rotation: o.sshRotation()},
		secretSpec{name: SecretKubeAggregator, persist: true,
			make: issued(SecretCAFrontProxy, now, func(context.Context) (certificate, error) {
				return certificate{commonName: "system:kube-aggregator", usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
					nil
			}, ctx), outdated: aging(now)},
		secretSpec{name: SecretKubeAPIServer, persist: true,
			make: issued(SecretCA, now, func(context.Context) (certificate, error) {
				return o.apiServerCertificate(), nil
			}, ctx), outdated: func(data map[string][]byte) bool { return o.lacksDomain(data) || aging(now)(data) }},
		o.etcdServer(ctx, now),
		guardClient(ctx, secretEtcdClient, access.APIServer, now),
		o.clientSecret(ctx, secretControllerManager, now, "system:kube-controller-manager"),
		o.clientSecret(ctx, secretScheduler, now, "system:kube-scheduler"),
		o.clientSecret(ctx, secretMachineController, now, UserMachineController),
		o.clientSecret(ctx, secretResourceManager, now, UserResourceManager),
	)
}

// guardClient is the certificate by which guard and sidecar know a caller (package etcd/access).
func guardClient(ctx context.Context, name string, identity access.Identity, now time.Time) secretSpec {
	client := certificate{commonName: string(identity), usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	return secretSpec{name: name, outdated: aging(now), make: issued(SecretCAEtcd, now,
		func(context.Context) (certificate, error) { return client, nil }, ctx)}
}

// etcdServer is the certificate of guard and sidecar, and of etcd to its peers.
func (o *Operation) etcdServer(ctx context.Context, now time.Time) secretSpec {
	return secretSpec{
		name: secretEtcdServer, outdated: aging(now), make: issued(SecretCAEtcd, now, o.etcdServerCertificate, ctx),
	}
}

func issued(ca string, now time.Time, describe func(context.Context) (certificate, error),
	ctx context.Context) func(*secretSet) (map[string][]byte, error) {
	return func(set *secretSet) (map[string][]byte, error) {
		c, err := describe(ctx)
		if err != nil {
			return nil, err
		}
		pair, err := set.ca(ca).issue(c, now)
		return map[string][]byte{keyCACert: set.ca(ca).cert, keyCert: pair.cert, keyKey: pair.key}, err
	}
}

// apiServerCertificate has names only that no seed gives, so that it stays the same wherever the shoot lives.
func (o *Operation) apiServerCertificate() certificate {
	return certificate{
		commonName: ServiceKubeAPIServer,
		dnsNames: append([]string{
			ServiceKubeAPIServer, "localhost",
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		}, o.Hosts()...),
		addresses: []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(shootKubernetesServiceIP)},
		usages:    []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

// lacksDomain reports whether the API server's certificate does not name the shoot's domain. The shoot may have got the
// domain after the certificate was made.
func (o *Operation) lacksDomain(data map[string][]byte) bool {
	host := o.ExternalHost()
	if host == "" {
		return false
	}
	certificates, err := certutil.ParseCertsPEM(data[keyCert])
	return err != nil || certificates[0].VerifyHostname(host) != nil
}

func (o *Operation) etcdServerCertificate(ctx context.Context) (certificate, error) {
	service := &corev1.Service{}
	if err := o.Seed.Get(ctx, o.key(ServiceEtcdClient), service); err != nil {
		return certificate{}, fmt.Errorf("read service %q: %w", ServiceEtcdClient, err)
	}
	return certificate{
		commonName: string(access.Guard),
		dnsNames:   []string{"localhost", ServiceEtcdClient, ServiceEtcdClient + "." + o.Namespace() + ".svc"},
		addresses:  []net.IP{net.ParseIP(service.Spec.ClusterIP)},
		usages:     []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, nil
}

// clientSecret is a kubeconfig for a part of the control plane, which reaches the API server inside the seed. It
// names the files of certificate and key, which clients read again: nothing has to be restarted when they are
// renewed.
func (o *Operation) clientSecret(ctx context.Context, name string, now time.Time, user string,
	groups ...string) secretSpec {
	return secretSpec{name: name, outdated: aging(now), make: func(set *secretSet) (map[string][]byte, error) {
		service := &corev1.Service{}
		if err := o.Seed.Get(ctx, o.key(ServiceKubeAPIServer), service); err != nil {
			return nil, fmt.Errorf("read service %q: %w", ServiceKubeAPIServer, err)
		}
		pair, err := set.ca(SecretCAClient).issue(certificate{
			commonName: user, organizations: groups, usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}, now)
		if err != nil {
			return nil, err
		}
		kubeconfig, err := clientKubeconfig(kubeconfigOptions{
			server:     fmt.Sprintf("https://%s:%d", service.Spec.ClusterIP, apiServerPort),
			serverName: ServiceKubeAPIServer,
			ca:         set.ca(SecretCA).cert,
			clientCert: keyCert, clientKey: keyKey,
		})
		return map[string][]byte{"kubeconfig": kubeconfig, keyCert: pair.cert, keyKey: pair.key}, err
	}}
}

func makeServiceAccountKey(*secretSet) (map[string][]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"id_rsa": pem.EncodeToMemory(&pem.Block{
		Type: keyutil.RSAPrivateKeyBlockType, Bytes: x509.MarshalPKCS1PrivateKey(key),
	})}, nil
}

func makeStaticTokens(*secretSet) (map[string][]byte, error) {
	admin, node := randomHex(32), randomHex(32)
	return map[string][]byte{
		keyClusterAdminToken: []byte(admin),
		keyNodeToken:         []byte(node),
		keyTokens: []byte(admin + `,system:cluster-admin,system:cluster-admin,"system:masters"` + "\n" +
			node + "," + UserNodes + "," + UserNodes + "\n"),
	}, nil
}

func makeEncryptionConfiguration(*secretSet) (map[string][]byte, error) {
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

func makeSSHKeyPair(*secretSet) (map[string][]byte, error) {
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

// SecretData reads the data of a secret in the control-plane namespace.
func (o *Operation) SecretData(ctx context.Context, name string) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	if err := o.Seed.Get(ctx, o.key(name), secret); err != nil {
		return nil, fmt.Errorf("read secret %q: %w", name, err)
	}
	return secret.Data, nil
}
