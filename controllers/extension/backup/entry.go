package backup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/fence"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
	"github.com/transplant-sim/transplant/controllers/patch"
)

const (
	// sourcePrefix begins the name of the entry by which a restoration reads the bucket of the seed it comes from.
	sourcePrefix = constants.BackupSourcePrefix + "-"
	// annotationCreatedBy says which entry wrote a Secret, so that no other removes it.
	annotationCreatedBy = "backup.gardener.cloud/created-by"
	// keyBucketName and keyPrefix are what the Secret says beside the credentials.
	keyBucketName = "bucketName"
	keyPrefix     = "prefix"
)

// shootOfEntry reads the technical id out of an entry's name, [source-]<technical id>--<uid>
// (docs/specification/api.md#spec-1-7).
func shootOfEntry(obj *extensionsv1alpha1.BackupEntry) string {
	name := strings.TrimPrefix(obj.Name, sourcePrefix)
	if i := strings.LastIndex(name, "--"); i > 0 {
		return name[:i]
	}
	return name
}

// Entry gives a shoot's control plane access to its part of a bucket. Migration touches nothing in the bucket:
// the next seed reads it through an entry of its own.
func (p *Provider) Entry() contract.Kind[*extensionsv1alpha1.BackupEntry] {
	kind := contract.KindOf[*extensionsv1alpha1.BackupEntry](extensionsv1alpha1.BackupEntryResource)
	kind.Namespace = shootOfEntry
	kind.ClusterOptional, kind.IgnoresCluster = true, true
	kind.Secret = func(obj *extensionsv1alpha1.BackupEntry) *corev1.SecretReference { return &obj.Spec.SecretRef }
	kind.OnReconcile = p.reconcileBackupEntry
	kind.OnMigrate = p.migrateBackupEntry
	kind.OnDelete = p.deleteBackupEntry
	return kind
}

func (p *Provider) reconcileBackupEntry(ctx context.Context, log logr.Logger, obj *extensionsv1alpha1.BackupEntry,
	_ *contract.Cluster) error {
	namespace, err := p.namespaceOfEntry(ctx, obj)
	if err != nil {
		return err
	}
	if namespace == nil {
		log.Info("The shoot has no namespace that could take the credentials")
		return nil
	}
	if err := p.deployBackupSecret(ctx, obj); err != nil {
		return err
	}
	return p.rememberEpoch(ctx, obj, namespace.Annotations[constants.OwnershipEpoch])
}

// namespaceOfEntry is the control-plane namespace that has the credentials; nil if there is none, or if it goes: this
// extension may not look into it any more.
func (p *Provider) namespaceOfEntry(ctx context.Context,
	obj *extensionsv1alpha1.BackupEntry) (*corev1.Namespace, error) {
	namespace := &corev1.Namespace{}
	err := p.Seed.Get(ctx, client.ObjectKey{Name: shootOfEntry(obj)}, namespace)
	if apierrors.IsNotFound(err) || (err == nil && namespace.DeletionTimestamp != nil) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the namespace of the shoot: %w", err)
	}
	return namespace, nil
}

// rememberEpoch keeps on the entry in which epoch it was last worked on: it outlives the namespace that has the epoch.
func (p *Provider) rememberEpoch(ctx context.Context, obj *extensionsv1alpha1.BackupEntry, epoch string) error {
	if epoch == "" || obj.Annotations[constants.OwnershipEpoch] == epoch {
		return nil
	}
	return patch.Object(ctx, p.Seed, obj, func() {
		metav1.SetMetaDataAnnotation(&obj.ObjectMeta, constants.OwnershipEpoch, epoch)
	})
}

func (p *Provider) deployBackupSecret(ctx context.Context, obj *extensionsv1alpha1.BackupEntry) error {
	credentials := contract.Secret(ctx)
	if credentials == nil {
		return fmt.Errorf("BackupEntry %q names no Secret with credentials", obj.Name)
	}
	return contract.Deploy(ctx, p.Seed, obj, backupSecret(obj), func(secret *corev1.Secret) {
		metav1.SetMetaDataAnnotation(&secret.ObjectMeta, annotationCreatedBy, obj.Name)
		secret.Data = maps.Clone(credentials.Data)
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		secret.Data[keyBucketName] = []byte(obj.Spec.BucketName)
		secret.Data[keyPrefix] = []byte(prefixOf(obj))
	})
}

