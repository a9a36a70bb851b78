package environment

import (
	"context"
	"crypto/x509"
	"encoding/csv"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/clusters/privilegestest"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// accounts are all ServiceAccounts of a cluster, as "namespace/name". Without a kube-controller-manager there are none
// but those that we make.
func (k *kit) accounts(t *testing.T) []string {
	t.Helper()
	list := &corev1.ServiceAccountList{}
	if err := k.admin.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, account := range list.Items {
		names = append(names, account.Namespace+"/"+account.Name)
	}
	return names
}

// namespaces are all that there are.
func (k *kit) namespaces(t *testing.T) []string {
	t.Helper()
	list := &corev1.NamespaceList{}
	if err := k.admin.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, namespace := range list.Items {
		names = append(names, namespace.Name)
	}
	return names
}

// startSeedKit is the seed a of the garden, with a third-party extension, the control plane of shoot alpha, and the
// credentials of alpha's backups.
func startSeedKit(t *testing.T, garden *kit) *kit {
	t.Helper()
	k, ctx := privilegesKit(t, "seed"), t.Context()
	for _, manifest := range []string{"seed.yaml", "resource-manager.yaml"} {
		if err := apply(ctx, k.admin, manifest, seedValues{Name: "a", Settings: ScenarioSettings}); err != nil {
			t.Fatal(err)
		}
	}
	third := landscape.Extension{Name: "third-party", Image: "image"}
	third.Resources = []landscape.ExtensionResource{{Kind: "Extension", Type: "third-party"}}
	third.Rules = []landscape.Rule{{APIGroups: []string{""}, Resources: []string{"namespaces"},
		Verbs: []string{"get", "list", "watch"}}}
	if err := apply(ctx, k.admin, "extension.yaml", New(ScenarioSettings).extensionValues(third, "a")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"control-plane-kubeconfig-garden", "control-plane-kubeconfig-cloud"} {
		k.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: name}})
	}
	extensions := []landscape.Extension{third}
	o := controlplane.New(&scope.Scope{
		Settings: scope.Settings{SeedName: "a", InternalDomain: Domain, Image: "image", KubernetesImage: "image",
			ExtensionRoles: map[string]string{"transplant:provider:control-plane": "extensions/provider-transplant",
				"transplant:resource-manager:control-plane": "resource-manager/resource-manager"}},
		Log: logr.Discard(), Clock: clock.RealClock{}, Garden: garden.admin, Seed: k.admin,
		Shoot: &gardencorev1beta1.Shoot{}, SeedObject: &gardencorev1beta1.Seed{}, Epoch: 1,
	})
	for key, object := range map[client.ObjectKey]client.Object{
		{Name: "a"}: o.SeedObject, {Namespace: "garden-p", Name: "alpha"}: o.Shoot,
	} {
		if err := garden.admin.Get(ctx, key, object); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bucket-" + string(o.SeedObject.UID), "entry-shoot--p--alpha--uid-of-alpha"} {
		backup := secret("garden", name)
		k.create(t, backup)
		if err := objects.GrantSecret(ctx, k.admin, backup, backupExtensions(extensions)...); err != nil {
			t.Fatal(err)
		}
	}
	for _, deploy := range []func(context.Context) error{
		o.ShootNamespace.Deploy, o.APIServer.DeployServices, o.Secrets.Initialize, o.Credentials.Deploy,
		o.Etcd.Deploy, o.APIServer.Deploy, o.APIServer.DeployControllers, o.Workers.DeployMachineController,
		o.ResourceManager.Deploy,
	} {
		if err := deploy(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// usersOf a shoot's API server are in the Secrets of its control plane: the certificates of clients, and the tokens
// that it is given.
func (k *kit) usersOf(t *testing.T, namespace string) []string {
	t.Helper()
	secrets, ca := &corev1.SecretList{}, &corev1.Secret{}
	if err := k.admin.List(t.Context(), secrets, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	if err := k.admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "ca-client"}, ca); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.Data["ca.crt"])
	of := x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	users := map[string]bool{}
	add := func(name string, groups []string) {
		if name = "user " + name; len(groups) > 0 {
			name += privilegestest.InGroups + strings.Join(groups, ", ")
		}
		users[name] = true
	}
	for _, secret := range secrets.Items {
		for _, data := range secret.Data {
			certificates, err := certutil.ParseCertsPEM(data)
			if err != nil {
				continue // it is something else
			}
			for _, c := range certificates {
				if _, err := c.Verify(of); err == nil && !c.IsCA {
					add(c.Subject.CommonName, c.Subject.Organization)
				}
			}
		}
		tokens := csv.NewReader(strings.NewReader(string(secret.Data["static_tokens.csv"])))
		tokens.FieldsPerRecord = -1 // token, user, UID, and groups if there are some
		lines, err := tokens.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			var groups []string
			if len(line) > 3 {
				groups = strings.Split(line[3], ",")
			}
			add(line[1], groups)
		}
	}
	return slices.Sorted(maps.Keys(users))
}
