// Package secrets makes the secrets of a control plane, restores those that move with the shoot, and renews
// certificates. It gives nobody access: see package shootaccess.
package secrets

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/patch"
	"github.com/transplant-sim/transplant/controllers/rotation"
)

// Secrets are those of one control plane.
type Secrets struct{ *scope.Scope }

// spec says how one secret comes to be when it is missing.
type spec struct {
	name                string
	labels, annotations map[string]string

	make func(set) (map[string][]byte, error)
	// outdated reports whether a secret must be made anew, although it exists; nil for never.
	outdated func(map[string][]byte) bool
	// rotation is what the label LastRotationInitiationTime becomes by the rotation that is under way; "" without one.
	rotation string
}

// set are the data of the secrets of one control plane, as far as they exist.
type set map[string]map[string][]byte

// Initialize restores the persisted secrets of the ShootState while restoring, and creates what is missing,
// each derived from those before it. What exists is never changed (docs/specification/migration.md#spec-2-8), but for
// the certificate of a shoot that has been given a domain since, for certificates that have come to half of their
// validity, and for what a rotation makes anew.
func (s *Secrets) Initialize(ctx context.Context) error {
	there, err := s.list(ctx)
	if err != nil {
		return err
	}
	if s.State != nil {
		if err := s.restore(ctx, there); err != nil {
			return err
		}
	}
	set := set{}
	for _, spec := range s.specs(ctx, s.Clock.Now()) {
		data, err := s.ensure(ctx, spec, set, there[spec.name])
		if err != nil {
			return err
		}
		set[spec.name] = data
	}
	for name, data := range set {
		s.SecretData.Store(name, data)
	}
	return nil
}

// list reads the secrets of the control plane at once, by name: there are many, and each is asked for.
func (s *Secrets) list(ctx context.Context) (map[string]*corev1.Secret, error) {
	if s.Fresh {
		return map[string]*corev1.Secret{}, nil
	}
	list := &corev1.SecretList{}
	if err := s.Seed.List(ctx, list, client.InNamespace(s.Namespace())); err != nil {
		return nil, fmt.Errorf("list the secrets of the control plane: %w", err)
	}
	there := map[string]*corev1.Secret{}
	for i := range list.Items {
		there[list.Items[i].Name] = &list.Items[i]
	}
	return there, nil
}

// restore adds what it restores to the secrets that are there.
func (s *Secrets) restore(ctx context.Context, there map[string]*corev1.Secret) error {
	for _, secret := range s.State.Secrets {
		if there[secret.Name] != nil {
			continue
		}
		secret := secret.DeepCopy()
		secret.Namespace = s.Namespace()
		err := s.Seed.Create(ctx, secret)
		if apierrors.IsAlreadyExists(err) { // the list may be older
			err = objects.Read(ctx, s.Seed, secret)
		}
		if err != nil {
			return patch.Describe("restore", secret, s.Seed, err)
		}
		there[secret.Name] = secret
	}
	return nil
}

// ensure makes a secret, unless it is there and as it should be; there is nil if it is missing. A list may be older:
// what is to be changed is read again before.
func (s *Secrets) ensure(ctx context.Context, spec spec, set set, there *corev1.Secret) (map[string][]byte, error) {
	if there == nil {
		data, err := s.create(ctx, spec, set)
		if !apierrors.IsAlreadyExists(err) {
			return data, err
		}
		there = &corev1.Secret{ObjectMeta: s.Meta(spec.name)}
	} else if !spec.renews(there) && !spec.rotates(there) {
		return there.Data, nil
	}
	if err := objects.Read(ctx, s.Seed, there); err != nil {
		return nil, fmt.Errorf("read secret %q: %w", spec.name, err)
	}
	switch {
	case spec.renews(there):
		return s.renew(ctx, there, spec, set)
	case spec.rotates(there):
		return s.rotate(ctx, there, spec, set)
	}
	return there.Data, nil
}

// renews reports whether a secret is made anew, although it exists.
func (s spec) renews(secret *corev1.Secret) bool { return s.outdated != nil && s.outdated(secret.Data) }

// rotates reports whether the rotation that is under way has not made the secret anew yet.
func (s spec) rotates(secret *corev1.Secret) bool {
	return s.rotation != "" && secret.Labels[constants.LastRotationInitiationTime] != s.rotation
}

