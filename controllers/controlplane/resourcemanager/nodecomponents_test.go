package resourcemanager

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

// nodeDaemonSets are the DaemonSets that ManagedResources of the namespace have applied to the shoot, by name.
func nodeDaemonSets(t *testing.T, seed client.Client) map[string]*appsv1.DaemonSet {
	t.Helper()
	list, found := &resourcesv1alpha1.ManagedResourceList{}, map[string]*appsv1.DaemonSet{}
	if err := seed.List(t.Context(), list, client.InNamespace("shoot--p--alpha")); err != nil {
		t.Fatal(err)
	}
	for _, managed := range list.Items {
		want := map[string]string{"shoot.gardener.cloud/no-cleanup": "true"}
		if diff := cmp.Diff(want, managed.Spec.InjectLabels); diff != "" || managed.Labels["origin"] != "gardener" ||
			managed.Spec.Class != nil {
			t.Errorf("ManagedResource %+v", managed)
		}
		secret := &corev1.Secret{}
		key := client.ObjectKey{Namespace: managed.Namespace, Name: managed.Spec.SecretRefs[0].Name}
		if err := seed.Get(t.Context(), key, secret); err != nil {
			t.Fatal(err)
		}
		set := &appsv1.DaemonSet{}
		if err := yaml.UnmarshalStrict(secret.Data["daemonset.yaml"], set); err != nil {
			t.Fatal(err)
		}
		found[set.Name] = set
	}
	secrets := &corev1.SecretList{}
	if err := seed.List(t.Context(), secrets); err != nil || len(secrets.Items) != len(list.Items) {
		t.Errorf("%d Secrets for %d ManagedResources, %v", len(secrets.Items), len(list.Items), err)
	}
	return found
}

// Gardener marks kube-proxy and node-local-dns as node-critical (docs/specification/README.md#s3). Each is there as
// long as the shoot wants it.
func TestNodeComponents(t *testing.T) {
	t.Parallel()
	proxy := func(enabled *bool) func(*gardencorev1beta1.ShootSpec) {
		return func(s *gardencorev1beta1.ShootSpec) {
			s.Kubernetes.KubeProxy = &gardencorev1beta1.KubeProxyConfig{Enabled: enabled}
		}
	}
	dns := func(enabled bool) func(*gardencorev1beta1.ShootSpec) {
		return func(s *gardencorev1beta1.ShootSpec) {
			s.SystemComponents = &gardencorev1beta1.SystemComponents{NodeLocalDNS: &gardencorev1beta1.NodeLocalDNS{
				Enabled: enabled}}
		}
	}
	scheme := controlplanetest.SeedScheme(t)
	if err := resourcesv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	type changes []func(*gardencorev1beta1.ShootSpec)
	for name, c := range map[string]struct {
		changes changes // one after the other
		want    string
	}{
		"by default":                {changes{proxy(nil)}, "kube-proxy"},
		"a proxy":                   {changes{proxy(ptr.To(true))}, "kube-proxy"},
		"none":                      {changes{proxy(ptr.To(false))}, ""},
		"a DNS cache":               {changes{dns(true)}, "kube-proxy node-local-dns"},
		"no DNS cache":              {changes{dns(false)}, "kube-proxy"},
		"the DNS cache is disabled": {changes{dns(true), dns(false)}, "kube-proxy"},
		"the DNS cache is enabled":  {changes{dns(false), dns(true)}, "kube-proxy node-local-dns"},
		"the proxy is disabled":     {changes{dns(true), proxy(ptr.To(false))}, "node-local-dns"},
		"nothing changes":           {changes{dns(true), dns(true)}, "kube-proxy node-local-dns"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := New(controlplanetest.Scope(t, "Reconcile", interceptor.Funcs{}))
			o.Seed = fake.NewClientBuilder().WithScheme(scheme).Build()
			for _, change := range c.changes {
				change(&o.Shoot.Spec)
				if err := o.DeployNodeComponents(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			sets := nodeDaemonSets(t, o.Seed)
			var names []string
			for name, set := range sets {
				names = append(names, name)
				checkCritical(t, set)
			}
			slices.Sort(names)
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("components %q, want %q", got, c.want)
			}
		})
	}
}

// checkCritical checks the form by which nodes know what to wait for (docs/specification/nodes-and-seeds.md#spec-7-1).
func checkCritical(t *testing.T, set *appsv1.DaemonSet) {
	t.Helper()
	const critical = "node.gardener.cloud/critical-component"
	template := set.Spec.Template
	if set.Labels[critical] != "true" || template.Labels[critical] != "true" || set.Namespace != "kube-system" {
		t.Errorf("%s/%s is not critical: labels %v and %v", set.Namespace, set.Name, set.Labels, template.Labels)
	}
	for key, value := range set.Spec.Selector.MatchLabels {
		if template.Labels[key] != value || key == critical {
			t.Errorf("%s selects its pods by %s=%s", set.Name, key, value)
		}
	}
	if len(template.Spec.Tolerations) != 1 || template.Spec.Tolerations[0].Operator != "Exists" {
		t.Errorf("%s tolerates %v: it must come to nodes that wait", set.Name, template.Spec.Tolerations)
	}
	if grace := template.Spec.TerminationGracePeriodSeconds; grace == nil || *grace != 0 {
		t.Errorf("pods of %s on nodes that have gone would stay for %v", set.Name, grace)
	}
}

// A migration keeps the components in the shoot: their ManagedResources are among those that it releases.
func TestNodeComponents_Migrated_StayInTheShoot(t *testing.T) {
	t.Parallel()
	scheme := controlplanetest.SeedScheme(t)
	if err := resourcesv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	o := New(controlplanetest.Scope(t, "Migrate", interceptor.Funcs{}))
	o.Seed = fake.NewClientBuilder().WithScheme(scheme).Build()
	if err := o.DeployNodeComponents(t.Context()); err != nil {
		t.Fatal(err)
	}
	managed := &resourcesv1alpha1.ManagedResource{}
	key := client.ObjectKey{Namespace: "shoot--p--alpha", Name: "shoot-core-kube-proxy"}
	if err := o.Seed.Get(t.Context(), key, managed); err != nil {
		t.Fatal(err)
	}
	var kept []bool
	o.Seed = interceptor.NewClient(o.Seed.(client.WithWatch), interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			kept = append(kept, ptr.Deref(object.(*resourcesv1alpha1.ManagedResource).Spec.KeepObjects, false))
			return c.Delete(ctx, object, options...)
		},
	})
	if err := o.DeleteResources(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]bool{true}, kept); diff != "" {
		t.Errorf("objects are kept (-want +got):\n%s", diff)
	}
}
