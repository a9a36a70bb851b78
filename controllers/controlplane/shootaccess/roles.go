package shootaccess

import (
	"context"
	"errors"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
)

var (
	reads    = []string{"get", "list", "watch"}
	ofEvents = rbacv1.PolicyRule{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"},
		Verbs: []string{"create", "patch", "update"}}
	ofMachines = []rbacv1.PolicyRule{
		rule("", reads, "nodes", "persistentvolumeclaims", "persistentvolumes", "pods", "services"),
		rule("storage.k8s.io", reads, "storageclasses", "volumeattachments"),
		rule("", []string{"delete", "patch"}, "nodes"),
		rule("", []string{"patch"}, "nodes/status"),
		rule("", []string{"delete"}, "pods"),
		rule("", []string{"create"}, "pods/eviction"),
		rule("", []string{"patch"}, "persistentvolumeclaims", "services", "services/status"),
		rule("", []string{"create", "delete", "patch"}, "persistentvolumes"),
		rule("storage.k8s.io", []string{"patch"}, "volumeattachments", "volumeattachments/status"),
		ofEvents,
	}
	// ofNodes are less than a kubelet has where each node is a user: kwok writes the status of pods, and deletes those
	// that have ended.
	ofNodes = []rbacv1.PolicyRule{
		rule("", reads, "nodes", "pods"),
		rule("", []string{"create", "patch"}, "nodes"),
		rule("", []string{"delete"}, "pods"),
		rule("", []string{"patch"}, "nodes/status", "pods/status"),
		rule("storage.k8s.io", []string{"create", "get", "update"}, "csinodes"),
		ofEvents,
	}
	// ofKubelets are for namespace kube-node-lease, ofAgents for kube-system, where nodes find what their agents are to
	// apply.
	ofKubelets = []rbacv1.PolicyRule{rule("coordination.k8s.io", []string{"create", "get", "list", "patch", "update",
		"watch"}, "leases")}
	ofAgents = []rbacv1.PolicyRule{
		rule("coordination.k8s.io", []string{"create", "patch"}, "leases"),
		rule("", []string{"list"}, "secrets"),
	}
)

func rule(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

// Roles are the roles in a shoot of those who look after it. The resource manager applies whatever extensions
// give it, roles too, and so may do everything; but not by a group that no role can take away.
func Roles() []client.Object {
	return append(append(append(append(
		[]client.Object{binding("", secrets.UserResourceManager, "ClusterRole", "cluster-admin")},
		grant("", secrets.UserMachineController, ofMachines)...),
		grant("", secrets.UserNodes, ofNodes)...),
		grant("kube-node-lease", secrets.UserNodes, ofKubelets)...),
		grant(metav1.NamespaceSystem, secrets.UserNodes, ofAgents)...)
}

// grant is a role with the name of its user, and that the user has it; for all namespaces if none is named.
func grant(namespace, user string, rules []rbacv1.PolicyRule) []client.Object {
	if namespace == "" {
		return []client.Object{
			&rbacv1.ClusterRole{TypeMeta: accessType("ClusterRole"), ObjectMeta: accessMeta("", user), Rules: rules},
			binding("", user, "ClusterRole", user),
		}
	}
	return []client.Object{
		&rbacv1.Role{TypeMeta: accessType("Role"), ObjectMeta: accessMeta(namespace, user), Rules: rules},
		binding(namespace, user, "Role", user),
	}
}

func binding(namespace, user, kind, role string) client.Object {
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	if namespace == "" {
		return &rbacv1.ClusterRoleBinding{TypeMeta: accessType("ClusterRoleBinding"), ObjectMeta: accessMeta("", user),
			RoleRef: ref, Subjects: subjects}
	}
	return &rbacv1.RoleBinding{TypeMeta: accessType("RoleBinding"), ObjectMeta: accessMeta(namespace, user), RoleRef: ref,
		Subjects: subjects}
}

func accessType(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}

// accessMeta marks what the clean-up of a shoot in deletion leaves: its machines need it to the end.
func accessMeta(namespace, user string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: user,
		Labels: map[string]string{constants.ShootNoCleanup: constants.LabelTrue}}
}

// Grant gives them their roles, as the shoot's administrator.
func (a *Access) Grant(ctx context.Context) error {
	shoot, err := a.Client(ctx)
	if err != nil {
		return err
	}
	// The API server makes the namespaces a moment after it begins to answer.
	return a.Until(ctx, time.Minute, "the roles in the shoot", func(ctx context.Context) error {
		return grantAccess(ctx, shoot)
	})
}

// Repair grants the roles again before a shoot is migrated or deleted: its administrator may have deleted
// them, and then nobody takes objects off it. It tries once, for ten seconds at most, and goes on without: a shoot
// whose API server does not answer must leave as well, and one that has its roles does not need them again.
func (a *Access) Repair(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	shoot, err := a.Client(within)
	if err == nil {
		err = grantAccess(within, shoot)
	}
	if err != nil {
		a.Log.Info("The roles in the shoot could not be granted again", "reason", err.Error())
	}
	return ctx.Err()
}

// grantAccess grants what it can, however much of it is refused.
func grantAccess(ctx context.Context, shoot client.Client) error {
	var errs []error
	for _, object := range Roles() {
		errs = append(errs, objects.Apply(ctx, shoot, object))
	}
	return errors.Join(errs...)
}