func (s *Secrets) create(ctx context.Context, spec spec, set set) (map[string][]byte, error) {
	if s.Restoring() && slices.Contains(persisted, spec.name) {
		return nil, fmt.Errorf(
			"secret %q is missing in the ShootState: restoring without it would give the shoot a new identity", spec.name)
	}
	data, err := spec.make(set)
	if err != nil {
		return nil, fmt.Errorf("make secret %q: %w", spec.name, err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: spec.name, Namespace: s.Namespace(), Labels: map[string]string{
			constants.ManagedBy:  constants.ManagedBySecretsManager,
			constants.SecretName: spec.name,
		}},
		Type: corev1.SecretTypeOpaque,
		Data: data,
	}
	maps.Copy(secret.Labels, spec.labels)
	secret.Annotations = spec.annotations
	if slices.Contains(persisted, spec.name) {
		secret.Labels[constants.Persist] = constants.LabelTrue
	}
	if spec.rotation != "" {
		secret.Labels[constants.LastRotationInitiationTime] = spec.rotation
	}
	if err := s.Seed.Create(ctx, secret); err != nil {
		return nil, fmt.Errorf("create secret %q: %w", spec.name, err)
	}
	return data, nil
}

// renew puts what is made anew in the place of what a secret holds.
func (s *Secrets) renew(ctx context.Context, secret *corev1.Secret, spec spec,
	set set) (map[string][]byte, error) {
	data, err := spec.make(set)
	if err != nil {
		return nil, fmt.Errorf("make secret %q anew: %w", spec.name, err)
	}
	return data, patch.Object(ctx, s.Seed, secret, func() { secret.Data = data })
}

// Data are the data of a secret in the control-plane namespace, which are read unless this run has made sure of them.
func (s *Secrets) Data(ctx context.Context, name string) (map[string][]byte, error) {
	if known, is := s.SecretData.Load(name); is {
		return known.(map[string][]byte), nil
	}
	return s.read(ctx, name)
}

func (s *Secrets) read(ctx context.Context, name string) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	if err := s.Seed.Get(ctx, s.Key(name), secret); err != nil {
		return nil, fmt.Errorf("read secret %q: %w", name, err)
	}
	return secret.Data, nil
}

// GuardClient issues a certificate by which the gardenlet asks the guard. It also renews the guard's own: a guard whose
// shoot another seed owns is not reconciled any more. What of it is left is read.
func (s *Secrets) GuardClient(ctx context.Context) (map[string][]byte, error) {
	ca, err := s.read(ctx, CAEtcd)
	if err != nil {
		return nil, fmt.Errorf("issue a certificate to ask the guard with: %w", err)
	}
	set, now, server := set{CAEtcd: ca}, s.Clock.Now(), &corev1.Secret{}
	if err := s.Seed.Get(ctx, s.Key(EtcdServer), server); apierrors.IsNotFound(err) {
		server = nil
	} else if err != nil {
		return nil, fmt.Errorf("read secret %q: %w", EtcdServer, err)
	}
	if _, err := s.ensure(ctx, s.etcdServer(ctx, now), set, server); err != nil {
		return nil, err
	}
	return guardClient("", access.Gardenlet, now).make(set)
}

// The users of a shoot that have roles of ours. kube-controller-manager and kube-scheduler have those that come with
// Kubernetes; the shoot's administrator alone is in the group system:masters.
const (
	UserMachineController = "transplant:machine-controller"
	UserResourceManager   = "transplant:gardener-resource-manager"
	// UserNodes is all simulated nodes of the shoot, which one process keeps alive.
	UserNodes = "transplant:nodes"
)

