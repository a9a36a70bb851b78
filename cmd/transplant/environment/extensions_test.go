package environment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/mergepatch"
	"github.com/transplant-sim/transplant/sim/scenario/thirdparty"
)

// vault is a third-party extension.
func vault() landscape.Extension {
	return landscape.Extension{
		Name: "vault", Binary: "/home/me/bin/vault-controller", Args: []string{"--seed=$(SEED_NAME)"},
		Env:       []landscape.EnvVar{{Name: "LEVEL", Value: "1"}},
		Resources: []landscape.ExtensionResource{{Kind: "Extension", Type: "vault"}, {Kind: "Network", Type: "transplant"}},
		Rules:     []landscape.Rule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}},
		ProviderConfig: &runtime.RawExtension{
			Raw: []byte(`{"size":3}`),
		},
	}
}

// A third-party extension may do with its kinds what the contract wants of it, and besides what its file says.
func TestThirdPartyExtension_Applied_HasOnlyItsRights(t *testing.T) {
	t.Parallel()
	c := fake.NewClientBuilder().WithScheme(Scheme()).Build()
	s := New(ScenarioSettings)
	s.User = nobody
	for _, manifest := range []string{"extension.yaml", "extension-actor.yaml"} {
		if err := apply(t.Context(), c, manifest, s.extensionValues(vault(), "a")); err != nil {
			t.Fatal(err)
		}
	}
	role, binding := &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}
	for _, object := range []client.Object{role, binding} {
		if err := c.Get(t.Context(), client.ObjectKey{Name: "transplant:extension:vault"}, object); err != nil {
			t.Fatal(err)
		}
	}
	extensions := []string{"extensions.gardener.cloud"}
	want := []rbacv1.PolicyRule{
		{APIGroups: extensions, Resources: []string{"extensions", "networks"},
			Verbs: []string{"get", "list", "watch", "update", "patch"}},
		{APIGroups: extensions, Resources: []string{"extensions/status", "networks/status"},
			Verbs: []string{"get", "update", "patch"}},
		{APIGroups: extensions, Resources: []string{"extensions/finalizers", "networks/finalizers"},
			Verbs: []string{"update"}},
		{APIGroups: extensions, Resources: []string{"clusters"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"},
			Verbs: []string{"create", "patch", "update"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}},
	}
	if diff := cmp.Diff(want, role.Rules); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if who := binding.Subjects[0]; who.Namespace != "extension-vault" || who.Name != "vault" ||
		binding.RoleRef.Name != role.Name {
		t.Errorf("%+v is given %s", who, binding.RoleRef.Name)
	}
	actor := &appsv1.Deployment{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "extension-vault", Name: "vault"}, actor); err != nil {
		t.Fatal(err)
	}
	pod := actor.Spec.Template.Spec
	container := pod.Containers[0]
	if diff := cmp.Diff([]string{"vault-controller"}, container.Command); diff != "" ||
		container.Image != "transplant.dev/extension-vault:dev" || *pod.SecurityContext.RunAsUser != nobody ||
		*pod.AutomountServiceAccountToken {
		t.Errorf("%s runs %v, %+v", container.Image, container.Command, pod.SecurityContext)
	}
	env := map[string]string{}
	for _, variable := range container.Env {
		env[variable.Name] = variable.Value
	}
	if env["KUBECONFIG"] != "/srv/seed/kubeconfig" || env["TRANSPLANT_ACTOR"] != "vault-a" || env["SEED_NAME"] != "a" ||
		env["LEVEL"] != "1" {
		t.Errorf("its variables are %v", env)
	}
	for _, name := range landscape.ReservedVariables() {
		if _, set := env[name]; !set {
			t.Errorf("the variable %s is reserved, and is not set", name)
		}
	}
	if !IsActor(&pod) {
		t.Error("it is no actor that is made anew between runs")
	}
}

