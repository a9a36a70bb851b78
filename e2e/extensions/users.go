package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// userObjects are the objects of a kind that users make in their shoots, and that an extension looks after. It reaches
// a shoot by the address in the Secret gardener-internal, with a token of its own that the landscape requests for it.
type userObjects struct {
	*program
	ofType                string
	group, kind, resource string
	// serve does what an object asks for. It may change the state of the Extension.
	serve func(ctx context.Context, shoot client.Client, obj *extensionsv1alpha1.Extension,
		wanted *unstructured.Unstructured) error
}

// userPeriod is how often shoots are asked for new objects.
const userPeriod = 2 * time.Second

func (u userObjects) add() error {
	return u.manager.Add(manager.RunnableFunc(func(ctx context.Context) error {
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			if err := u.serveAll(ctx); err != nil && ctx.Err() == nil {
				log.FromContext(ctx).Error(err, "not all objects of users were served")
			}
		}, userPeriod)
		return nil
	}))
}

func (u userObjects) serveAll(ctx context.Context) error {
	all := &extensionsv1alpha1.ExtensionList{}
	if err := u.manager.GetCache().List(ctx, all); err != nil {
		return fmt.Errorf("list the Extensions: %w", err)
	}
	for i := range all.Items {
		obj := &all.Items[i]
		r := &reconciler[*extensionsv1alpha1.Extension]{program: u.program}
		if obj.Spec.Type != u.ofType || r.isDue(obj) || migrated(obj) {
			continue
		}
		if err := u.serveShoot(ctx, obj); err != nil {
			return fmt.Errorf("serve the users of %s: %w", obj.Namespace, err)
		}
	}
	return nil
}

func (u userObjects) serveShoot(ctx context.Context, obj *extensionsv1alpha1.Extension) error {
	shoot, err := u.connect(ctx, obj.Namespace)
	if err != nil {
		return err
	}
	wanted := &unstructured.UnstructuredList{}
	wanted.SetGroupVersionKind(schema.GroupVersionKind{Group: u.group, Version: "v1", Kind: u.kind + "List"})
	err = shoot.List(ctx, wanted)
	if failed := (*apiutil.ErrResourceDiscoveryFailed)(nil); meta.IsNoMatchError(err) || errors.As(err, &failed) {
		return nil // the shoot does not have the kind yet
	}
	if err != nil {
		return fmt.Errorf("list the %ss: %w", u.kind, err)
	}
	for i := range wanted.Items {
		one := &wanted.Items[i]
		if state, _, _ := unstructured.NestedString(one.Object, "status", "state"); state != "" {
			continue
		}
		if err := u.serve(ctx, shoot, obj, one); err != nil {
			return fmt.Errorf("serve %s %q: %w", u.kind, client.ObjectKeyFromObject(one), err)
		}
		done := client.RawPatch(client.Merge.Type(), []byte(`{"status":{"state":"Ready"}}`))
		if err := shoot.Status().Patch(ctx, one, done); err != nil {
			return fmt.Errorf("answer %s %q: %w", u.kind, client.ObjectKeyFromObject(one), err)
		}
	}
	return nil
}

// account is the ServiceAccount in the shoot, which the token requestor makes.
func (u userObjects) account() string { return "extension-" + u.ofType }

// accessSecret is where the token requestor puts the token.
func (u userObjects) accessSecret(namespace string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shoot-access-" + u.account()}}
}

// request asks for a token.
func (u userObjects) request(ctx context.Context, namespace string) error {
	secret := u.accessSecret(namespace)
	if _, err := controllerutil.CreateOrPatch(ctx, u.Client, secret, func() error {
		metav1.SetMetaDataLabel(&secret.ObjectMeta, "resources.gardener.cloud/purpose", "token-requestor")
		metav1.SetMetaDataLabel(&secret.ObjectMeta, "resources.gardener.cloud/class", "shoot")
		for key, value := range map[string]string{"name": u.account(), "namespace": metav1.NamespaceSystem} {
			metav1.SetMetaDataAnnotation(&secret.ObjectMeta, "serviceaccount.resources.gardener.cloud/"+key, value)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("ask for access to the shoot: %w", err)
	}
	return nil
}

// objects are what the shoot needs for it: the definition of the kind, and the rights of the account.
func (u userObjects) objects(also ...rbacv1.PolicyRule) []client.Object {
	meta := metav1.ObjectMeta{Name: "extensions.gardener.cloud:" + u.ofType}
	return []client.Object{
		definition(u.kind, u.resource, u.group),
		&rbacv1.ClusterRole{
			TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"}, ObjectMeta: meta,
			Rules: append(also, rbacv1.PolicyRule{APIGroups: []string{u.group},
				Resources: []string{u.resource, u.resource + "/status"}, Verbs: []string{"get", "list", "patch"}}),
		},
		&rbacv1.ClusterRoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceSystem,
				Name: u.account()}},
		},
	}
}

// connect reads the token anew each time: it is another one after a while, and on another seed.
func (u userObjects) connect(ctx context.Context, namespace string) (client.Client, error) {
	secret, gardener := u.accessSecret(namespace), &corev1.Secret{}
	if err := u.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
		return nil, fmt.Errorf("read the token: %w", err)
	}
	if len(secret.Data["token"]) == 0 {
		return nil, fmt.Errorf("read the token: Secret %q has none yet", secret.Name)
	}
	if err := u.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "gardener-internal"}, gardener); err != nil {
		return nil, fmt.Errorf("read the address of the shoot: %w", err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(gardener.Data["kubeconfig"])
	if err != nil {
		return nil, fmt.Errorf("read the address of the shoot: %w", err)
	}
	config.BearerToken, config.CertData, config.KeyData = string(secret.Data["token"]), nil, nil
	config.Timeout = 5 * time.Second
	return client.New(config, client.Options{})
}
