package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	outcomes *sync.Map // by namespace, why the last attempt failed; empty if it did not
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

// serveAll serves each shoot, whether or not others fail.
func (u userObjects) serveAll(ctx context.Context) error {
	all := &extensionsv1alpha1.ExtensionList{}
	if err := u.cached.List(ctx, all); err != nil {
		return fmt.Errorf("list the Extensions: %w", err)
	}
	var failed []error
	for i := range all.Items {
		obj := &all.Items[i]
		if obj.Spec.Type != u.ofType {
			continue
		}
		err := retry.RetryOnConflict(retry.DefaultRetry, func() error { return u.serveOwned(ctx, obj) })
		if err != nil {
			failed = append(failed, fmt.Errorf("serve the users of %s: %w", obj.Namespace, err))
		}
	}
	return errors.Join(failed...)
}

// serveOwned serves a shoot while its Extension is this seed's, and remembers for its health whether that worked.
func (u userObjects) serveOwned(ctx context.Context, obj *extensionsv1alpha1.Extension) error {
	if err := u.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		u.outcomes.Delete(obj.Namespace)
		return client.IgnoreNotFound(err)
	}
	r := &reconciler[*extensionsv1alpha1.Extension]{program: u.program}
	if r.isDue(obj) || migrated(obj) {
		u.outcomes.Delete(obj.Namespace)
		return nil
	}
	err := u.serveShoot(ctx, obj)
	if apierrors.IsConflict(err) {
		return err // it is served again at once
	}
	message := ""
	if err != nil {
		message = err.Error()
	}
	u.outcomes.Store(obj.Namespace, message)
	return err
}

// problem is what has kept the objects of a shoot's users from being served, or its token from being used.
func (u userObjects) problem(_ context.Context, namespace string) (string, error) {
	if outcome, tried := u.outcomes.Load(namespace); tried {
		return outcome.(string), nil
	}
	return fmt.Sprintf("The %ss of users were not looked for yet.", u.kind), nil
}

func (u userObjects) serveShoot(ctx context.Context, obj *extensionsv1alpha1.Extension) error {
	shoot, err := u.connect(ctx, obj.Namespace)
	if err != nil {
		return err
	}
	wanted := &unstructured.UnstructuredList{}
	wanted.SetGroupVersionKind(schema.GroupVersionKind{Group: u.group, Version: "v1", Kind: u.kind + "List"})
	if err := shoot.List(ctx, wanted); err != nil {
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
