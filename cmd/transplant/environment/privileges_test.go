package environment

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	gocmp "github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/crds"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/clusters/kubeconfig"
	"github.com/transplant-sim/transplant/clusters/privilegestest"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootaccess"
	"github.com/transplant-sim/transplant/controllers/seed"
)

var update = flag.Bool("update", false, "write the table of privileges again")

const (
	privilegesFile = "../../../docs/privileges.md"
	tableBegins    = "<!-- The table: made by TestPrivileges. -->\n"
)

// kit is an API server with what an operator sets up there.
type kit struct {
	name   string
	config *rest.Config
	admin  client.Client
	cloud  *cloudKit // of the garden
}

func privilegesKit(t *testing.T, name string) *kit {
	t.Helper()
	definitions := crds.Garden()
	if name == "seed" {
		definitions = crds.Seed()
	}
	k := &kit{name: name, config: apiservertest.Start(t, apiservertest.Options{CRDs: definitions})}
	k.config.WarningHandler = warnings{t}
	k.admin = k.client(t, k.config)
	return k
}

// warnings of an API server about what is deployed there fail the test.
type warnings struct{ *testing.T }

func (w warnings) HandleWarningHeader(code int, agent, text string) {
	w.Errorf("%d %s: %s", code, agent, text)
}

