package environment

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/crds"
	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/clusters/switchboard"
	"github.com/transplant-sim/transplant/controllers/extension/operatingsystem"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario/thirdparty"
)

// gardenValues and seedValues fill in the manifests.
type gardenValues struct {
	Project, Image, ShootProxyURL     string
	CloudProfile, MachineImage        string
	KubernetesVersions, ImageVersions []string
	Tolerable                         []string
	User                              int64
	Settings                          Settings
}

type seedValues struct {
	Name, Domain, DefaultDomain           string
	Pods, Services, Region                string
	Image, KubernetesImage, ShootProxyURL string
	Taints                                []landscape.Taint
	TakenKinds                            []string // by third-party extensions
	BackupExtensions                      []string // flags of the gardenlet
	ExtensionNamespaces                   []string // flags of the gardenlet, too
	ResourceManager                       bool     // runs
	NodeDNS                               string   // that pods on nodes ask; empty for none
	User                                  int64
	Settings                              Settings
}

func (s *Environment) setUpGarden(ctx context.Context, l Landscape, garden client.Client) error {
	if err := install(ctx, l, landscape.Garden, garden, crds.Garden()); err != nil {
		return err
	}
	proxy, err := l.Links().Proxy(gcm)
	if err != nil {
		return err
	}
	values := gardenValues{
		Project: Project, Image: image, ShootProxyURL: proxy.URL(), Tolerable: s.Tolerable, User: s.User,
		Settings: s.Settings, CloudProfile: landscape.CloudProfile,
		KubernetesVersions: landscape.Kubernetes(), MachineImage: landscape.MachineImage, ImageVersions: landscape.Images(),
	}
	for _, manifest := range []string{"garden.yaml", "seed-restriction.yaml"} {
		if err := apply(ctx, garden, manifest, values, s.Extensions...); err != nil {
			return err
		}
	}
	if err := s.register(ctx, garden); err != nil {
		return err
	}
	for _, k := range []kubeconfigFor{
		{actor: gcm, target: landscape.Garden, account: "garden/" + gcm, namespace: "garden", secret: "kubeconfig-garden"},
		{actor: gcm, target: switchboard.Cloud, namespace: "garden", secret: "kubeconfig-cloud"},
	} {
		if err := s.giveKubeconfig(ctx, l, garden, k); err != nil {
			return err
		}
	}
	if err := writeSecret(ctx, garden, "garden", "links-ca", map[string][]byte{"ca.crt": l.Links().CA()}); err != nil {
		return err
	}
	if err := apply(ctx, garden, "garden-actors.yaml", values); err != nil {
		return err
	}
	for _, seed := range firstSeeds(l) {
		v, err := s.seedValues(l, seed)
		if err != nil {
			return err
		}
		if err := apply(ctx, garden, "seed-in-garden.yaml", v, s.Extensions...); err != nil {
			return err
		}
	}
	return nil
}

func (s *Environment) seedValues(l Landscape, seed string) (seedValues, error) {
	proxy, err := l.Links().Proxy("gardenlet-" + seed)
	if err != nil {
		return seedValues{}, err
	}
	pods, services, err := l.Networks(seed)
	if err != nil {
		return seedValues{}, err
	}
	nodeDNS := ""
	if s.RealNodes.Count() > 0 {
		nodeDNS = l.CloudAddresses().DNS
	}
	return seedValues{
		NodeDNS: nodeDNS,
		Name:    seed, Domain: Domain, DefaultDomain: DefaultDomain, Pods: pods, Services: services,
		Region: cmp.Or(s.Regions[seed], landscape.Home),
		Image:  image, KubernetesImage: kubernetesImage, ShootProxyURL: proxy.URL(), Taints: s.Taints[seed],
		TakenKinds:       landscape.TakenKinds(s.Extensions),
		BackupExtensions: backupExtensions(s.Extensions), ExtensionNamespaces: extensionNamespaces(s.Extensions),
		ResourceManager: len(s.Extensions) > 0,
		User:            s.User, Settings: s.Settings,
	}, nil
}

// seedObject is a seed as the garden gets it: with its defaults, and as the extensions' files change it.
func (s *Environment) seedObject(l Landscape, name string) (*gardencorev1beta1.Seed, error) {
	values, err := s.seedValues(l, name)
	if err != nil {
		return nil, err
	}
	return seedInGarden(values, s.Extensions)
}

