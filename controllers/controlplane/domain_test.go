package controlplane

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

const (
	internalHost = "api.alpha.p.shoots.test"
	externalHost = "api.alpha.p.clusters.test"
)

func withDomain(shoot *gardencorev1beta1.Shoot, domain string, providers ...gardencorev1beta1.DNSProvider) {
	shoot.Spec.DNS = &gardencorev1beta1.DNS{Domain: ptr.To(domain), Providers: providers}
}

// named is a run on a seed with a gateway, which offers default domains.
func named(t *testing.T, operation gardencorev1beta1.LastOperationType, onSeed ...client.Object) *Operation {
	t.Helper()
	gateway := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "istio-ingress", Name: "gateway"}}
	gateway.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "127.0.0.2"}}
	credentials := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "garden",
		Name: "control-plane-kubeconfig-cloud"}, Data: map[string][]byte{"kubeconfig": []byte(kubeconfigOfSeed)}}
	o := newOperation(t, operation, interceptor.Funcs{}, append(onSeed, gateway, credentials)...)
	o.InternalDomain, o.GatewayNamespace, o.GatewayService, o.GatewayPort, o.DNSTTL = "shoots.test", "istio-ingress",
		"gateway", 9443, 5*time.Second
	o.SeedName, o.SeedObject = "a", seedA()
	o.SeedObject.Spec.DNS.Defaults = []gardencorev1beta1.SeedDNSProviderConfig{
		{Type: "short", Domain: "test"}, {Type: "transplant", Domain: "clusters.test"},
		{Type: "zoned", Domain: "zoned.test", Zone: ptr.To("z-1")},
	}
	return o
}

// kubeconfigOfSeed is the way to the cloud that the seed holds ready for all control planes.
const kubeconfigOfSeed = `{"apiVersion": "v1", "kind": "Config", "users": [{"name": "control-planes-a",
"user": {"token": "of-all-shoots"}}]}`

// The seed's token for the cloud, which is good for all of its shoots, comes into no shoot's namespace.
func TestDeployCredentials_OfTheCloud_AreGoodForTheShootOnly(t *testing.T) {
	t.Parallel()
	o := named(t, gardencorev1beta1.LastOperationTypeReconcile, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "garden", Name: "control-plane-kubeconfig-garden"},
		Data: map[string][]byte{"kubeconfig": []byte("garden")}})
	if err := o.DeployCredentials(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"kubeconfig-garden": "garden",
		"kubeconfig-cloud": confinedKubeconfig(t), "cloudprovider": confinedKubeconfig(t)} {
		secret := &corev1.Secret{}
		if err := o.Seed.Get(t.Context(), o.key(name), secret); err != nil {
			t.Fatal(err)
		}
		if got := string(secret.Data["kubeconfig"]); got != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
}

// confinedKubeconfig is what the shoot gets of kubeconfigOfSeed.
func confinedKubeconfig(t *testing.T) string {
	t.Helper()
	confined, err := cloud.ConfineKubeconfig([]byte(kubeconfigOfSeed), "shoot--p--alpha")
	if err != nil {
		t.Fatal(err)
	}
	token := cloud.ConfinedToken("of-all-shoots", "shoot--p--alpha")
	if text := string(confined); !strings.Contains(text, token) || strings.Contains(text, "of-all-shoots") {
		t.Fatalf("the confined kubeconfig is %s", text)
	}
	return string(confined)
}