func (k *kit) client(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	scheme := Scheme()
	utilruntime.Must(transplantv1alpha1.AddToScheme(scheme))
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// as is the configuration of a ServiceAccount, "namespace/name", with a token of its own, or of a user, "user name",
// who may be "in" groups.
func (k *kit) as(t *testing.T, account string) *rest.Config {
	t.Helper()
	if strings.HasPrefix(account, "user ") {
		return privilegestest.As(k.config, account)
	}
	content, err := kubeconfig.OfAccount(t.Context(), k.config, k.name, account,
		clientcmdapi.Cluster{Server: k.config.Host, CertificateAuthority: k.config.CAFile})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(content)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// startGardenKit is a garden with seeds a, b and c. alpha is a's; beta is b's; moving goes from a to b; gamma, of the
// project q, is b's; omega is c's, which is lost.
func startGardenKit(t *testing.T) *kit {
	t.Helper()
	k, ctx := privilegesKit(t, "garden"), t.Context()
	garden := gardenValues{Project: "p", CloudProfile: "c", MachineImage: "m", ImageVersions: []string{"1.0.0"},
		KubernetesVersions: []string{"1.36.3"}, Settings: ScenarioSettings}
	for _, manifest := range []string{"garden.yaml", "seed-restriction.yaml"} {
		if err := apply(ctx, k.admin, manifest, garden); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		if err := apply(ctx, k.admin, "seed-in-garden.yaml", seedValues{
			Name: name, Region: "here", Domain: Domain, DefaultDomain: DefaultDomain, Pods: "127.0.0.0/18",
			Services: "127.0.64.0/18", Settings: ScenarioSettings,
		}); err != nil {
			t.Fatal(err)
		}
	}
	k.condition(t, "a", gardencorev1beta1.ConditionTrue)
	k.condition(t, "b", gardencorev1beta1.ConditionTrue)
	k.condition(t, "c", gardencorev1beta1.ConditionUnknown)
	k.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-q"}})
	for _, secret := range []string{"garden/backup", "garden-p/referenced", "garden-p/other", "garden-p/beta.kubeconfig",
		"garden-q/referenced"} {
		namespace, name, _ := strings.Cut(secret, "/")
		k.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
		k.create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	}
	for shoot, seeds := range map[string]string{"p/alpha": "a/a", "p/beta": "b/b", "p/moving": "b/a", "q/gamma": "b/b",
		"p/omega": "c/c"} {
		k.shoot(t, shoot, seeds)
	}
	k.runAccess(t)
	return k
}

func (k *kit) create(t *testing.T, object client.Object) {
	t.Helper()
	if err := k.admin.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func (k *kit) shoot(t *testing.T, name, seeds string) {
	t.Helper()
	project, name, _ := strings.Cut(name, "/")
	spec, status, _ := strings.Cut(seeds, "/")
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-" + project, Name: name}}
	shoot.Spec.SeedName, shoot.Spec.Region, shoot.Spec.Provider.Type, shoot.Spec.Kubernetes.Version = &spec, "here",
		"transplant", "1.36.3"
	shoot.Spec.CloudProfile = &gardencorev1beta1.CloudProfileReference{Kind: "CloudProfile", Name: "c"}
	for _, kind := range []string{"Secret", "ConfigMap"} {
		reference := gardencorev1beta1.NamedResourceReference{Name: strings.ToLower(kind)}
		reference.ResourceRef.APIVersion, reference.ResourceRef.Kind, reference.ResourceRef.Name = "v1", kind, "referenced"
		shoot.Spec.Resources = append(shoot.Spec.Resources, reference)
	}
	k.create(t, shoot)
	if status == "" {
		return // its seed has not begun
	}
	before := shoot.DeepCopy()
	shoot.Status.SeedName, shoot.Status.TechnicalID, shoot.Status.UID = &status, "shoot--"+project+"--"+name,
		types.UID("uid-of-"+name)
	if err := k.admin.Status().Patch(t.Context(), shoot, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	if name == "beta" || name == "omega" {
		k.create(t, &gardencorev1beta1.ShootState{ObjectMeta: metav1.ObjectMeta{Namespace: shoot.Namespace, Name: name}})
	}
	k.create(t, claimOf(shoot.Namespace, name))
	k.create(t, chunkOf(shoot.Namespace, name))
}

// condition says how a seed is, since a minute.
func (k *kit) condition(t *testing.T, name string, status gardencorev1beta1.ConditionStatus) {
	t.Helper()
	s := &gardencorev1beta1.Seed{}
	if err := k.admin.Get(t.Context(), client.ObjectKey{Name: name}, s); err != nil {
		t.Fatal(err)
	}
	before, since := s.DeepCopy(), metav1.NewTime(time.Now().Add(-time.Minute))
	s.Status.Conditions = []gardencorev1beta1.Condition{{
		Type: gardencorev1beta1.SeedGardenletReady, Status: status, LastTransitionTime: since, LastUpdateTime: since,
		Reason: "Test", Message: "test",
	}}
	if err := k.admin.Status().Patch(t.Context(), s, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// runAccess keeps the roles of seeds, as the garden-controller-manager and with its rights, and waits until they are
// there and the policies at work.
func (k *kit) runAccess(t *testing.T) {
	t.Helper()
	mgr, err := manager.New(k.as(t, "garden/garden-controller-manager"), manager.Options{
		Scheme: k.admin.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Logger:     logr.Discard(),
		Controller: controllerconfig.Controller{SkipNameValidation: ptr.To(true)}, // each test has its own
	})
	if err != nil {
		t.Fatal(err)
	}
	access := &seed.Access{Garden: mgr.GetClient(), Clock: clock.RealClock{}, Grace: 30 * time.Second}
	policies := &seed.Policies{
		Garden: mgr.GetClient(), Cloud: k.startCloud(t).as(t, gcm), Clock: clock.RealClock{}, Grace: access.Grace,
		Retry: time.Second,
	}
	if err := errors.Join(access.AddToManager(mgr), policies.AddToManager(mgr)); err != nil {
		t.Fatal(err)
	}
	go func() { _ = mgr.Start(t.Context()) }()
	a := k.client(t, k.as(t, "garden/gardenlet-a"))
	k.await(t, "the roles and the policies", func(ctx context.Context) error {
		for _, namespace := range []string{"garden-p", "garden-q"} {
			if err := k.admin.Get(ctx,
				client.ObjectKey{Namespace: namespace, Name: "gardener.cloud:system:seed:b:control-planes"},
				&rbacv1.RoleBinding{}); err != nil {
				return err
			}
		}
		if err := a.Create(ctx, state("garden-p", "alpha"), client.DryRunAll); err != nil {
			return err
		}
		if a.Create(ctx, state("garden-p", "nonsense"), client.DryRunAll) == nil {
			return fmt.Errorf("the policies are not at work")
		}
		return nil
	})
}

func (k *kit) await(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			err := check(ctx)
			if ctx.Err() == nil {
				last = err
			}
			return err == nil, nil
		})
	if err != nil {
		t.Fatalf("wait for %s: %v: %v", what, err, last)
	}
}

// table of what identities may do in a cluster, in Markdown.
func (k *kit) table(t *testing.T, namespaces []string, accounts ...string) string {
	t.Helper()
	k.awaitRoles(t)
	tables, err := privilegestest.New(t.Context(), k.config, namespaces)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	write := func(account string, rows []string) {
		fmt.Fprintf(&text, "\n%s\n\n%s", privilegestest.Heading(k.name, account), privilegestest.Head)
		for _, row := range rows {
			text.WriteString(row + "\n")
		}
	}
	write(privilegestest.Everybody, tables.RowsOfEverybody())
	for _, account := range accounts {
		rows, err := tables.Rows(t.Context(), k.as(t, account))
		if err != nil {
			t.Fatal(err)
		}
		write(account, rows)
	}
	return text.String()
}

// shootTable of the users of a shoot, and of the accounts whose tokens its seed has, on an API server that need not be
// one's own: none of its roles is the seed's.
func (k *kit) shootTable(t *testing.T, users []string) string {
	t.Helper()
	for _, object := range shootaccess.Roles() {
		k.create(t, object)
	}
	var accounts []string
	for _, name := range []string{secrets.Gardener, secrets.GardenerInternal} {
		k.create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name}})
		accounts = append(accounts, metav1.NamespaceSystem+"/"+name)
	}
	shoot := *k
	shoot.name = "shoot"
	tables := shoot.table(t, privilegestest.ShootNamespaces(), append(accounts, users...)...)
	return tables + shoot.tableOfRealNodes(t)
}

// awaitRoles waits until the API server goes by all roles and bindings that there are. It sees those of each kind in
// the order in which they were written: when it has seen the last one, it has seen all. Before, the rules of one
// namespace may be new, and those of the next old.
func (k *kit) awaitRoles(t *testing.T) {
	t.Helper()
	name := "last-" + strings.ToLower(rand.Text())
	everywhere, here := metav1.ObjectMeta{Name: name}, metav1.ObjectMeta{Name: name, Namespace: "default"}
	may := func(resource string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"get"}}}
	}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}}
	role := func(kind string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	}
	k.create(t, &rbacv1.ClusterRole{ObjectMeta: everywhere, Rules: may("configmaps")})
	k.create(t, &rbacv1.ClusterRoleBinding{ObjectMeta: everywhere, RoleRef: role("ClusterRole"), Subjects: subjects})
	k.create(t, &rbacv1.Role{ObjectMeta: here, Rules: may("secrets")})
	k.create(t, &rbacv1.RoleBinding{ObjectMeta: here, RoleRef: role("Role"), Subjects: subjects})
	k.await(t, "the roles to be at work", func(ctx context.Context) error {
		for _, resource := range []string{"configmaps", "secrets"} {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: name,
				ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "default", Verb: "get", Resource: resource}}}
			if err := k.admin.Create(ctx, review); err != nil {
				return err
			}
			if !review.Status.Allowed {
				return fmt.Errorf("the last one, for %s, is not: %q", resource, review.Status.Reason)
			}
		}
		return nil
	})
}

