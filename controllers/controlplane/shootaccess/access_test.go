package shootaccess

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

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
			hosts:      []string{controlplanetest.InternalHost},
			advertised: []string{"internal https://" + controlplanetest.InternalHost + ":9443"},
			servers:    []string{"https://" + controlplanetest.InternalHost + ":9443"},
		},
		"a domain": {
			domain: "alpha.p.clusters.test", hosts: []string{controlplanetest.InternalHost, controlplanetest.ExternalHost},
			advertised: []string{"external https://" + controlplanetest.ExternalHost + ":9443",
				"internal https://" + controlplanetest.InternalHost + ":9443"},
			servers: []string{"https://" + controlplanetest.ExternalHost + ":9443",
				"https://" + controlplanetest.InternalHost + ":9443"},
		},
		"a domain that its owner serves": {
			domain: "alpha.p.clusters.test", providers: []gardencorev1beta1.DNSProvider{unmanaged},
			hosts: []string{controlplanetest.InternalHost, controlplanetest.ExternalHost},
			advertised: []string{"external https://" + controlplanetest.ExternalHost + ":9443",
				"internal https://" + controlplanetest.InternalHost + ":9443"},
			servers: []string{"https://" + controlplanetest.InternalHost + ":9443"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := New(controlplanetest.Named(t, gardencorev1beta1.LastOperationTypeReconcile))
			if c.domain != "" {
				controlplanetest.WithDomain(o.Shoot, c.domain, c.providers...)
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