func TestNamesOfAShoot(t *testing.T) {
	t.Parallel()
	unmanaged := gardencorev1beta1.DNSProvider{Primary: ptr.To(true), Type: ptr.To("unmanaged")}
	for name, c := range map[string]struct {
		domain     string
		providers  []gardencorev1beta1.DNSProvider
		hosts      []string
		advertised []string
		servers    []string // of the kubeconfig: that of the current context first
	}{
		"none of its own": {
			hosts: []string{internalHost}, advertised: []string{"internal https://" + internalHost + ":9443"},
			servers: []string{"https://" + internalHost + ":9443"},
		},
		"a domain": {
			domain: "alpha.p.clusters.test", hosts: []string{internalHost, externalHost},
			advertised: []string{"external https://" + externalHost + ":9443", "internal https://" + internalHost + ":9443"},
			servers:    []string{"https://" + externalHost + ":9443", "https://" + internalHost + ":9443"},
		},
		"a domain that its owner serves": {
			domain: "alpha.p.clusters.test", providers: []gardencorev1beta1.DNSProvider{unmanaged},
			hosts:      []string{internalHost, externalHost},
			advertised: []string{"external https://" + externalHost + ":9443", "internal https://" + internalHost + ":9443"},
			servers:    []string{"https://" + internalHost + ":9443"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := named(t, gardencorev1beta1.LastOperationTypeReconcile)
			if c.domain != "" {
				withDomain(o.Shoot, c.domain, c.providers...)
			}
			if diff := cmp.Diff(c.hosts, o.Hosts()); diff != "" {
				t.Errorf("hosts (-want +got):\n%s", diff)
			}
			var advertised []string
			for _, address := range o.advertisedAddresses() {
				advertised = append(advertised, address.Name+" "+address.URL)
			}
			if diff := cmp.Diff(c.advertised, advertised); diff != "" {
				t.Errorf("advertised addresses (-want +got):\n%s", diff)
			}
			content, err := o.userKubeconfig([]byte("ca"), "token")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.servers, serversOf(t, content)); diff != "" {
				t.Errorf("servers of the kubeconfig (-want +got):\n%s", diff)
			}
		})
	}
}

// serversOf a kubeconfig, that of its current context first; each must be usable as it stands.
func serversOf(t *testing.T, content []byte) []string {
	t.Helper()
	config, err := clientcmd.Load(content)
	if err != nil {
		t.Fatal(err)
	}
	var servers []string
	for name, context := range config.Contexts {
		cluster, user := config.Clusters[context.Cluster], config.AuthInfos[context.AuthInfo]
		if cluster == nil || user == nil || string(cluster.CertificateAuthorityData) != "ca" || user.Token != "token" {
			t.Fatalf("context %q: cluster %+v, user %+v", name, cluster, user)
		}
		if name == config.CurrentContext {
			servers = slices.Insert(servers, 0, cluster.Server)
		} else {
			servers = append(servers, cluster.Server)
		}
	}
	return servers
}

// The external name leads where the internal one leads, on every seed; the shoot or its seed says who serves
// it.
func TestExternalDNSRecord(t *testing.T) {
	t.Parallel()
	own := func(change ...func(*gardencorev1beta1.DNSProvider)) []gardencorev1beta1.DNSProvider {
		p := gardencorev1beta1.DNSProvider{Primary: ptr.To(true), Type: ptr.To("mine")}
		for _, do := range change {
			do(&p)
		}
		return []gardencorev1beta1.DNSProvider{{Type: ptr.To("further")}, p}
	}
	secret := func(name string) func(*gardencorev1beta1.DNSProvider) {
		return func(p *gardencorev1beta1.DNSProvider) { p.SecretName = ptr.To(name) }
	}
	reference := func(p *gardencorev1beta1.DNSProvider) {
		p.CredentialsRef = &autoscalingv1.CrossVersionObjectReference{APIVersion: "v1", Kind: "Secret", Name: "route"}
	}
	zones := func(names ...string) func(*gardencorev1beta1.DNSProvider) {
		return func(p *gardencorev1beta1.DNSProvider) { p.Zones = &gardencorev1beta1.DNSIncludeExclude{Include: names} }
	}
	confined := confinedKubeconfig(t)
	for name, c := range map[string]struct {
		domain            string
		providers         []gardencorev1beta1.DNSProvider
		kind, zone, value string // value is that of the credentials
		deleting          bool
		err               string
		code              gardencorev1beta1.ErrorCode
	}{
		"a default domain, the longest": {domain: "alpha.p.clusters.test", kind: "transplant", zone: "clusters.test",
			value: confined},
		"one with a zone of another name": {domain: "alpha.zoned.test", kind: "zoned", zone: "z-1", value: confined},
		"the shoot's own provider":        {domain: "alpha.p.clusters.test", providers: own(), kind: "mine", value: confined},
		"with a secret": {domain: "a.example", providers: own(secret("route"), zones("z-2")), kind: "mine",
			zone: "z-2", value: "route"},
		"with a reference": {domain: "a.example", providers: own(secret("none"), reference,
			zones("z-2", "z-3")), kind: "mine", value: "route"},
		"with a secret that is missing": {domain: "a.example", providers: own(secret("none")),
			err: `the project has no secret "none"`, code: gardencorev1beta1.ErrorRetryableConfigurationProblem},
		"in deletion it is not missed": {domain: "a.example", providers: own(secret("none")), kind: "mine",
			deleting: true},
		"nobody": {domain: "a.example",
			err:  `nobody serves the domain "a.example": it lies below no default domain of seed "a"`,
			code: gardencorev1beta1.ErrorConfigurationProblem},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := named(t, gardencorev1beta1.LastOperationTypeReconcile)
			o.Garden = fake.NewClientBuilder().WithScheme(seedScheme(t)).WithObjects(&corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "route"},
				Data:       map[string][]byte{"kubeconfig": []byte("route")},
			}).Build()
			withDomain(o.Shoot, c.domain, c.providers...)
			if c.deleting {
				o.Shoot.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
			}
			err := o.DeployExternalDNSRecord(t.Context())
			if c.err != "" {
				coded := &CodedError{}
				if !errors.As(err, &coded) || !strings.Contains(err.Error(), c.err) || !slices.Contains(coded.Codes, c.code) {
					t.Errorf("got %v, want %q with code %s", err, c.err, c.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			record, credentials := &extensionsv1alpha1.DNSRecord{}, &corev1.Secret{}
			if err := o.Seed.Get(t.Context(), o.key("alpha-external"), record); err != nil {
				t.Fatal(err)
			}
			if err := o.Seed.Get(t.Context(), o.key("dnsrecord-alpha-external"),
				credentials); client.IgnoreNotFound(err) != nil {
				t.Fatal(err)
			}
			want := extensionsv1alpha1.DNSRecordSpec{
				DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: c.kind}, Name: "api." + c.domain, RecordType: "A",
				Values: []string{"127.0.0.2"}, TTL: ptr.To[int64](5),
				SecretRef: corev1.SecretReference{Namespace: "shoot--p--alpha", Name: "dnsrecord-alpha-external"},
			}
			if c.zone != "" {
				want.Zone = ptr.To(c.zone)
			}
			if diff := cmp.Diff(want, record.Spec); diff != "" || string(credentials.Data["kubeconfig"]) != c.value {
				t.Errorf("credentials %q, want %q; record (-want +got):\n%s", credentials.Data, c.value, diff)
			}
		})
	}
}

