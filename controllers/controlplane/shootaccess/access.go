// Package shootaccess is the way to the API server of a shoot, for its users and for the gardenlet, and the roles of
// those who look after the shoot.
package shootaccess

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
)

// Access is the way to the API server of the shoot, by its public name.
type Access struct {
	*scope.Scope
	secrets *secrets.Secrets
	status  *run.Status
}

// New makes it over a scope.
func New(s *scope.Scope) *Access {
	return &Access{Scope: s, secrets: &secrets.Secrets{Scope: s}, status: &run.Status{Scope: s}}
}

// What a shoot's users, and whoever listens for it, find in the garden.
const (
	// SuffixCA of the ConfigMap that has the shoot's certificate authority, after the name of the shoot; KeyCA is its key,
	// and KeyHosts that of the names that it vouches for, separated by commas.
	SuffixCA, KeyCA, KeyHosts = ".ca-cluster", secrets.KeyCACert, "hosts"
	// SuffixKubeconfig of the Secret that has an administrator's kubeconfig, after the name of the shoot.
	SuffixKubeconfig = ".kubeconfig"
	// AddressInternal names the advertised address that is the shoot's internal name.
	AddressInternal = gardencorev1beta1.AdvertisedAddressInternal
)

// Publish gives the shoot's users what they need to reach it, in its project: the CA as ConfigMap
// <shoot>.ca-cluster and an administrator's kubeconfig as Secret <shoot>.kubeconfig. Neither changes when the shoot
// moves.
func (a *Access) Publish(ctx context.Context) error {
	ca, err := a.secrets.Data(ctx, secrets.CA)
	if err != nil {
		return err
	}
	tokens, err := a.secrets.Data(ctx, secrets.StaticToken)
	if err != nil {
		return err
	}
	kubeconfig, err := a.userKubeconfig(ca[secrets.KeyCACert], string(tokens[secrets.KeyClusterAdminToken]))
	if err != nil {
		return err
	}
	owner := metav1.OwnerReference{
		APIVersion: gardencorev1beta1.SchemeGroupVersion.String(), Kind: "Shoot", Name: a.Shoot.Name, UID: a.Shoot.UID,
	}
	for _, object := range []client.Object{
		&corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{
				Name: a.Shoot.Name + SuffixCA, Namespace: a.Shoot.Namespace,
				Labels:          map[string]string{constants.GardenRole: "ca-cluster", constants.ShootName: a.Shoot.Name},
				OwnerReferences: []metav1.OwnerReference{owner},
			},
			Data: map[string]string{secrets.KeyCACert: string(ca[secrets.KeyCACert]), KeyHosts: strings.Join(a.Hosts(), ",")},
		},
		&corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{
				Name: a.Shoot.Name + SuffixKubeconfig, Namespace: a.Shoot.Namespace,
				Labels:          map[string]string{constants.GardenRole: "kubeconfig", constants.ShootName: a.Shoot.Name},
				OwnerReferences: []metav1.OwnerReference{owner},
			},
			Data: map[string][]byte{"kubeconfig": kubeconfig, "token": tokens[secrets.KeyClusterAdminToken],
				secrets.KeyCACert: ca[secrets.KeyCACert]},
		},
	} {
		if err := objects.Apply(ctx, a.Garden, object); err != nil {
			return err
		}
	}
	return a.status.Patch(ctx, func(status *gardencorev1beta1.ShootStatus) {
		status.AdvertisedAddresses = a.advertisedAddresses()
	})
}

// advertisedAddresses are those by which the shoot's users may reach its API server, the external one first.
func (a *Access) advertisedAddresses() []gardencorev1beta1.ShootAdvertisedAddress {
	var addresses []gardencorev1beta1.ShootAdvertisedAddress
	if host := a.ExternalHost(); host != "" {
		addresses = append(addresses,
			gardencorev1beta1.ShootAdvertisedAddress{Name: gardencorev1beta1.AdvertisedAddressExternal, URL: a.URLOf(host)})
	}
	return append(addresses, gardencorev1beta1.ShootAdvertisedAddress{Name: AddressInternal, URL: a.APIServerURL()})
}

// userKubeconfig prefers the external name. One that the shoot's owner has to serve himself may not resolve.
func (a *Access) userKubeconfig(caPEM []byte, token string) ([]byte, error) {
	options := secrets.KubeconfigOptions{Server: a.APIServerURL(), CA: caPEM, Token: token}
	if a.ServesDomain() {
		options.Server, options.Other = a.URLOf(a.ExternalHost()), a.APIServerURL()
	}
	return secrets.Kubeconfig(options)
}