func seedInGarden(values seedValues, extensions []landscape.Extension) (*gardencorev1beta1.Seed, error) {
	objects, err := filledIn("seed-in-garden.yaml", values, extensions...)
	if err != nil {
		return nil, err
	}
	seed := &gardencorev1beta1.Seed{}
	for _, object := range objects {
		if object.GetKind() == "Seed" {
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, seed)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read seed %q: %w", values.Name, err)
	}
	return seed, nil
}

// prepareSeed brings on a seed what does not need the garden: all that is there before the gardenlet, which binds
// roles.
func (s *Environment) prepareSeed(ctx context.Context, l Landscape, c client.Client, seed string) error {
	inGarden, err := s.seedObject(l, seed)
	if err != nil {
		return err
	}
	definitions, err := thirdparty.Definitions(s.Extensions, inGarden)
	if err != nil {
		return err
	}
	if err := install(ctx, l, seed, c, definitions); err != nil {
		return err
	}
	values, err := s.seedValues(l, seed)
	if err != nil {
		return err
	}
	if err := apply(ctx, c, "seed.yaml", values); err != nil {
		return err
	}
	if values.ResourceManager {
		if err := apply(ctx, c, "resource-manager.yaml", values); err != nil {
			return err
		}
	}
	if err := registerWebhook(ctx, c); err != nil {
		return err
	}
	for _, e := range s.Extensions {
		if err := s.prepareExtension(ctx, c, e, inGarden); err != nil {
			return err
		}
	}
	return nil
}

// registerWebhook lets the seed's API server ask the reference provider, which serves with the certificate that it is
// given here.
func registerWebhook(ctx context.Context, c client.Client) error {
	const namespace = "extensions"
	authority, certificate, key, err := servingPair(operatingsystem.WebhookName + "." + namespace + ".svc")
	if err != nil {
		return fmt.Errorf("make the certificate of the provider's webhook: %w", err)
	}
	if err := writeSecret(ctx, c, namespace, "webhook-server", map[string][]byte{
		corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key,
	}); err != nil {
		return err
	}
	if err := c.Apply(ctx, operatingsystem.WebhookConfiguration(namespace, authority), fieldOwner,
		client.ForceOwnership); err != nil {
		return fmt.Errorf("register the provider's webhook: %w", err)
	}
	return nil
}

// servingPair makes a certificate that serves at a host, and an authority that has signed no other.
func servingPair(host string) (authority, certificate, key []byte, err error) {
	signer, err := pki.NewAuthority(host, time.Now())
	if err != nil {
		return nil, nil, nil, err
	}
	pair, err := signer.IssueServing(host, time.Now())
	if err != nil {
		return nil, nil, nil, err
	}
	certificate, key, err = pki.PEM(*pair)
	return signer.PEM(), certificate, key, err
}

// startSeed gives the seed's actors their kubeconfigs and starts them.
func (s *Environment) startSeed(ctx context.Context, l Landscape, c client.Client, seed string) error {
	for _, k := range s.seedKubeconfigs(seed) {
		if err := s.giveKubeconfig(ctx, l, c, k); err != nil {
			return err
		}
	}
	if err := writeSecret(ctx, c, "garden", "links-ca", map[string][]byte{"ca.crt": l.Links().CA()}); err != nil {
		return err
	}
	values, err := s.seedValues(l, seed)
	if err != nil {
		return err
	}
	if err := apply(ctx, c, "seed-actors.yaml", values); err != nil {
		return err
	}
	if values.ResourceManager {
		if err := apply(ctx, c, "resource-manager-actor.yaml", values); err != nil {
			return err
		}
	}
	return s.startExtensions(ctx, l, c, seed)
}

// RebuildSeed sets a seed up that was built anew, as when the landscape was made: definitions, identities, actors.
func (s *Environment) RebuildSeed(ctx context.Context, l Landscape, c client.Client, seed string) error {
	if err := s.prepareSeed(ctx, l, c, seed); err != nil {
		return fmt.Errorf("set up the rebuilt seed %q: %w", seed, err)
	}
	if err := s.startSeed(ctx, l, c, seed); err != nil {
		return fmt.Errorf("set up the rebuilt seed %q: %w", seed, err)
	}
	return nil
}

// kubeconfigFor says which actor gets a kubeconfig for which target, and where.
type kubeconfigFor struct {
	actor, target string
	// account is the ServiceAccount in the target, empty for the cloud.
	account           string
	namespace, secret string
}

