package environment

import (
	"context"
	"maps"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// controlPlane is the namespace of alpha on seed a.
const controlPlane = "shoot--p--alpha"

// What no identity of a seed but the gardenlet may do there: reach the gardenlet's namespace, what is in another
// shoot's control plane, or in a namespace that is none. Whoever may bind a role or write any webhook has it all.
func seedAttacks() map[string]request {
	token := secret("garden", "token")
	token.Type, token.Annotations = corev1.SecretTypeServiceAccountToken,
		map[string]string{corev1.ServiceAccountNameKey: "gardenlet"}
	pod := &corev1.Pod{ObjectMeta: metaOf("garden", "any"), Spec: corev1.PodSpec{ServiceAccountName: "gardenlet",
		Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	binding := &rbacv1.RoleBinding{ObjectMeta: metaOf("garden", "any"),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "transplant:provider:control-plane"}}
	all := map[string]request{
		"reads a config map of the gardenlet's":        get(&corev1.ConfigMap{ObjectMeta: metaOf("garden", "any")}),
		"lists the secrets of the gardenlet":           list(&corev1.SecretList{}, client.InNamespace("garden")),
		"watches the secrets of the gardenlet":         watchAll(&corev1.SecretList{}, "garden"),
		"lists all secrets":                            list(&corev1.SecretList{}),
		"lists all config maps":                        list(&corev1.ConfigMapList{}),
		"creates a secret for the gardenlet's token":   create(token),
		"mints a token of the gardenlet":               mint("garden", "gardenlet"),
		"replaces the credentials of control planes":   patch(secret("garden", "control-plane-kubeconfig-cloud"), harmless),
		"changes the gardenlet":                        patch(deployment("garden", "gardenlet"), harmless),
		"runs a pod as the gardenlet":                  create(pod),
		"binds a role in the gardenlet's namespace":    create(binding),
		"lists the secrets of another's control plane": list(&corev1.SecretList{}, client.InNamespace("shoot--p--beta")),
		"creates a secret in another's control plane":  create(secret("shoot--p--beta", "any")),
		"changes the gateway":                          patch(deployment("istio-ingress", "istio-ingressgateway"), harmless),
		"reads a secret in a namespace of nobody":      get(secret("default", "any")),
		"lists service accounts":                       list(&corev1.ServiceAccountList{}),
		"deletes a control plane":                      remove(&corev1.Namespace{ObjectMeta: metaOf("", controlPlane)}),
		"registers a webhook": create(
			&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metaOf("", "any")}),
		"has more shown to a webhook": patch(&admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: metaOf("", "provider-transplant")}, harmless),
		"makes an extension object": create(&extensionsv1alpha1.Infrastructure{ObjectMeta: metaOf(controlPlane, "any")}),
	}
	for _, name := range []string{"kubeconfig-garden", "kubeconfig-seed", "kubeconfig-cloud",
		"control-plane-kubeconfig-garden", "control-plane-kubeconfig-cloud", "entry-shoot--p--beta--uid-of-beta"} {
		all["reads garden/"+name] = get(secret("garden", name))
	}
	return all
}

func managedResource(namespace string) *unstructured.Unstructured {
	managed := &unstructured.Unstructured{}
	managed.SetAPIVersion("resources.gardener.cloud/v1alpha1")
	managed.SetKind("ManagedResource")
	managed.SetNamespace(namespace)
	managed.SetName("any")
	return managed
}

// finalizers is a patch that leaves an object with these.
func finalizers(all ...string) string {
	return `{"metadata":{"finalizers":["` + strings.Join(all, `","`) + `"]}}`
}

func managedResources() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("resources.gardener.cloud/v1alpha1")
	list.SetKind("ManagedResourceList")
	return list
}

func deployment(namespace, name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metaOf(namespace, name)}
}

