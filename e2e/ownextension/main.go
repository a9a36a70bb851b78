// Command ownextension is an extension as an outside author might write one: plain controller-runtime on the API types, and
// nothing of ours but those. For each shoot it makes a vault once, under a random number that only its state knows, and
// leaves the shoot's namespace a Secret with it. The tests let it be told in stories of the catalogue.
//
// FORGETFUL=true plants the bug that such tests are for: a restore that makes a new vault.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

const (
	vaultType  = "vault"
	finalizer  = "extensions.gardener.cloud/vault"
	annotation = "gardener.cloud/operation"
)

func main() {
	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(extensionsv1alpha1.AddToScheme(scheme))
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the kubeconfig: %w", err)
	}
	mgr, err := ctrl.NewManager(config, manager.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: "vault",
		LeaseDuration: seconds(4), RenewDeadline: seconds(3), RetryPeriod: seconds(1), // so that a killed leader is replaced soon
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &extensionsv1alpha1.Extension{}}}},
	})
	if err != nil {
		return fmt.Errorf("make the manager: %w", err)
	}
	v := &vaults{Client: mgr.GetClient(), forgetful: os.Getenv("FORGETFUL") == "true"}
	if err := ctrl.NewControllerManagedBy(mgr).Named(vaultType).For(&extensionsv1alpha1.Extension{}).Complete(v); err != nil {
		return fmt.Errorf("add the controller: %w", err)
	}
	return mgr.Start(ctx)
}

func seconds(n int) *time.Duration {
	d := time.Duration(n) * time.Second
	return &d
}

// vaults reconciles Extensions of the type vault.
type vaults struct {
	client.Client
	forgetful bool
}

// state is what status.state holds.
type state struct {
	Vault string `json:"vault"`
}

// Reconcile implements the contract of extensions.
func (v *vaults) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	ext := &extensionsv1alpha1.Extension{}
	if err := v.Get(ctx, request.NamespacedName, ext); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	last, operation := ext.Status.LastOperation, ext.Annotations[annotation]
	done := last != nil && last.State == gardencorev1beta1.LastOperationStateSucceeded
	migrated := done && last.Type == gardencorev1beta1.LastOperationTypeMigrate
	switch {
	case ext.Spec.Type != vaultType || operation == "wait-for-state":
		return ctrl.Result{}, nil
	case operation == "migrate":
		return ctrl.Result{}, v.migrate(ctx, ext)
	case migrated && ext.DeletionTimestamp == nil && operation != "restore":
		return ctrl.Result{}, nil // it is another seed's
	case ext.DeletionTimestamp != nil:
		return ctrl.Result{}, v.delete(ctx, ext, migrated)
	case operation == "restore":
		return ctrl.Result{}, v.reconcile(ctx, ext, gardencorev1beta1.LastOperationTypeRestore)
	case last == nil:
		return ctrl.Result{}, v.reconcile(ctx, ext, gardencorev1beta1.LastOperationTypeCreate)
	case operation == "reconcile":
		return ctrl.Result{}, v.reconcile(ctx, ext, gardencorev1beta1.LastOperationTypeReconcile)
	case !done:
		return ctrl.Result{}, v.reconcile(ctx, ext, last.Type)
	}
	return ctrl.Result{}, nil
}

func secretOf(ext *extensionsv1alpha1.Extension) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ext.Namespace, Name: "vault"}}
}

// reconcile also restores: all that a restore wants besides is the state, which the gardenlet has brought.
func (v *vaults) reconcile(ctx context.Context, ext *extensionsv1alpha1.Extension, operation gardencorev1beta1.LastOperationType) error {
	if controllerutil.AddFinalizer(ext, finalizer) {
		if err := v.Update(ctx, ext); err != nil {
			return fmt.Errorf("add the finalizer: %w", err)
		}
	}
	saved := state{}
	forget := v.forgetful && operation == gardencorev1beta1.LastOperationTypeRestore
	if raw := ext.Status.State; raw != nil && !forget {
		if err := json.Unmarshal(raw.Raw, &saved); err != nil {
			return fmt.Errorf("read the state: %w", err)
		}
	}
	if saved.Vault == "" {
		saved.Vault = rand.Text()
	}
	content, err := json.Marshal(saved)
	if err != nil {
		return fmt.Errorf("write the state: %w", err)
	}
	// The number is kept before anything is made under it: after a crash in between, the same is made.
	if err := v.status(ctx, ext, operation, gardencorev1beta1.LastOperationStateProcessing, content); err != nil {
		return err
	}
	secret := secretOf(ext)
	if _, err := controllerutil.CreateOrUpdate(ctx, v.Client, secret, func() error {
		secret.StringData = map[string]string{"vault": saved.Vault}
		return nil
	}); err != nil {
		return fmt.Errorf("keep the secret: %w", err)
	}
	if operation == gardencorev1beta1.LastOperationTypeRestore {
		// The request goes last: a crash before restores again.
		if err := v.status(ctx, ext, operation, gardencorev1beta1.LastOperationStateSucceeded, content); err != nil {
			return err
		}
		return v.answer(ctx, ext)
	}
	if err := v.answer(ctx, ext); err != nil {
		return err
	}
	return v.status(ctx, ext, operation, gardencorev1beta1.LastOperationStateSucceeded, content)
}

// migrate lets go: the vault stays, for the other seed.
func (v *vaults) migrate(ctx context.Context, ext *extensionsv1alpha1.Extension) error {
	if err := v.Delete(ctx, secretOf(ext)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove the secret: %w", err)
	}
	if err := v.status(ctx, ext, gardencorev1beta1.LastOperationTypeMigrate, gardencorev1beta1.LastOperationStateSucceeded, nil); err != nil {
		return err
	}
	controllerutil.RemoveFinalizer(ext, finalizer)
	return v.answer(ctx, ext)
}

func (v *vaults) delete(ctx context.Context, ext *extensionsv1alpha1.Extension, migrated bool) error {
	if !migrated {
		if err := v.Delete(ctx, secretOf(ext)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("remove the secret: %w", err)
		}
	}
	if !controllerutil.RemoveFinalizer(ext, finalizer) {
		return nil
	}
	return client.IgnoreNotFound(v.Update(ctx, ext))
}

// status writes what was done; without a state the one that is there stays.
func (v *vaults) status(
	ctx context.Context, ext *extensionsv1alpha1.Extension, operation gardencorev1beta1.LastOperationType, result gardencorev1beta1.LastOperationState, content []byte,
) error {
	before := ext.DeepCopy()
	progress := int32(100)
	if result == gardencorev1beta1.LastOperationStateProcessing {
		progress = 50
	}
	ext.Status.LastOperation = &gardencorev1beta1.LastOperation{
		Type: operation, State: result, Progress: progress, LastUpdateTime: metav1.Now(), Description: string(operation) + " of the vault",
	}
	ext.Status.ObservedGeneration = ext.Generation
	ext.Status.LastError = nil
	if content != nil {
		ext.Status.State = &runtime.RawExtension{Raw: content}
	}
	if err := v.Status().Patch(ctx, ext, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	return nil
}

// answer takes the request off, with whatever else has changed in the metadata.
func (v *vaults) answer(ctx context.Context, ext *extensionsv1alpha1.Extension) error {
	delete(ext.Annotations, annotation)
	if err := v.Update(ctx, ext); err != nil {
		return fmt.Errorf("take the request off: %w", err)
	}
	return nil
}