// A shoot that is given a domain after it was made gets a certificate that names it, of the same authority, once.
func TestTheCertificateNamesTheDomain(t *testing.T) {
	t.Parallel()
	service := func(name string) *corev1.Service {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: name}}
		s.Spec.ClusterIP = "10.0.0.1"
		return s
	}
	o := named(t, gardencorev1beta1.LastOperationTypeReconcile, service(ServiceEtcdClient), service(ServiceKubeAPIServer))
	o.Clock = testingclock.NewFakeClock(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC))
	made := func() (certificate string, names []string, others map[string]string) {
		t.Helper()
		if err := o.InitializeSecrets(t.Context()); err != nil {
			t.Fatal(err)
		}
		secrets := &corev1.SecretList{}
		if err := o.Seed.List(t.Context(), secrets, client.InNamespace("shoot--p--alpha")); err != nil {
			t.Fatal(err)
		}
		others = map[string]string{}
		for _, secret := range secrets.Items {
			if secret.Name != SecretKubeAPIServer {
				others[secret.Name] = secret.ResourceVersion
				continue
			}
			if secret.Labels["persist"] != "true" {
				t.Error("the certificate does not move with the shoot")
			}
			certificate = string(secret.Data["tls.crt"])
			parsed, err := certutil.ParseCertsPEM(secret.Data["tls.crt"])
			if err != nil {
				t.Fatal(err)
			}
			authority, err := certutil.ParseCertsPEM(secret.Data["ca.crt"])
			if err != nil {
				t.Fatal(err)
			}
			if err := parsed[0].CheckSignatureFrom(authority[0]); err != nil {
				t.Error(err)
			}
			names = parsed[0].DNSNames
		}
		return certificate, names, others
	}
	first, names, others := made()
	if !slices.Contains(names, internalHost) || slices.Contains(names, externalHost) {
		t.Errorf("without a domain it names %q", names)
	}
	withDomain(o.Shoot, "alpha.p.clusters.test")
	second, names, after := made()
	if second == first || !slices.Contains(names, internalHost) || !slices.Contains(names, externalHost) ||
		!slices.Contains(names, "kube-apiserver") {
		t.Errorf("with a domain it names %q", names)
	}
	if third, _, _ := made(); third != second {
		t.Error("it is made anew although it names the domain")
	}
	if diff := cmp.Diff(others, after); diff != "" {
		t.Errorf("others have changed (-before +after):\n%s", diff)
	}
}
