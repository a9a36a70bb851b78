// Package backup makes the buckets of seeds, and gives control planes access to their part of a bucket.
//
// It writes and reads no backups: the sidecar of an etcd does (package etcd/backup).
package backup

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/fence"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
)

// Provider does it. Seed reads from the API server, not from a cache; Cloud must come from fence.Guarded.
type Provider struct {
	Seed  client.Client
	Cloud *cloud.Client
	Fence fence.Fence
}

// backupBucketStatus is the provider status of a BackupBucket.
type backupBucketStatus struct {
	metav1.TypeMeta `json:",inline"`

	Bucket string `json:"bucket"`
}

// Bucket makes the bucket of a seed. It is no shoot's, so nobody's epoch guards it.
func (p *Provider) Bucket() contract.Kind[*extensionsv1alpha1.BackupBucket] {
	kind := contract.KindOf[*extensionsv1alpha1.BackupBucket](extensionsv1alpha1.BackupBucketResource)
	kind.Namespace = func(*extensionsv1alpha1.BackupBucket) string { return "" }
	kind.Secret = func(obj *extensionsv1alpha1.BackupBucket) *corev1.SecretReference { return &obj.Spec.SecretRef }
	kind.OnReconcile = p.reconcileBackupBucket
	kind.OnDelete = p.deleteBackupBucket
	return kind
}

// reconcileBackupBucket adopts a bucket of the same name: the name is the UID of a Seed, which no other has.
func (p *Provider) reconcileBackupBucket(ctx context.Context, _ logr.Logger, obj *extensionsv1alpha1.BackupBucket,
	_ *contract.Cluster) error {
	_, err := p.Cloud.Buckets().Get(ctx, obj.Name)
	if cloud.IsNotFound(err) {
		_, err = p.Cloud.Buckets().Create(ctx,
			&cloud.Bucket{Name: obj.Name, Tags: map[string]string{"transplant.dev/backup-bucket": obj.Name}})
		if cloud.IsAlreadyExists(err) {
			err = nil
		}
	}
	if err != nil {
		return fence.Classify(fmt.Errorf("make the bucket %q: %w", obj.Name, err))
	}
	contract.Publish(ctx, func() {
		obj.Status.ProviderStatus = reference.Encode(backupBucketStatus{
			TypeMeta: metav1.TypeMeta{APIVersion: reference.APIVersion, Kind: "BackupBucketStatus"}, Bucket: obj.Name,
		})
	})
	return nil
}

func (p *Provider) deleteBackupBucket(ctx context.Context, _ logr.Logger, obj *extensionsv1alpha1.BackupBucket,
	_ *contract.Cluster) error {
	if err := p.deleteObjects(ctx, obj.Name, ""); err != nil {
		return fence.Classify(err)
	}
	if err := p.Cloud.Buckets().Delete(ctx, obj.Name); err != nil && !cloud.IsNotFound(err) {
		return fence.Classify(fmt.Errorf("delete the bucket %q: %w", obj.Name, err))
	}
	return nil
}

// deleteObjects empties a bucket below a prefix. A bucket that is gone is empty.
func (p *Provider) deleteObjects(ctx context.Context, bucket, prefix string) error {
	content := p.Cloud.Bucket(bucket)
	var keys []string
	for object, err := range content.All(ctx, prefix) {
		if cloud.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list the objects of bucket %q: %w", bucket, err)
		}
		keys = append(keys, object.Key)
	}
	if err := content.DeleteAll(ctx, keys...); err != nil {
		return fmt.Errorf("empty bucket %q: %w", bucket, err)
	}
	return nil
}
