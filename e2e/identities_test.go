package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/clusters/kubeconfig"
	"github.com/transplant-sim/transplant/clusters/privilegestest"
	simlandscape "github.com/transplant-sim/transplant/sim/landscape"
)

// onlyInTable are the identities of docs/privileges.md that this landscape does not have: it has no lost seed, and no
// third-party extension, beside which the resource manager of a seed runs.
var onlyInTable = []string{"garden/control-planes-c", "garden/gardenlet-c", "extension-third-party/third-party",
	"resource-manager/resource-manager"}

// besideExtensions is a role that the gardenlet may bind only beside third-party extensions.
const besideExtensions = "| transplant:resource-manager:control-plane | bind |"

// identities: each identity may do on the running landscape what docs/privileges.md says, and no more. It asks with the
// tokens and certificates that lie in the Secrets of garden and seeds, and for all other ServiceAccounts with new ones.
func (a *attacked) identities(t *testing.T) {
	committed, seen := committedTables(t), map[string]bool{}
	found := a.loot(t, simlandscape.Garden, "a", "b")
	for cluster, config := range a.apiServers(t, simlandscape.Garden, "a", "b") {
		kind := map[string]string{simlandscape.Garden: "garden", victim: "shoot"}[cluster]
		if kind == "" {
			kind = "seed"
		}
		live := a.identitiesOf(t, kind, config, found)
		tables, err := privilegestest.New(t.Context(), config, namespaces(t, kind, config))
		if err != nil {
			t.Fatal(err)
		}
		everybody := privilegestest.Heading(kind, privilegestest.Everybody)
		seen[everybody] = true
		if diff := cmp.Diff(committed[everybody], tables.RowsOfEverybody()); diff != "" {
			t.Errorf("every authenticated user of %s may do something else (-table +landscape):\n%s", cluster, diff)
		}
		for identity, as := range live {
			rows, err := tables.Rows(t.Context(), as)
			if err != nil {
				t.Fatalf("%s of %s: %v", identity, cluster, err)
			}
			heading := privilegestest.Heading(kind, inTable(identity))
			seen[heading] = true
			wanted, is := committed[heading]
			if !is {
				t.Errorf("docs/privileges.md has no table %q", heading)
				continue
			}
			wanted = slices.DeleteFunc(slices.Clone(wanted), func(row string) bool {
				return strings.HasSuffix(row, besideExtensions)
			})
			want := tableNames().permissions(inTable(identity), wanted)
			if diff := cmp.Diff(want, a.liveNames(t).permissions(identity, rows)); diff != "" {
				t.Errorf("%s of %s differs from its table (-table +landscape):\n%s", identity, cluster, diff)
			}
		}
		t.Logf("%s: %d identities", cluster, len(live))
	}
	// What nodes may that run pods is compared on a landscape which has some.
	seen[privilegestest.Heading(privilegestest.ShootWithRealNodes, "user transplant:nodes")] = true
	for heading := range committed {
		if !seen[heading] && !slices.ContainsFunc(onlyInTable, func(identity string) bool {
			return strings.HasSuffix(heading, "`"+identity+"`")
		}) {
			t.Errorf("the landscape has no identity for the table %q", heading)
		}
	}
}

// committedTables are the rows in docs/privileges.md, by their headings.
func committedTables(t *testing.T) map[string][]string {
	t.Helper()
	content, err := os.ReadFile("../docs/privileges.md")
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string][]string{}
	for _, part := range strings.Split(string(content), "\n### ")[1:] {
		heading, rows, found := strings.Cut(part, privilegestest.Head)
		if !found {
			t.Fatalf("the part %q has no table", heading)
		}
		tables["### "+strings.TrimSpace(heading)] = strings.Split(strings.TrimSpace(rows), "\n")
	}
	return tables
}

