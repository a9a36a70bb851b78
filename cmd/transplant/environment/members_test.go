package environment

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/crds"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
)

const projectNamespace = "garden-" + Project

// newGarden is a real API server with what the environment gives a garden, and no actors.
func newGarden(t *testing.T) (*rest.Config, client.Client) {
	t.Helper()
	config := apiservertest.Start(t, apiservertest.Options{CRDs: crds.Garden()})
	garden, err := client.New(config, client.Options{Scheme: Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	values := gardenValues{
		Project: Project, CloudProfile: "cloud", MachineImage: "linux", KubernetesVersions: []string{KubernetesVersion},
		ImageVersions: []string{"1.0.0"},
	}
	if err := apply(t.Context(), garden, "garden.yaml", values); err != nil {
		t.Fatal(err)
	}
	return config, garden
}

// Who is bound to the role of project members sees the shoots of the project (docs/specification/state-size.md#z6), and
// neither their states nor what else
// is the landscape's own. Every request is the real one, since a watch or a list shows as much as a get.
func TestMembersSeeShootsAndNoStates(t *testing.T) {
	t.Parallel()
	config, garden := newGarden(t)
	role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "gardener.cloud:system:project-member"}
	for _, object := range []client.Object{
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "members", Namespace: projectNamespace}, RoleRef: role,
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "member"}},
		},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "alpha", Namespace: projectNamespace}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "alpha", Namespace: "garden"}},
	} {
		if err := garden.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	asMember := rest.CopyConfig(config)
	asMember.Impersonate.UserName = "member"
	member, err := dynamic.NewForConfig(asMember)
	if err != nil {
		t.Fatal(err)
	}
	const core, ours = "core.gardener.cloud/v1beta1/", "transplant.dev/v1alpha1/"
	for _, c := range []struct {
		what, namespace string
		sees            bool
	}{
		{core + "shoots", projectNamespace, true},
		{core + "backupentries", projectNamespace, true},
		{"v1/secrets", projectNamespace, true}, // such as the kubeconfig of a shoot
		{core + "shootstates", projectNamespace, false},
		{ours + "shootstatechunks", projectNamespace, false},
		{"coordination.k8s.io/v1/leases", projectNamespace, false}, // who owns a shoot
		{"v1/secrets", "garden", false},                            // such as those of seeds
		{core + "shoots", "garden", false},
		{core + "shoots", "", false},
		{core + "shootstates", "", false},
		{ours + "shootstatechunks", "", false},
		{"v1/secrets", "", false},
	} {
		at := strings.LastIndex(c.what, "/")
		version, err := schema.ParseGroupVersion(c.what[:at])
		if err != nil {
			t.Fatal(err)
		}
		resource := member.Resource(version.WithResource(c.what[at+1:])).Namespace(c.namespace)
		tries := map[string]error{}
		_, tries["list"] = resource.List(t.Context(), metav1.ListOptions{})
		if watched, err := resource.Watch(t.Context(), metav1.ListOptions{}); err != nil {
			tries["watch"] = err
		} else {
			tries["watch"] = nil
			watched.Stop()
		}
		if c.namespace != "" {
			_, tries["get"] = resource.Get(t.Context(), "alpha", metav1.GetOptions{})
		}
		if !c.sees && c.namespace != "" {
			_, tries["patch"] = resource.Patch(t.Context(), "alpha", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
			tries["delete"] = resource.Delete(t.Context(), "alpha", metav1.DeleteOptions{})
		}
		for verb, err := range tries {
			if seen := err == nil || apierrors.IsNotFound(err); seen != c.sees || !seen && !apierrors.IsForbidden(err) {
				t.Errorf("%s %s in namespace %q: %v, want that a member may: %t", verb, c.what, c.namespace, err, c.sees)
			}
		}
	}
	status := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "core.gardener.cloud/v1beta1",
		"kind": "Shoot", "metadata": map[string]any{"name": "alpha"}}}
	if _, err := member.Resource(schema.GroupVersionResource{Group: "core.gardener.cloud", Version: "v1beta1",
		Resource: "shoots"}).
		Namespace(projectNamespace).UpdateStatus(t.Context(), status, metav1.UpdateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("write the status of a shoot: %v, want that a member may not", err)
	}
	t.Run("nor does any other role", func(t *testing.T) { testWhoSeesStates(t, garden) })
}

// testWhoSeesStates: of all roles for the whole garden only that of its own controllers does, and its administrators'.
// A seed has a Role for each project (controllers/seed, Access).
func testWhoSeesStates(t *testing.T, garden client.Client) {
	roles := &rbacv1.ClusterRoleList{}
	if err := garden.List(t.Context(), roles); err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []struct{ group, resource string }{{"core.gardener.cloud", "shootstates"},
		{"transplant.dev", "shootstatechunks"}} {
		var seeing []string
		for _, role := range roles.Items {
			if !strings.HasPrefix(role.Name, "system:") && slices.ContainsFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
				return allows(rule.APIGroups, hidden.group) && allows(rule.Resources, hidden.resource)
			}) {
				seeing = append(seeing, role.Name)
			}
		}
		slices.Sort(seeing)
		if diff := cmp.Diff([]string{"cluster-admin", "transplant:garden-controller-manager"}, seeing); diff != "" {
			t.Errorf("who sees %s (-want +got):\n%s", hidden.resource, diff)
		}
	}
}

func allows(list []string, one string) bool {
	return slices.Contains(list, one) || slices.Contains(list, rbacv1.ResourceAll)
}