// Who gets the credentials of backups: whoever reconciles their kinds.
func TestBackupExtensions_ReconcileTheirKinds(t *testing.T) {
	t.Parallel()
	of := func(name string, kinds ...string) landscape.Extension {
		e := landscape.Extension{Name: name}
		for _, kind := range kinds {
			e.Resources = append(e.Resources, landscape.ExtensionResource{Kind: kind, Type: landscape.ProviderType})
		}
		return e
	}
	for name, test := range map[string]struct {
		extensions []landscape.Extension
		want       []string
	}{
		"the reference provider alone": {nil, []string{"extensions/provider-transplant"}},
		"one takes a kind of backups": {[]landscape.Extension{of("acme", "BackupEntry", "Network")},
			[]string{"extension-acme/acme", "extensions/provider-transplant"}},
		"one takes both": {[]landscape.Extension{of("acme", "BackupEntry", "BackupBucket")},
			[]string{"extension-acme/acme"}},
	} {
		if diff := cmp.Diff(test.want, backupExtensions(test.extensions)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Whether an extension lives says the heartbeat of the one that decides, in whatever order the files are given.
func TestExtensionNamespaces_TwoActOnTheSame_AreOfTheOneThatDecides(t *testing.T) {
	t.Parallel()
	decides, beside := vault(), landscape.Extension{Name: "beside", Resources: []landscape.ExtensionResource{
		{Kind: "Network", Type: "transplant", Primary: ptr.To(false)}}}
	for _, extensions := range [][]landscape.Extension{{decides, beside}, {beside, decides}} {
		if diff := cmp.Diff([]string{"Extension/vault=extension-vault", "Network/transplant=extension-vault"},
			extensionNamespaces(extensions)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// A chart is rendered for the seed as the garden has it: as the files of all extensions have changed it.
func TestObjectsOn_SeedThatAnotherFileChanges_IsInTheValuesOfTheChart(t *testing.T) {
	t.Parallel()
	dns := landscape.Extension{Name: "dns", Seed: &mergepatch.Merge{}}
	if err := dns.Seed.UnmarshalJSON([]byte(
		`{"spec":{"dns":{"defaults":[{"type":"vault-dns","domain":"vault.test"}]}}}`)); err != nil {
		t.Fatal(err)
	}
	charted := landscape.Extension{Name: "my-vault", Chart: "../../../sim/chart/testdata/vault"}
	seed, err := seedInGarden(seedValues{Name: "a", Region: "elsewhere", Domain: "i.test", DefaultDomain: "d.test",
		Pods: "10.0.0.0/18", Services: "10.0.64.0/18"}, []landscape.Extension{charted, dns})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := thirdparty.ObjectsOn(charted, seed)
	if err != nil {
		t.Fatal(err)
	}
	config := ""
	for _, object := range objects {
		if object.GetKind() == "ConfigMap" {
			config, _, _ = unstructured.NestedString(object.Object, "data", "config.yaml")
		}
	}
	for _, want := range []string{"seed: a\n", "region: elsewhere\n", "dns: vault-dns\n"} {
		if !strings.Contains(config, want) {
			t.Errorf("the configuration lacks %q: %q", want, config)
		}
	}
}

// What the files of an extension bring is on each seed before its program, and what names no namespace beside it.
func TestPrepareExtension_FilesAndManifests_AreThere(t *testing.T) {
	t.Parallel()
	e := vault()
	e.Files = []landscape.ExtensionFile{{Path: "/etc/vault/config.yaml", Content: "a: {{b}}\n"},
		{Path: "/x", Content: "\xff"}}
	object := func(text string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return o
	}
	e.Objects = [][]*unstructured.Unstructured{{
		object(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"own"}}`),
		object(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"other","namespace":"garden"}}`),
		object(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"own"}}`),
		object(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
			"metadata":{"name":"seals.vault.test"}}`),
	}}
	c := fake.NewClientBuilder().WithScheme(Scheme()).WithRESTMapper(
		testrestmapper.TestOnlyStaticRESTMapper(Scheme())).Build()
	s := New(ScenarioSettings)
	if err := s.prepareExtension(t.Context(), c, e, seedOf("a")); err != nil {
		t.Fatal(err)
	}
	for key, object := range map[client.ObjectKey]client.Object{
		{Namespace: "extension-vault", Name: "own"}: &corev1.ConfigMap{},
		{Namespace: "garden", Name: "other"}:        &corev1.ConfigMap{},
		{Name: "own"}:                               &rbacv1.ClusterRole{},
	} {
		if err := c.Get(t.Context(), key, object); err != nil {
			t.Error(err)
		}
	}
	files := &corev1.ConfigMap{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "extension-vault", Name: "files"}, files); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]byte{"file-0": []byte("a: {{b}}\n"), "file-1": []byte("\xff")},
		files.BinaryData); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if err := apply(t.Context(), c, "extension-actor.yaml", s.extensionValues(e, "a")); err != nil {
		t.Fatal(err)
	}
	actor := &appsv1.Deployment{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "extension-vault", Name: "vault"}, actor); err != nil {
		t.Fatal(err)
	}
	mounted := map[string]string{}
	for _, mount := range actor.Spec.Template.Spec.Containers[0].VolumeMounts {
		if mount.Name == "files" {
			mounted[mount.SubPath] = mount.MountPath
		}
	}
	if diff := cmp.Diff(map[string]string{"file-0": "/etc/vault/config.yaml", "file-1": "/x"}, mounted); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
}

