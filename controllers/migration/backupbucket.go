package migration

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/contract"
	"github.com/transplant-sim/transplant/controllers/controlplane/namespace"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// BackupBuckets gives a Seed its BackupBucket: the garden's object and the extension's
// (docs/specification/api.md#spec-1-7, docs/specification/migration.md#spec-2-7). A bucket outlives migrations: it
// stays with its seed.
type BackupBuckets struct {
	// Garden and Seed are uncached clients.
	Garden, Seed client.Client
	Clock        clock.PassiveClock
	SeedName     string
	// Extensions are the ServiceAccounts (namespace/name) that need the credentials of backups.
	Extensions []string
	// Retry is when to look again at an extension that has not answered.
	Retry time.Duration
}

// secretNamePrefixBackupBucket, followed by a BackupBucket's name, is the Secret of its credentials in the namespace
// garden.
const secretNamePrefixBackupBucket = "bucket-"

// Reconcile makes sure of the bucket of the Seed that is named in the request.
func (r *BackupBuckets) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	seed := &gardencorev1beta1.Seed{}
	if err := r.Garden.Get(ctx, request.NamespacedName, seed); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if seed.Name != r.SeedName || seed.Spec.Backup == nil || seed.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	bucket := &gardencorev1beta1.BackupBucket{}
	err := r.Garden.Get(ctx, client.ObjectKey{Name: string(seed.UID)}, bucket)
	if apierrors.IsNotFound(err) {
		bucket = &gardencorev1beta1.BackupBucket{
			ObjectMeta: metav1.ObjectMeta{Name: string(seed.UID)},
			Spec: gardencorev1beta1.BackupBucketSpec{
				Provider: gardencorev1beta1.BackupBucketProvider{
					Type: seed.Spec.Backup.Provider, Region: ptr.Deref(seed.Spec.Backup.Region, seed.Spec.Provider.Region),
				},
				ProviderConfig: seed.Spec.Backup.ProviderConfig,
				SeedName:       ptr.To(seed.Name),
			},
		}
		err = r.Garden.Create(ctx, bucket)
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("make sure of backup bucket %q: %w", seed.UID, err)
	}
	object, err := r.deploy(ctx, bucket)
	if err != nil {
		return reconcile.Result{}, err
	}
	if contract.Ready(object) != nil {
		return reconcile.Result{RequeueAfter: r.Retry}, nil
	}
	return reconcile.Result{}, r.report(ctx, bucket, object)
}

func (r *BackupBuckets) deploy(ctx context.Context,
	bucket *gardencorev1beta1.BackupBucket) (*extensionsv1alpha1.BackupBucket, error) {
	object := &extensionsv1alpha1.BackupBucket{}
	err := r.Seed.Get(ctx, client.ObjectKey{Name: bucket.Name}, object)
	if !apierrors.IsNotFound(err) {
		return object, err
	}
	data, err := namespace.SeedCredentials(ctx, r.Seed, namespace.KubeconfigCloud)
	if err != nil {
		return nil, err
	}
	secret, err := copyCredentials(ctx, r.Seed, secretNamePrefixBackupBucket+bucket.Name, data, r.Extensions)
	if err != nil {
		return nil, err
	}
	object = &extensionsv1alpha1.BackupBucket{ObjectMeta: metav1.ObjectMeta{Name: bucket.Name}}
	extensions := contract.Client{Seed: r.Seed, Clock: r.Clock}
	return object, extensions.Deploy(ctx, object, constants.GardenerOperationReconcile, func() error {
		object.Spec = extensionsv1alpha1.BackupBucketSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: bucket.Spec.Provider.Type,
				ProviderConfig: bucket.Spec.ProviderConfig},
			Region:    bucket.Spec.Provider.Region,
			SecretRef: *secret,
		}
		return nil
	})
}

func (r *BackupBuckets) report(ctx context.Context, bucket *gardencorev1beta1.BackupBucket,
	object *extensionsv1alpha1.BackupBucket) error {
	return patch.Status(ctx, r.Garden, bucket, func() {
		bucket.Status.ProviderStatus = object.Status.ProviderStatus
		bucket.Status.ObservedGeneration = bucket.Generation
		bucket.Status.LastError = nil
		if last := bucket.Status.LastOperation; last == nil || last.State != gardencorev1beta1.LastOperationStateSucceeded {
			bucket.Status.LastOperation = &gardencorev1beta1.LastOperation{
				Type: gardencorev1beta1.LastOperationTypeReconcile, State: gardencorev1beta1.LastOperationStateSucceeded,
				Progress: 100, LastUpdateTime: metav1.NewTime(r.Clock.Now()), Description: "The bucket is there.",
			}
		}
	})
}
