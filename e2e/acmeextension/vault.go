package main

import (
	"context"
	"crypto/rand"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// vaults makes a vault for each shoot once, under a random number that only its state knows, and leaves the shoot's
// namespace a Secret with it.
type vaults struct{ client.Client }

var _ actuator[*extensionsv1alpha1.Extension] = vaults{}

// vault is what the state holds.
type vault struct {
	Number string `json:"number"`
}

func (vaults) ofType() string { return "vault" }

func secretOf(ext *extensionsv1alpha1.Extension) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ext.Namespace, Name: "vault"}}
}

func (v vaults) ensure(ctx context.Context, ext *extensionsv1alpha1.Extension, state *runtime.RawExtension,
	keep func(func()) error) error {
	saved := vault{}
	if err := read(state, &saved); err != nil {
		return err
	}
	if saved.Number == "" {
		saved.Number = rand.Text()
	}
	content, err := write(saved)
	if err != nil {
		return err
	}
	// The number is kept before anything is made under it: after a crash in between, the same is made.
	if err := keep(func() { ext.Status.State = content }); err != nil {
		return err
	}
	secret := secretOf(ext)
	if _, err := controllerutil.CreateOrUpdate(ctx, v.Client, secret, func() error {
		secret.StringData = map[string]string{"vault": saved.Number}
		return nil
	}); err != nil {
		return fmt.Errorf("keep the secret: %w", err)
	}
	return onSeed(v).ensure(ctx, ext.Namespace)
}

// migrate leaves the vault, for the other seed.
func (v vaults) migrate(ctx context.Context, ext *extensionsv1alpha1.Extension) error {
	return v.remove(ctx, ext)
}

func (v vaults) remove(ctx context.Context, ext *extensionsv1alpha1.Extension) error {
	if err := onSeed(v).remove(ctx, ext.Namespace); err != nil {
		return err
	}
	if err := v.Delete(ctx, secretOf(ext)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove the secret: %w", err)
	}
	return nil
}
