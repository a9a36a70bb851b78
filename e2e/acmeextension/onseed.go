package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
)

// onSeed is what extensions usually have in a control-plane namespace: a token of the shoot for a program there, and
// objects of the seed in a ManagedResource.
type onSeed struct{ client.Client }

const (
	accessName    = "shoot-access-acme"
	manifestsName = "managedresource-acme-seed"
	resourceName  = "acme-seed"
	// objects are what the ManagedResource holds.
	objects = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: acme, namespace: %s}\ndata: {on: seed}\n"
)

// ensure makes them, and is content when the ManagedResource is healthy and the shoot knows the token. Until then it is
// called again.
func (s onSeed) ensure(ctx context.Context, namespace string) error {
	access := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: accessName}}
	if _, err := controllerutil.CreateOrUpdate(ctx, s.Client, access, func() error {
		metav1.SetMetaDataLabel(&access.ObjectMeta, "resources.gardener.cloud/purpose", "token-requestor")
		metav1.SetMetaDataLabel(&access.ObjectMeta, "resources.gardener.cloud/class", "shoot")
		metav1.SetMetaDataAnnotation(&access.ObjectMeta, "serviceaccount.resources.gardener.cloud/name", "acme")
		metav1.SetMetaDataAnnotation(&access.ObjectMeta, "serviceaccount.resources.gardener.cloud/namespace", "kube-system")
		return nil
	}); err != nil {
		return fmt.Errorf("ask for a token: %w", err)
	}
	manifests := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: manifestsName}}
	if _, err := controllerutil.CreateOrUpdate(ctx, s.Client, manifests, func() error {
		manifests.StringData = map[string]string{"objects.yaml": fmt.Sprintf(objects, namespace)}
		return nil
	}); err != nil {
		return fmt.Errorf("keep the objects of the seed: %w", err)
	}
	managed := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: resourceName}}
	if _, err := controllerutil.CreateOrUpdate(ctx, s.Client, managed, func() error {
		managed.Spec.Class = ptr.To(resourcesv1alpha1.ClassSeed)
		managed.Spec.SecretRefs = []corev1.LocalObjectReference{{Name: manifestsName}}
		return nil
	}); err != nil {
		return fmt.Errorf("have the objects of the seed applied: %w", err)
	}
	if !isHealthy(managed) {
		return fmt.Errorf("%s is not healthy yet: %+v", resourceName, managed.Status.Conditions)
	}
	return s.reach(ctx, namespace, access)
}

func isHealthy(managed *resourcesv1alpha1.ManagedResource) bool {
	isTrue := map[gardencorev1beta1.ConditionType]bool{}
	for _, condition := range managed.Status.Conditions {
		isTrue[condition.Type] = condition.Status == gardencorev1beta1.ConditionTrue
	}
	return managed.Status.ObservedGeneration == managed.Generation &&
		isTrue[resourcesv1alpha1.ResourcesApplied] && isTrue[resourcesv1alpha1.ResourcesHealthy]
}

// reach asks the shoot with the token for something that it may not read: an answer that names it shows that the token
// is good. The way is that of the kubeconfig for administrators inside the seed.
func (s onSeed) reach(ctx context.Context, namespace string, access *corev1.Secret) error {
	token := string(access.Data["token"])
	if token == "" {
		return errors.New("there is no token yet")
	}
	internal := &corev1.Secret{}
	if err := s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "gardener-internal"}, internal); err != nil {
		return fmt.Errorf("read the way to the shoot: %w", err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(internal.Data["kubeconfig"])
	if err != nil {
		return fmt.Errorf("read the way to the shoot: %w", err)
	}
	if err := get(ctx, config); err != nil {
		return fmt.Errorf("reach the shoot as its administrator: %w", err)
	}
	config.BearerToken = token
	if err := get(ctx, config); !apierrors.IsForbidden(err) {
		return fmt.Errorf("reach the shoot as acme, who may read nothing: %w", err)
	}
	return nil
}

func get(ctx context.Context, config *rest.Config) error {
	shoot, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	return shoot.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &corev1.Namespace{})
}

// remove is done when nothing of it is left.
func (s onSeed) remove(ctx context.Context, namespace string) error {
	managed := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: resourceName}}
	if err := s.Delete(ctx, managed); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove the objects of the seed: %w", err)
	}
	if err := s.Get(ctx, client.ObjectKeyFromObject(managed), managed); !apierrors.IsNotFound(err) {
		return errors.Join(errors.New("the objects of the seed are being removed"), err)
	}
	for _, name := range []string{manifestsName, accessName} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		if err := s.Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("remove secret %q: %w", name, err)
		}
	}
	return nil
}