func TestTheReferenceStandsAside(t *testing.T) {
	t.Parallel()
	c := fake.NewClientBuilder().WithScheme(Scheme()).Build()
	values := seedValues{Name: "a", Image: image, Settings: ScenarioSettings,
		TakenKinds: landscape.TakenKinds([]landscape.Extension{vault()})}
	if err := apply(t.Context(), c, "seed-actors.yaml", values); err != nil {
		t.Fatal(err)
	}
	reference := &appsv1.Deployment{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "extensions", Name: "provider-transplant"},
		reference); err != nil {
		t.Fatal(err)
	}
	if command := strings.Join(reference.Spec.Template.Spec.Containers[0].Command, " "); !strings.Contains(command,
		" --except=Network ") {
		t.Errorf("the reference provider runs %s", command)
	}
}

func TestShootManifest_ThirdPartyExtension_IsListed(t *testing.T) {
	t.Parallel()
	s := New(ScenarioSettings)
	s.Extensions = []landscape.Extension{vault()}
	shoot, err := s.ShootManifest(landscape.Shoot{Name: "alpha", Seed: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if len(shoot.Spec.Extensions) != 1 || shoot.Spec.Extensions[0].Type != "vault" ||
		string(shoot.Spec.Extensions[0].ProviderConfig.Raw) != `{"size":3}` {
		t.Errorf("the shoot has %+v", shoot.Spec.Extensions)
	}
}

func TestImages_ThirdPartyExtension_DependOnTheBackend(t *testing.T) {
	t.Parallel()
	ofImage, ofProgram := landscape.Extension{Name: "i", Image: "mine:1"}, vault()
	s := New(ScenarioSettings)
	s.Extensions = []landscape.Extension{ofImage, ofProgram}
	programs := map[string]string{"vault-controller": "/home/me/bin/vault-controller"}
	made, local := s.kindImages()
	if len(made) != 1 || made[0].Name != "transplant.dev/extension-vault:dev" || cmp.Diff(programs,
		made[0].Programs) != "" || cmp.Diff([]string{"mine:1"}, local) != "" {
		t.Errorf("nodes of kind get %+v and %v", made, local)
	}
	if diff := cmp.Diff([]embedded.Image{{Name: "transplant.dev/extension-vault:dev", Programs: programs}},
		embeddedImages(s.Extensions)); diff != "" {
		t.Errorf("process nodes (-want +got):\n%s", diff)
	}
	if image := s.extensionValues(ofImage, "a"); image.Image != "mine:1" || len(image.Command) > 0 {
		t.Errorf("an image runs %v in %s", image.Command, image.Image)
	}
}

// An extension of a chart runs as the ServiceAccount of the chart, and each of its containers has an image of its own.
func TestExtension_OfAChart_HasItsAccountAndAnImageForEachContainer(t *testing.T) {
	t.Parallel()
	e := landscape.Extension{Name: "vault", Chart: "chart", Account: "gardener-extension-vault",
		Containers: []landscape.ExtensionContainer{{Name: "main", Binary: "/bin/vault"}, {Name: "proxy", Image: "proxy:1"}}}
	if got := accountOf(e); got != "extension-vault/gardener-extension-vault" {
		t.Errorf("its account is %s", got)
	}
	made := programsOf([]landscape.Extension{e})
	if got := made["transplant.dev/extension-vault-main:dev"]["vault"]; got != "/bin/vault" || len(made) != 1 {
		t.Errorf("images are made of %v", made)
	}
	if _, local := (&Environment{Extensions: []landscape.Extension{e}}).kindImages(); len(local) != 1 ||
		local[0] != "proxy:1" {
		t.Errorf("images of this machine: %q", local)
	}
}