// scale changes how many pods there are, by the subresource.
func scale(object client.Object) request {
	return func(ctx context.Context, c client.Client) error {
		return c.SubResource("scale").Patch(ctx, object.DeepCopyObject().(client.Object),
			client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":0}}`)), client.DryRunAll)
	}
}

// execIn a pod, which is a request of the operation CONNECT. What it runs does not matter: it is refused before.
func execIn(namespace, pod string) request {
	return func(ctx context.Context, c client.Client) error {
		return c.SubResource("exec").Create(ctx, &corev1.Pod{ObjectMeta: metaOf(namespace, pod)}, &corev1.Pod{})
	}
}

func worker() *extensionsv1alpha1.Worker {
	return &extensionsv1alpha1.Worker{ObjectMeta: metaOf(controlPlane, "w")}
}

func machineClass(namespace string) *machinev1alpha1.MachineClass {
	return &machinev1alpha1.MachineClass{ObjectMeta: metaOf(namespace, "any")}
}

// What the reference provider does on its seed, for the shoot alpha.
func providerNeeds() map[string]request {
	in := func(name string) (string, string) { return controlPlane, name }
	heartbeat := lease("extensions", "gardener-extension-heartbeat")
	return map[string]request{
		"reads the namespace":          get(&corev1.Namespace{ObjectMeta: metaOf("", controlPlane)}),
		"lists extension objects":      list(&extensionsv1alpha1.WorkerList{}),
		"watches extension objects":    watchAll(&extensionsv1alpha1.WorkerList{}, ""),
		"answers an extension object":  patchStatus(worker(), `{"status":{}}`),
		"takes a request off":          patch(worker(), harmless),
		"answers a backup entry":       patch(&extensionsv1alpha1.BackupEntry{ObjectMeta: metaOf("", "e")}, harmless),
		"reads the Cluster":            get(&extensionsv1alpha1.Cluster{ObjectMeta: metaOf("", controlPlane)}),
		"watches machine objects":      watchAll(&machinev1alpha1.MachineDeploymentList{}, ""),
		"makes a machine object":       create(machineClass(controlPlane)),
		"changes a machine object":     patch(machineClass(controlPlane), harmless),
		"removes a machine object":     remove(machineClass(controlPlane)),
		"changes a managed resource":   patch(managedResource(controlPlane), harmless),
		"removes a managed resource":   remove(managedResource(controlPlane)),
		"reads a secret":               get(secret(in("s"))),
		"lists secrets":                list(&corev1.SecretList{}, client.InNamespace(controlPlane)),
		"makes a secret":               create(secret(in("s"))),
		"changes a secret":             patch(secret(in("s")), harmless),
		"removes a secret":             remove(secret(in("s"))),
		"reads a config map":           get(&corev1.ConfigMap{ObjectMeta: metaOf(in("c"))}),
		"makes a config map":           create(&corev1.ConfigMap{ObjectMeta: metaOf(in("c"))}),
		"looks for a guard":            get(&appsv1.StatefulSet{ObjectMeta: metaOf(in("etcd-main"))}),
		"looks whether it has ended":   get(&corev1.Pod{ObjectMeta: metaOf(in("etcd-main-0"))}),
		"looks where it is":            get(&corev1.Service{ObjectMeta: metaOf(in("etcd-main-client"))}),
		"reads the machine controller": get(deployment(in("machine-controller"))),
		"wakes the machine controller": patch(deployment(in("machine-controller")), `{"spec":{"replicas":1}}`),
		"makes its heartbeat":          create(heartbeat),
		"reads its heartbeat":          get(heartbeat),
		"renews its heartbeat":         patch(heartbeat, harmless),
		"reads credentials of backups": get(secret("garden", "entry-shoot--p--alpha--uid-of-alpha")),
		"holds credentials of backups": patch(secret("garden", "entry-shoot--p--alpha--uid-of-alpha"), harmless),
	}
}

// An attack on a seed with each identity that it has, but the gardenlet's, is refused, and what each needs is allowed.
func TestSeedAttacks_WithEachIdentity_AreRefused(t *testing.T) {
	t.Parallel()
	k := startSeedKit(t, startGardenKit(t))
	// It is made by hand: no gardenlet has granted anything there.
	k.create(t, &corev1.Namespace{ObjectMeta: metaOf("", "shoot--p--beta")})
	applied := &corev1.ConfigMap{ObjectMeta: metaOf(controlPlane, "applied")}
	applied.Labels = map[string]string{"resources.gardener.cloud/managed-by": "gardener"}
	k.create(t, applied)
	const finalizer, another = "resources.gardener.cloud/gardener-resource-manager", "example.com/another"
	// The first two still have the finalizer of the resource manager of the shoot, the others have none.
	managed := func(name, class string, finalizers ...string) *unstructured.Unstructured {
		object := managedResource(controlPlane)
		object.SetName(name)
		object.SetFinalizers(finalizers)
		object.Object["spec"] = map[string]any{"class": class, "secretRefs": []any{}}
		k.create(t, object)
		return object
	}
	ofSeed, ofShoot := managed("of-seed", "seed", finalizer), managed("of-shoot", "", finalizer)
	newOfSeed, newOfShoot := managed("new-of-seed", "seed", another), managed("new-of-shoot", "", another)
	more := func(more map[string]request) map[string]request {
		all := seedAttacks()
		maps.Copy(all, more)
		return all
	}
	ofControlPlane := map[string]request{
		"changes the API server":  patch(deployment(controlPlane, "kube-apiserver"), harmless),
		"makes a secret":          create(secret(controlPlane, "any")),
		"changes a secret":        patch(secret(controlPlane, "ca-etcd"), harmless),
		"takes another's machine": patch(machineClass("shoot--p--beta"), harmless),
		"reads the Cluster":       get(&extensionsv1alpha1.Cluster{ObjectMeta: metaOf("", controlPlane)}),
		"reads a config map":      get(&corev1.ConfigMap{ObjectMeta: metaOf(controlPlane, "any")}),
	}
	attackers := map[string]bool{"garden/gardenlet": true} // the seed is its own
	readsSecrets := map[string]request{"reads its secrets": list(&corev1.SecretList{}, client.InNamespace(controlPlane))}
	ofItsShoot := more(ofControlPlane)
	maps.Copy(ofItsShoot, map[string]request{
		"changes what a managed resource applies": patch(ofShoot, `{"spec":{"secretRefs":[{"name":"any"}]}}`),
		"gives a managed resource to the seed":    patch(ofShoot, `{"spec":{"class":"seed"}}`),
		"annotates a managed resource":            patch(ofShoot, harmless),
		"releases another's finalizer":            patch(newOfShoot, `{"metadata":{"finalizers":null}}`),
		"makes a managed resource":                create(managedResource(controlPlane)),
		"removes a managed resource":              remove(ofShoot),
		"answers for the seed":                    patchStatus(newOfSeed, `{"status":{"observedGeneration":1}}`),
		"holds a managed resource of the seed":    patch(newOfSeed, finalizers(another, finalizer)),
		"makes one of another shoot its own":      patch(managedResource("shoot--p--beta"), harmless),
	})
	for _, test := range []struct {
		account        string
		needs, attacks map[string]request
	}{
		{"extensions/provider-transplant", providerNeeds(), more(map[string]request{
			"makes a machine object in another's":   create(machineClass("shoot--p--beta")),
			"makes a managed resource in another's": patch(managedResource("shoot--p--beta"), harmless),
			"changes the API server":                ofControlPlane["changes the API server"],
			"renews another's heartbeat":            patch(lease("garden", "gardener-extension-heartbeat"), harmless),
			"deletes an extension object":           remove(worker()),
			"changes the Cluster": patch(&extensionsv1alpha1.Cluster{ObjectMeta: metaOf("", controlPlane)},
				harmless),
			"makes a machine object for no shoot":     create(machineClass("garden")),
			"makes a machine object beside a shoot's": create(machineClass("extensions")),
		})},
		{"extension-third-party/third-party", map[string]request{
			"lists namespaces":  list(&corev1.NamespaceList{}),
			"lists its objects": list(&extensionsv1alpha1.ExtensionList{}),
			"answers its object": patchStatus(&extensionsv1alpha1.Extension{ObjectMeta: metaOf(controlPlane, "e")},
				`{"status":{}}`),
			"records an event": recordEvent(controlPlane),
			"is elected":       create(lease("extension-third-party", "leader")),
		}, more(map[string]request{
			"reads credentials of backups":   get(secret("garden", "entry-shoot--p--alpha--uid-of-alpha")),
			"reads a secret of a shoot":      get(secret(controlPlane, "s")),
			"answers another's object":       patchStatus(worker(), `{"status":{}}`),
			"reads a secret of the provider": get(secret("extensions", "kubeconfig-cloud")),
		})},
		{"shoot--p--alpha/machine-controller", readsSecrets, more(ofControlPlane)},
		{"shoot--p--alpha/gardener-resource-manager", map[string]request{
			"reads its secrets":                   readsSecrets["reads its secrets"],
			"writes a token":                      patch(secret(controlPlane, "gardener-internal"), harmless),
			"answers":                             patchStatus(newOfShoot, `{"status":{"observedGeneration":1}}`),
			"holds a managed resource":            patch(newOfShoot, finalizers(another, finalizer)),
			"releases one that is the seed's now": patch(ofSeed, `{"metadata":{"finalizers":null}}`),
		}, ofItsShoot},
		{"resource-manager/resource-manager", map[string]request{
			"watches managed resources":     watchAll(managedResources(), ""),
			"reads a secret with manifests": get(secret(controlPlane, "s")),
			"applies an object":             create(&corev1.ConfigMap{ObjectMeta: metaOf(controlPlane, "of-an-extension")}),
			"removes what it has applied":   remove(&corev1.ConfigMap{ObjectMeta: metaOf(controlPlane, "applied")}),
			"answers":                       patchStatus(ofSeed, `{"status":{"observedGeneration":1}}`),
			"holds a managed resource":      patch(ofSeed, finalizers(finalizer, finalizer+"-seed")),
			// The API server refuses a Role with a verb that its author does not have.
			"applies a role": create(&rbacv1.Role{ObjectMeta: metaOf(controlPlane, "any"), Rules: []rbacv1.PolicyRule{{
				APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch", "create",
					"update", "patch", "delete", "deletecollection"}}}}),
		}, more(map[string]request{
			"changes what a managed resource applies": patch(ofSeed, `{"spec":{"secretRefs":[{"name":"any"}]}}`),
			"annotates a managed resource":            patch(ofSeed, harmless),
			"releases another's finalizer":            patch(ofSeed, finalizers(finalizer+"-seed")),
			"removes a managed resource":              remove(ofSeed),
			"answers for the shoot":                   patchStatus(ofShoot, `{"status":{"observedGeneration":1}}`),
			"holds a managed resource of the shoot":   patch(ofShoot, finalizers(finalizer, finalizer+"-seed")),
			"removes all secrets":                     removeAll(secret(controlPlane, "")),
			"changes the API server":                  ofControlPlane["changes the API server"],
			"changes a secret":                        ofControlPlane["changes a secret"],
			"scales the API server":                   scale(deployment(controlPlane, "kube-apiserver")),
			"mints a token of a control plane":        mint(controlPlane, "machine-controller"),
			"runs a program in etcd":                  execIn(controlPlane, "etcd-main-0"),
			"applies an object beside a shoot's":      create(&corev1.ConfigMap{ObjectMeta: metaOf("extensions", "any")}),
			"applies a role of the seed": create(&rbacv1.ClusterRole{ObjectMeta: metaOf("", "any"),
				Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}}}),
			"reads the gardenlet's credentials": get(secret("garden", "kubeconfig-garden")),
		})},
		{"istio-ingress/gateway", map[string]request{
			"reads its certificate": get(secret(controlPlane, "guard-client-gateway")),
			"lists services":        list(&corev1.ServiceList{}),
		}, more(map[string]request{
			"reads another certificate":   get(secret(controlPlane, "guard-client-extensions")),
			"reads the etcd CA":           get(secret(controlPlane, "ca-etcd")),
			"answers an extension object": patch(worker(), harmless),
		})},
	} {
		attackers[test.account] = true
		k.tries(t, test.account, test.needs, test.attacks)
	}
	for _, account := range k.accounts(t) {
		if !attackers[account] {
			t.Errorf("nothing says what %s may not do", account)
		}
	}
}