// identitiesOf an API server, with the credentials by which it knows each.
func (a *attacked) identitiesOf(t *testing.T, kind string, admin *rest.Config, found loot) map[string]*rest.Config {
	t.Helper()
	live := map[string]*rest.Config{}
	try := func(as *rest.Config) {
		if identity, err := whoIs(t.Context(), as); err == nil {
			live[identity] = as
		} else if !apierrors.IsUnauthorized(err) {
			t.Fatal(err)
		}
	}
	for _, token := range found.tokens {
		as := rest.AnonymousClientConfig(admin)
		as.BearerToken = token
		try(as)
	}
	for _, pair := range found.certificates {
		parsed, err := certutil.ParseCertsPEM(pair.certificate)
		if err != nil {
			t.Fatal(err)
		}
		if parsed[0].IsCA {
			continue // whoever has its key makes certificates for every user of it, and needs no name of its own
		}
		as := rest.AnonymousClientConfig(admin)
		as.CertData, as.KeyData = pair.certificate, pair.key
		try(as)
	}
	if kind == "shoot" {
		return live // its ServiceAccounts are its user's
	}
	clients, err := kubernetes.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := clients.CoreV1().ServiceAccounts("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, account := range accounts.Items {
		name := account.Namespace + "/" + account.Name
		// Those that Kubernetes makes are no part of the product.
		if live[name] != nil || account.Name == "default" || strings.HasPrefix(account.Namespace, "kube-") {
			continue
		}
		content, err := kubeconfig.OfAccount(t.Context(), admin, kind, name, clientcmdapi.Cluster{Server: admin.Host,
			CertificateAuthority: admin.CAFile, CertificateAuthorityData: admin.CAData})
		if err == nil {
			live[name], err = clientcmd.RESTConfigFromKubeConfig(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return live
}

// whoIs asks an API server whom it takes a client for, in the words of the table.
func whoIs(ctx context.Context, config *rest.Config) (string, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	review, err := clients.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{},
		metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	user := review.Status.UserInfo
	if account, is := strings.CutPrefix(user.Username, "system:serviceaccount:"); is {
		return strings.Replace(account, ":", "/", 1), nil
	}
	groups := slices.DeleteFunc(user.Groups, func(group string) bool { return group == "system:authenticated" })
	if len(groups) == 0 {
		return "user " + user.Username, nil
	}
	return "user " + user.Username + privilegestest.InGroups + strings.Join(groups, ", "), nil
}

// namespaces in which an API server is asked for rules.
func namespaces(t *testing.T, kind string, config *rest.Config) []string {
	t.Helper()
	if kind == "shoot" {
		return privilegestest.ShootNamespaces()
	}
	c, err := client.New(config, client.Options{})
	list := &corev1.NamespaceList{}
	if err == nil {
		err = c.List(t.Context(), list)
	}
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, namespace := range list.Items {
		names = append(names, namespace.Name)
	}
	return names
}

// names in tables of privileges that differ between landscapes.
type names struct {
	shoots map[string][]string // by the seeds that have to do with them
	uids   map[string]string   // of seeds
}

// tableNames are those of the landscape that docs/privileges.md is about.
func tableNames() names {
	return names{
		shoots: map[string][]string{"a": {"alpha", "moving"}, "b": {"beta", "moving", "gamma"}, "c": {"omega"}},
		uids:   map[string]string{"UID-of-seed-a": "a", "UID-of-seed-b": "b", "UID-of-seed-c": "c"},
	}
}

func (a *attacked) liveNames(t *testing.T) names {
	t.Helper()
	n := names{shoots: map[string][]string{"a": {decoy}, "b": {"alpha", victim}}, uids: map[string]string{}}
	for name := range n.shoots {
		seed := &gardencorev1beta1.Seed{}
		if err := a.garden.Get(t.Context(), client.ObjectKey{Name: name}, seed); err != nil {
			t.Fatal(err)
		}
		n.uids[string(seed.UID)] = name
	}
	return n
}

// inControlPlane is the namespace of a control plane in a seed: it has the name of the shoot.
var inControlPlane = regexp.MustCompile(`^shoot--[a-z]+--([a-z]+)`)

// inTable is an identity as the table has it: its control plane is that of alpha.
func inTable(identity string) string {
	return inControlPlane.ReplaceAllString(identity, "shoot--p--alpha")
}

// permissions that rows give to an identity, one by one, with names as the identity sees them: of its own seed and
// shoots, or of another's.
func (n names) permissions(identity string, rows []string) []string {
	all := map[string]bool{}
	for _, row := range rows {
		var cells [][]string
		for _, cell := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(row, "| "), " |"), " | ") {
			cells = append(cells, strings.Split(cell, ", "))
		}
		if len(cells) != 5 {
			all[fmt.Sprintf("a row of %d cells: %s", len(cells), row)] = true
			continue
		}
		for _, namespace := range cells[0] {
			for _, group := range cells[1] {
				for _, resource := range cells[2] {
					for _, name := range cells[3] {
						for _, verb := range cells[4] {
							all[strings.Join([]string{n.seenBy(identity, namespace), group, resource, n.seenBy(identity, name), verb},
								" ")] = true
						}
					}
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// ofShoot is what has the name of a shoot in its own.
var ofShoot = regexp.MustCompile(
	`^(owner\.|(?:source-|entry-)?shoot--[a-z]+--|)([a-z]+)(\.kubeconfig|\.ca-cluster|--[a-z0-9-]+|)$`)

// ofProject is the namespace of a project.
var ofProject = regexp.MustCompile(`^garden-[a-z]$`)

func (n names) seenBy(identity, name string) string {
	own := ""
	if of := inControlPlane.FindStringSubmatch(identity); of != nil {
		own = of[1]
	}
	seed := identity[strings.LastIndex(identity, "-")+1:]
	whose := func(is bool) string {
		if is {
			return "its own"
		}
		return "another's"
	}
	if ofProject.MatchString(name) {
		return "a project's"
	}
	prefix, uid := "", name
	if bucket, is := strings.CutPrefix(name, "bucket-"); is {
		prefix, uid = "bucket-", bucket
	}
	if of, is := n.uids[uid]; is {
		return prefix + "the UID of " + whose(of == seed) + " seed"
	}
	if _, is := n.shoots[name]; is {
		return whose(name == seed) + " seed"
	}
	parts := ofShoot.FindStringSubmatch(name)
	isShoot := func(shoots []string) bool { return parts != nil && slices.Contains(shoots, parts[2]) }
	if !slices.ContainsFunc(slices.Collect(maps.Values(n.shoots)), isShoot) {
		return name
	}
	if strings.HasPrefix(parts[3], "--") {
		parts[3] = "--UID"
	}
	prefix = parts[1]
	if before, _, is := strings.Cut(prefix, "shoot--"); is {
		prefix = before + "shoot--project--"
	}
	return prefix + whose(own == parts[2] || own == "" && isShoot(n.shoots[seed])) + " shoot" + parts[3]
}