// tableOfRealNodes is that of the nodes' user in a shoot whose nodes run pods: the shoot has more roles then.
func (k *kit) tableOfRealNodes(t *testing.T) string {
	t.Helper()
	for _, object := range shootaccess.RealNodeRoles() {
		k.create(t, object)
	}
	k.awaitRoles(t)
	const user = "user " + secrets.UserNodes
	tables, err := privilegestest.New(t.Context(), k.config, privilegestest.ShootNamespaces())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := tables.Rows(t.Context(), k.as(t, user))
	if err != nil {
		t.Fatal(err)
	}
	return "\n" + privilegestest.Heading(privilegestest.ShootWithRealNodes, user) + "\n\n" + privilegestest.Head +
		strings.Join(rows, "\n") + "\n"
}

// The table of docs/privileges.md is what API servers say. Write it anew with -update, and read the difference.
func TestPrivileges_OfEachIdentity_AreThoseOfTheTable(t *testing.T) {
	t.Parallel()
	garden, ctx := startGardenKit(t), t.Context()
	of := startSeedKit(t, garden)
	made := garden.table(t, garden.namespaces(t), garden.accounts(t)...) +
		of.table(t, of.namespaces(t), of.accounts(t)...) +
		of.shootTable(t, of.usersOf(t, "shoot--p--alpha"))
	for _, s := range []string{"a", "b", "c"} {
		object := &gardencorev1beta1.Seed{}
		if err := garden.admin.Get(ctx, client.ObjectKey{Name: s}, object); err != nil {
			t.Fatal(err)
		}
		made = strings.ReplaceAll(made, string(object.UID), "UID-of-seed-"+s)
	}
	content, err := os.ReadFile(privilegesFile)
	if err != nil {
		t.Fatal(err)
	}
	head, committed, found := strings.Cut(string(content), tableBegins)
	if !found {
		t.Fatalf("%s has no line %q", privilegesFile, tableBegins)
	}
	if *update {
		if err := os.WriteFile(privilegesFile, []byte(head+tableBegins+made), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(strings.Split(committed, "\n"), strings.Split(made, "\n")); diff != "" {
		t.Errorf("%s differs from what the API servers say; -update writes it anew (-committed +made):\n%s", privilegesFile,
			diff)
	}
}
