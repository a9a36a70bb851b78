package e2e

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// identities: the table of docs/privileges.md, which is made from what is deployed for one shoot, has each
// ServiceAccount that the running landscape has. Those that Kubernetes makes are no part of the product.
func (a *attacked) identities(t *testing.T) {
	table, err := os.ReadFile("../docs/privileges.md")
	if err != nil {
		t.Fatal(err)
	}
	for cluster, c := range map[string]client.Client{"garden": a.garden, "seed a": a.a, "seed b": a.b} {
		kind, _, _ := strings.Cut(cluster, " ")
		list, found := &corev1.ServiceAccountList{}, 0
		if err := c.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		for _, account := range list.Items {
			if account.Name == "default" || strings.HasPrefix(account.Namespace, "kube-") {
				continue
			}
			namespace := account.Namespace
			if strings.HasPrefix(namespace, "shoot--") {
				namespace = "shoot--p--alpha" // as of every shoot
			}
			heading := "\n### In the " + kind + ": `" + namespace + "/" + account.Name + "`\n"
			if found++; !strings.Contains(string(table), heading) {
				t.Errorf("docs/privileges.md has no table of %s/%s, of %s", account.Namespace, account.Name, cluster)
			}
		}
		if found == 0 {
			t.Errorf("%s has no ServiceAccount", cluster)
		}
	}
}