// Client returns a client for the shoot's API server, by its public name.
func (a *Access) Client(ctx context.Context) (client.Client, error) {
	ca, token, err := a.Admin(ctx)
	if err != nil {
		return nil, err
	}
	shoot, err := a.Shoots.For(a.APIServerURL(), ca, token)
	if err != nil {
		return nil, err
	}
	return WithWebhookCodes(shoot), nil
}

// Admin is what a client of the shoot's API server trusts, and the token of its administrator.
func (a *Access) Admin(ctx context.Context) (caPEM []byte, token string, err error) {
	ca, err := a.secrets.Data(ctx, secrets.CA)
	if err != nil {
		return nil, "", err
	}
	tokens, err := a.secrets.Data(ctx, secrets.StaticToken)
	if err != nil {
		return nil, "", err
	}
	return ca[secrets.KeyCACert], string(tokens[secrets.KeyClusterAdminToken]), nil
}

// WaitReachable waits until the shoot's API server answers by its internal name: through DNS and the gateway.
func (a *Access) WaitReachable(ctx context.Context) error {
	shoot, err := a.Client(ctx)
	if err != nil {
		return err
	}
	return a.Until(ctx, 5*time.Minute, "the shoot's API server by its name", func(ctx context.Context) error {
		// A look must not outlast the wait's own patience: a name that still leads elsewhere answers late or never.
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if err := shoot.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &corev1.Namespace{}); err != nil {
			return fmt.Errorf("read namespace %q of the shoot: %w", metav1.NamespaceSystem, err)
		}
		return nil
	})
}

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
	// ofRealNodes are what nodes need besides to run pods: what these refer to, tokens for them, and folders of the node
	// as volumes. They have one identity for all nodes of the shoot, so that no rule is about the pods of one node.
	ofRealNodes = []rbacv1.PolicyRule{
		rule("", reads, "configmaps", "persistentvolumeclaims", "persistentvolumes", "secrets", "services"),
		rule("", []string{"create"}, "serviceaccounts/token"),
		rule("", []string{"create", "delete"}, "persistentvolumes"),
		rule("storage.k8s.io", []string{"create", "get"}, "storageclasses"),
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
		[]client.Object{binding("", secrets.UserResourceManager, "ClusterRole", "cluster-admin"), ofSeed()},
		grant("", secrets.UserMachineController, ofMachines)...),
		grant("", secrets.UserNodes, ofNodes)...),
		grant("kube-node-lease", secrets.UserNodes, ofKubelets)...),
		grant(metav1.NamespaceSystem, secrets.UserNodes, ofAgents)...)
}

// RealNodeRoles are those that a shoot whose nodes run pods has besides.
func RealNodeRoles() []client.Object {
	const name = secrets.UserNodes + ":pods"
	return []client.Object{
		&rbacv1.ClusterRole{TypeMeta: accessType("ClusterRole"), ObjectMeta: accessMeta("", name), Rules: ofRealNodes},
		bindingOf(name, "", secrets.UserNodes, "ClusterRole", name),
	}
}

// ofSeed makes administrators of those whose tokens are in the Secrets gardener and gardener-internal on the seed.
func ofSeed() client.Object {
	b := binding("", "gardener.cloud:system:gardener", "ClusterRole", "cluster-admin").(*rbacv1.ClusterRoleBinding)
	b.Subjects = nil
	for _, account := range []string{secrets.Gardener, secrets.GardenerInternal} {
		b.Subjects = append(b.Subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: account,
			Namespace: metav1.NamespaceSystem})
	}
	return b
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
	return bindingOf(user, namespace, user, kind, role)
}

func bindingOf(name, namespace, user, kind, role string) client.Object {
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	if namespace == "" {
		return &rbacv1.ClusterRoleBinding{TypeMeta: accessType("ClusterRoleBinding"), ObjectMeta: accessMeta("", name),
			RoleRef: ref, Subjects: subjects}
	}
	return &rbacv1.RoleBinding{TypeMeta: accessType("RoleBinding"), ObjectMeta: accessMeta(namespace, name), RoleRef: ref,
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
		return a.grantTo(ctx, shoot)
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
		err = a.grantTo(within, shoot)
	}
	if err != nil {
		a.Log.Info("The roles in the shoot could not be granted again", "reason", err.Error())
	}
	return ctx.Err()
}

// grantTo grants what it can, however much of it is refused.
func (a *Access) grantTo(ctx context.Context, shoot client.Client) error {
	roles := Roles()
	if lifecycle.RealNodes(a.Shoot) {
		roles = append(roles, RealNodeRoles()...)
	}
	var errs []error
	for _, object := range roles {
		errs = append(errs, objects.Apply(ctx, shoot, object))
	}
	return errors.Join(errs...)
}