// seedKubeconfigs are those of the actors of a seed.
func (s *Environment) seedKubeconfigs(seed string) []kubeconfigFor {
	gardenlet, extensions, controlPlanes := "gardenlet-"+seed, "extensions-"+seed, "control-planes-"+seed
	kubeconfigs := []kubeconfigFor{
		{actor: gardenlet, target: landscape.Garden, account: "garden/" + gardenlet, namespace: "garden",
			secret: "kubeconfig-garden"},
		{actor: gardenlet, target: seed, account: "garden/gardenlet", namespace: "garden", secret: "kubeconfig-seed"},
		{actor: gardenlet, target: switchboard.Cloud, namespace: "garden", secret: "kubeconfig-cloud"},
		{actor: controlPlanes, target: landscape.Garden, account: "garden/" + controlPlanes, namespace: "garden",
			secret: "control-plane-kubeconfig-garden"},
		{actor: controlPlanes, target: switchboard.Cloud, namespace: "garden", secret: "control-plane-kubeconfig-cloud"},
		{actor: extensions, target: seed, account: referenceAccount, namespace: "extensions",
			secret: "kubeconfig-seed"},
		{actor: extensions, target: switchboard.Cloud, namespace: "extensions", secret: "kubeconfig-cloud"},
		{actor: "gateway-" + seed, target: seed, account: "istio-ingress/gateway", namespace: "istio-ingress",
			secret: "kubeconfig-seed"},
	}
	if len(s.Extensions) > 0 {
		kubeconfigs = append(kubeconfigs, kubeconfigFor{actor: landscape.ResourceManager(seed), target: seed,
			account: "resource-manager/resource-manager", namespace: "resource-manager", secret: "kubeconfig-seed"})
	}
	return kubeconfigs
}

func (s *Environment) giveKubeconfig(ctx context.Context, l Landscape, c client.Client, k kubeconfigFor) error {
	var content []byte
	var err error
	if k.target == switchboard.Cloud {
		content, err = s.cloudKubeconfig(l, k.actor)
	} else {
		content, err = switchboard.Kubeconfig(ctx, l, k.actor, k.target, k.account)
	}
	if err != nil {
		return err
	}
	if err := l.Dir().WriteKubeconfig(k.actor, k.target, content); err != nil {
		return err
	}
	return writeSecret(ctx, c, k.namespace, k.secret, map[string][]byte{keyKubeconfig: content})
}

func writeSecret(ctx context.Context, c client.Client, namespace, name string, data map[string][]byte) error {
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data:       data,
	}
	if err := c.Create(ctx, secret); err != nil {
		return fmt.Errorf("create secret %s/%s: %w", namespace, name, err)
	}
	return nil
}

// cloudKubeconfig is the way of an actor to the cloud, over its link.
func (s *Environment) cloudKubeconfig(l Landscape, actor string) ([]byte, error) {
	opened, err := l.Links().Link(actor, switchboard.Cloud)
	if err != nil {
		return nil, err
	}
	return clientcmd.Write(clientcmdapi.Config{
		CurrentContext: switchboard.Cloud,
		Clusters: map[string]*clientcmdapi.Cluster{switchboard.Cloud: {Server: opened.URL(),
			CertificateAuthorityData: l.Links().CA()}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{actor: {Token: s.tokens[actor]}},
		Contexts:  map[string]*clientcmdapi.Context{switchboard.Cloud: {Cluster: switchboard.Cloud, AuthInfo: actor}},
	})
}

// CloudAs is the cloud's client of an identity, over its link; the observer's own is never faulted.
func (s *Environment) CloudAs(l Landscape, identity string) (*cloud.Client, error) {
	content, err := s.cloudKubeconfig(l, identity)
	if err != nil {
		return nil, err
	}
	return cloud.FromKubeconfig(content, cloud.Options{})
}

// makeZones makes the DNS zones of the shoots' internal and external names, as an operator would.
func (s *Environment) makeZones(ctx context.Context, l Landscape) error {
	admin, err := s.CloudAs(l, CloudAdmin)
	if err != nil {
		return err
	}
	for _, name := range []string{Domain, DefaultDomain} {
		if _, err := admin.Zones().Create(ctx, &cloud.Zone{Name: name}); err != nil {
			return fmt.Errorf("create the DNS zone %q: %w", name, err)
		}
	}
	return nil
}