func backupSecret(obj *extensionsv1alpha1.BackupEntry) *corev1.Secret {
	name := constants.SecretNameEtcdBackup
	if strings.HasPrefix(obj.Name, sourcePrefix) {
		name = constants.SecretNameSourceEtcdBackup
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: shootOfEntry(obj), Name: name}}
}

// prefixOf is where the shoot's backups are in the bucket, the same for the entry and its source
// (docs/specification/migration.md#spec-2-7).
func prefixOf(obj *extensionsv1alpha1.BackupEntry) string {
	return strings.TrimPrefix(obj.Name, sourcePrefix)
}

// migrateBackupEntry leaves the Secret to the namespace it is in: etcd needs it until it has written its last.
func (p *Provider) migrateBackupEntry(context.Context, logr.Logger, *extensionsv1alpha1.BackupEntry,
	*contract.Cluster) error {
	return nil
}

// deleteBackupEntry deletes what is in the entry's part of the bucket, unless it is only a second way to it.
func (p *Provider) deleteBackupEntry(ctx context.Context, log logr.Logger, obj *extensionsv1alpha1.BackupEntry,
	cluster *contract.Cluster) error {
	second, err := p.isSecondWay(ctx, obj)
	if err != nil {
		return err
	}
	if second {
		log.Info("The backups are another entry's too, and stay", "bucket", obj.Spec.BucketName, "entry", prefixOf(obj))
	} else if err := p.deleteBackups(ctx, log, obj, cluster); err != nil {
		return err
	}
	return p.deleteBackupSecret(ctx, obj)
}

// isSecondWay reports whether a source entry names the part of a bucket that is the shoot's own entry's. A gardenlet
// releases such a source rather than delete it; but what is deleted here nobody brings back.
func (p *Provider) isSecondWay(ctx context.Context, obj *extensionsv1alpha1.BackupEntry) (bool, error) {
	if !strings.HasPrefix(obj.Name, sourcePrefix) {
		return false, nil
	}
	own := &extensionsv1alpha1.BackupEntry{}
	err := p.Seed.Get(ctx, client.ObjectKey{Name: prefixOf(obj)}, own)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for another entry with the same backups: %w", err)
	}
	return own.Spec.BucketName == obj.Spec.BucketName, nil
}

func (p *Provider) deleteBackups(ctx context.Context, log logr.Logger, obj *extensionsv1alpha1.BackupEntry,
	cluster *contract.Cluster) error {
	empty := fence.Owned(p.Fence, shootOfEntry, func(ctx context.Context, _ logr.Logger,
		obj *extensionsv1alpha1.BackupEntry, _ *contract.Cluster) error {
		return p.deleteObjects(ctx, obj.Spec.BucketName, prefixOf(obj)+"/")
	})
	err := empty(ctx, log, obj, cluster)
	if errors.Is(err, fence.ErrNoEpoch) {
		return p.deleteOutlived(ctx, obj)
	}
	return err
}

// deleteOutlived deletes the backups of a shoot whose namespace is gone, in the epoch the entry remembers. If the shoot
// has another owner since, the cloud refuses.
func (p *Provider) deleteOutlived(ctx context.Context, obj *extensionsv1alpha1.BackupEntry) error {
	epoch, err := strconv.ParseInt(obj.Annotations[constants.OwnershipEpoch], 10, 64)
	if err != nil {
		epoch = 0 // it was never worked on in any: the cloud records the calls, and refuses none
	}
	ctx = fence.WithoutTerm(ctx, shootOfEntry(obj), epoch)
	return fence.Classify(p.deleteObjects(ctx, obj.Spec.BucketName, prefixOf(obj)+"/"))
}

func (p *Provider) deleteBackupSecret(ctx context.Context, obj *extensionsv1alpha1.BackupEntry) error {
	namespace, err := p.namespaceOfEntry(ctx, obj)
	if namespace == nil || err != nil {
		return err
	}
	secret := backupSecret(obj)
	err = p.Seed.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	if apierrors.IsNotFound(err) || (err == nil && secret.Annotations[annotationCreatedBy] != obj.Name) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the secret %q: %w", client.ObjectKeyFromObject(secret), err)
	}
	return reference.Discard(ctx, p.Seed, secret)
}