// Names of the secrets of a control plane. Gardener's names are used where it renamed one.
const (
	CA                = "ca"
	CAClient          = "ca-client"
	CAEtcd            = "ca-etcd"
	CAFrontProxy      = "ca-front-proxy"
	CAKubelet         = "ca-kubelet"
	CAMetricsServer   = "ca-metrics-server"
	ServiceAccountKey = "service-account-key"
	StaticToken       = "static-token"
	EncryptionKey     = "kube-apiserver-etcd-encryption-key"
	SSHKeyPair        = "ssh-keypair"
	KubeAggregator    = "kube-aggregator"
	KubeAPIServer     = "kube-apiserver"
	EtcdServer        = "etcd-server"
	EtcdClient        = "etcd-client"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	MachineController = "machine-controller"
	ResourceManager   = "gardener-resource-manager"
	// Gardener and GardenerInternal have kubeconfigs of administrators for whoever looks after the shoot from the seed: by
	// the shoot's public name, and by an address in the seed.
	Gardener         = "gardener"
	GardenerInternal = "gardener-internal"
	// GenericTokenKubeconfig is the kubeconfig for pods that mount a token beside it. The Cluster names it.
	GenericTokenKubeconfig = "generic-token-kubeconfig"
	// KubeletClient is by which the API server asks kubelets.
	KubeletClient = "kube-apiserver-kubelet"
	// CAVPN signs for both ends of the tunnel to nodes that run pods, and for the API server that uses it: VPNSeedServer,
	// VPNShoot and VPNClient.
	CAVPN         = "ca-vpn"
	VPNSeedServer = workload.VPNSeedServer
	VPNShoot      = "vpn-shoot"
	VPNClient     = "vpn-seed-server-client"
)

// Keys of the secrets.
const (
	KeyCACert = "ca.crt"
	keyCAKey  = "ca.key"
	KeyCert   = "tls.crt"
	KeyKey    = "tls.key"
	// KeyClusterAdminToken and KeyNodeToken are the tokens of static-token beside the CSV that the API server reads.
	KeyTokens            = "static_tokens.csv"
	KeyClusterAdminToken = "cluster-admin"
	KeyNodeToken         = "node"
	// KeyEgress of VPNClient is the configuration by which the API server uses the tunnel.
	KeyEgress = "egress-selector.yaml"
)

// authorities are the certificate authorities of a shoot, and persisted all secrets that move with it. These cover the
// list of docs/specification/README.md#s0, but for a password file that API servers do not know any more
// (docs/deviations.md).
var (
	authorities = []string{CA, CAClient, CAEtcd, CAFrontProxy, CAKubelet,
		CAMetricsServer}
	persisted = slices.Concat(authorities, []string{ServiceAccountKey, StaticToken, EncryptionKey,
		SSHKeyPair, KubeAggregator, KubeAPIServer})
)

// Missing names the persisted secrets that a ShootState lacks.
func Missing(state *shootstate.State) []string {
	var missing []string
	for _, name := range persisted {
		if !slices.ContainsFunc(state.Secrets, func(secret *corev1.Secret) bool { return secret.Name == name }) {
			missing = append(missing, fmt.Sprintf("the secret %q in the ShootState", name))
		}
	}
	return missing
}

// suffixOld of a secret's name names the one that was in use before its last rotation.
const suffixOld = ".old"

// sshRotation is the label of an SSH key pair that the rotation which is under way has made; "" if none is.
func (s *Secrets) sshRotation() string {
	ssh := rotation.SSHKeypair(&s.Shoot.Status)
	if !s.MayRotate() || !rotation.IsPending(ssh) {
		return ""
	}
	return strconv.FormatInt(ssh.LastInitiationTime.Unix(), 10)
}

// rotate keeps what a secret holds in another one, and makes it anew. The old one is written first: a gardenlet
// that dies in between finds the secret as it was, and writes the same old one again.
func (s *Secrets) rotate(
	ctx context.Context, secret *corev1.Secret, spec spec, set set,
) (map[string][]byte, error) {
	before := secret.DeepCopy()
	old := &corev1.Secret{ObjectMeta: s.Meta(spec.name + suffixOld)}
	if err := patch.CreateOrPatch(ctx, s.Seed, old, func(old *corev1.Secret) error {
		old.Labels, old.Type, old.Data = before.Labels, before.Type, before.Data
		return nil
	}); err != nil {
		return nil, err
	}
	data, err := spec.make(set)
	if err != nil {
		return nil, fmt.Errorf("rotate secret %q: %w", spec.name, err)
	}
	return data, patch.Object(ctx, s.Seed, secret, func() {
		secret.Data = data
		metav1.SetMetaDataLabel(&secret.ObjectMeta, constants.LastRotationInitiationTime, spec.rotation)
	})
}
