// Package privilegestest asks API servers what an identity may do, and writes that down as rows of a table. It is for
// the test that makes docs/privileges.md and for those that compare a landscape with it; it judges nothing.
package privilegestest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// paths stand in the place of API groups where a rule is about paths of the API server that are no resources.
const paths = "paths"

// all namespaces that were asked about.
const all = "all"

// Everybody stands for the identity in the heading of what every authenticated user may do. No other table repeats it.
const Everybody = "every authenticated user"

// InGroups is between the name and the groups of a user.
const InGroups = " in "

// Heading of an identity's table: "namespace/name" of a ServiceAccount, or "user name".
func Heading(cluster, identity string) string {
	return "### In the " + cluster + ": `" + identity + "`"
}

// ShootWithRealNodes is the cluster in the heading of those who may do more in a shoot whose nodes run pods.
const ShootWithRealNodes = "shoot whose nodes run pods"

// ShootNamespaces are those of a shoot in which rules are asked for.
func ShootNamespaces() []string { return []string{"default", "kube-node-lease", "kube-system"} }

// Head of a table.
const Head = "| namespaces | groups | resources | names | verbs |\n|---|---|---|---|---|\n"

// As is the configuration of a user, "user name", who may be "in" groups. The administrator impersonates it.
func As(admin *rest.Config, user string) *rest.Config {
	config := rest.CopyConfig(admin)
	name, groups, _ := strings.Cut(strings.TrimPrefix(user, "user "), InGroups)
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:authenticated"}}
	if groups != "" {
		config.Impersonate.Groups = append(config.Impersonate.Groups, strings.Split(groups, ", ")...)
	}
	return config
}

// Tables of an API server.
type Tables struct {
	Namespaces []string // in which rules are asked for
	everybody  map[string]bool
}

// New tables, which leave out what every authenticated user may.
func New(ctx context.Context, admin *rest.Config, namespaces []string) (*Tables, error) {
	t := &Tables{Namespaces: slices.Sorted(slices.Values(namespaces)), everybody: map[string]bool{}}
	rules, err := t.rules(ctx, As(admin, "user nobody"))
	for rule, where := range rules {
		if t.places(where) == all {
			t.everybody[rule] = true
		}
	}
	return t, err
}

// RowsOfEverybody are what every authenticated user may do, sorted.
func (t *Tables) RowsOfEverybody() []string {
	var rows []string
	for rule := range t.everybody {
		rows = append(rows, "| "+all+" | "+rule+" |")
	}
	slices.Sort(rows)
	return rows
}

// Rows of what an identity may do, less what everybody may, sorted.
func (t *Tables) Rows(ctx context.Context, identity *rest.Config) ([]string, error) {
	rules, err := t.rules(ctx, identity)
	var rows []string
	for rule, where := range rules {
		if !t.everybody[rule] {
			rows = append(rows, "| "+t.places(where)+" | "+rule+" |")
		}
	}
	slices.Sort(rows)
	return rows, err
}

func (t *Tables) places(where map[string]bool) string {
	if len(where) == len(t.Namespaces) {
		return all
	}
	return strings.Join(slices.Sorted(maps.Keys(where)), ", ")
}

// rules of an identity in words, and the namespaces in which they hold.
func (t *Tables) rules(ctx context.Context, identity *rest.Config) (map[string]map[string]bool, error) {
	clients, err := kubernetes.NewForConfig(identity)
	if err != nil {
		return nil, err
	}
	in := map[string]map[string]bool{}
	for _, namespace := range t.Namespaces {
		review := &authorizationv1.SelfSubjectRulesReview{
			Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
		review, err := clients.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return nil, fmt.Errorf("ask for the rules in namespace %q: %w", namespace, err)
		}
		if review.Status.Incomplete {
			return nil, fmt.Errorf("the rules in namespace %q are not all that it may: %s", namespace,
				review.Status.EvaluationError)
		}
		add := func(words string) {
			if in[words] == nil {
				in[words] = map[string]bool{}
			}
			in[words][namespace] = true
		}
		for _, rule := range review.Status.ResourceRules {
			add(inWords(rule.APIGroups, rule.Resources, rule.ResourceNames, rule.Verbs))
		}
		for _, rule := range review.Status.NonResourceRules {
			add(inWords([]string{paths}, rule.NonResourceURLs, nil, rule.Verbs))
		}
	}
	return in, nil
}

func inWords(columns ...[]string) string {
	var words []string
	for i, column := range columns {
		sorted := slices.Sorted(slices.Values(column))
		for j := range sorted {
			if i == 0 {
				sorted[j] = cmp.Or(sorted[j], "core")
			}
		}
		words = append(words, strings.ReplaceAll(strings.Join(sorted, ", "), "*", "\\*"))
	}
	return strings.Join(words, " | ")
}
