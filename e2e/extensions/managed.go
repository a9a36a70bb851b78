package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
)

// managed is a ManagedResource: objects that the resource manager applies to the shoot, or to the seed.
type managed struct {
	*program
	name  string
	class *string // nil for the shoot
}

func (p *program) inShoot(name string) managed { return managed{p, name, nil} }

func (p *program) onSeed(name string) managed {
	return managed{p, name, ptr.To(resourcesv1alpha1.ClassSeed)}
}

// deploy has objects applied. What goes into the shoot has to be the same on every seed.
func (m managed) deploy(ctx context.Context, namespace string, objects ...client.Object) error {
	data := map[string][]byte{}
	for _, object := range objects {
		content, err := yaml.Marshal(object)
		if err != nil {
			return fmt.Errorf("write the %T of ManagedResource %q: %w", object, m.name, err)
		}
		data[strings.ReplaceAll(fmt.Sprintf("%T-%s.yaml", object, object.GetName())[1:], ":", "-")] = content
	}
	resource, secret := m.objects(namespace)
	if _, err := controllerutil.CreateOrPatch(ctx, m.Client, secret, func() error {
		secret.Data = data
		return nil
	}); err != nil {
		return fmt.Errorf("write the Secret of ManagedResource %q: %w", m.name, err)
	}
	if _, err := controllerutil.CreateOrPatch(ctx, m.Client, resource, func() error {
		resource.Spec.Class, resource.Spec.KeepObjects = m.class, ptr.To(false)
		resource.Spec.SecretRefs = []corev1.LocalObjectReference{{Name: secret.Name}}
		if m.class == nil {
			resource.Spec.InjectLabels = map[string]string{constants.ShootNoCleanup: constants.LabelTrue}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("write ManagedResource %q: %w", m.name, err)
	}
	return nil
}

func (m managed) objects(namespace string) (*resourcesv1alpha1.ManagedResource, *corev1.Secret) {
	return &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: m.name}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "managedresource-" + m.name}}
}

// leave deletes the ManagedResource, and what it has on the seed. What it has in the shoot stays there.
func (m managed) leave(ctx context.Context, namespace string) error {
	resource, _ := m.objects(namespace)
	if m.class == nil && m.planted != deletesFromShoot {
		patch := client.RawPatch(client.Merge.Type(), []byte(`{"spec":{"keepObjects":true}}`))
		if err := m.Patch(ctx, resource, patch); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("keep the objects of ManagedResource %q: %w", m.name, err)
		}
	}
	return m.remove(ctx, namespace)
}

// remove deletes the ManagedResource with what it has, and waits until that is done.
func (m managed) remove(ctx context.Context, namespace string) error {
	resource, secret := m.objects(namespace)
	if err := discard(ctx, m.Client, resource); err != nil {
		return err
	}
	if err := wait.PollUntilContextCancel(ctx, 500*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := m.Get(ctx, client.ObjectKeyFromObject(resource), resource)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}); err != nil {
		return fmt.Errorf("wait until ManagedResource %q is deleted: %w", m.name, err)
	}
	return discard(ctx, m.Client, secret)
}

// discard deletes an object, which may be gone.
func discard(ctx context.Context, c client.Client, object client.Object) error {
	if err := client.IgnoreNotFound(c.Delete(ctx, object)); err != nil {
		return fmt.Errorf("delete %T %q: %w", object, object.GetName(), err)
	}
	return nil
}
