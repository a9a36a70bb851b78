// Package backupentry names and reads the BackupEntries of a shoot, and what is in their buckets. It changes no entry:
// see package backups.
package backupentry

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
)

// Entries are the shoot's BackupEntry and the one that leads to the bucket it comes from.
type Entries struct{ *scope.Scope }

const (
	// SecretBackup is written by the BackupEntry extension; SecretSourceBackup by that of the source entry.
	SecretBackup       = "etcd-backup"
	SecretSourceBackup = "source-etcd-backup"
)

// SourcePrefix marks the copy of a BackupEntry that gives access to the bucket the shoot comes from.
const SourcePrefix = "source-"

// NamesOf are the names of a shoot's BackupEntry and of the one that leads to where it comes from; none as long
// as the shoot has no identity.
func NamesOf(shoot *gardencorev1beta1.Shoot) []string {
	if shoot.Status.TechnicalID == "" || shoot.Status.UID == "" {
		return nil
	}
	name := scope.BackupEntryName(shoot)
	return []string{name, SourcePrefix + name}
}

// SourceOf is the name of the BackupEntry that the one with this name is the source of; empty if it is none's.
func SourceOf(name string) string {
	if of, source := strings.CutPrefix(name, SourcePrefix); source {
		return of
	}
	return ""
}

// Read reads a BackupEntry from the garden; nil if there is none.
func Read(ctx context.Context, garden client.Reader,
	key client.ObjectKey) (*gardencorev1beta1.BackupEntry, error) {
	entry := &gardencorev1beta1.BackupEntry{}
	err := garden.Get(ctx, key, entry)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read backup entry %q: %w", key.Name, err)
	}
	return entry, nil
}

// HasNews reports whether a BackupEntry, of the garden or of the extension, says something that a wait may wait for: a
// result, good or bad. Reports that somebody works on it are none. That it has gone, its watch says.
func HasNews(entry client.Object, last *gardencorev1beta1.LastOperation, lastError *gardencorev1beta1.LastError) bool {
	return lastError != nil || entry.GetDeletionTimestamp() == nil && last != nil &&
		last.State != gardencorev1beta1.LastOperationStateProcessing
}

// NamespaceOf is the control-plane namespace of the shoot that a BackupEntry, or the source of one, is for.
func NamespaceOf(name string) string {
	name = strings.TrimPrefix(name, SourcePrefix)
	if i := strings.LastIndex(name, "--"); i > 0 {
		return name[:i]
	}
	return name
}

// Prefix is where the backups of the shoot's etcd are, in every bucket.
func (e *Entries) Prefix() string { return e.BackupEntryName() + "/" + workload.Etcd }

// Get reads the shoot's BackupEntry from the garden; nil if there is none.
func (e *Entries) Get(ctx context.Context) (*gardencorev1beta1.BackupEntry, error) {
	return e.GetNamed(ctx, e.BackupEntryName())
}

// GetSource reads the way to the bucket that the shoot comes from; nil if there is none.
func (e *Entries) GetSource(ctx context.Context) (*gardencorev1beta1.BackupEntry, error) {
	return e.GetNamed(ctx, SourcePrefix+e.BackupEntryName())
}

// GetNamed reads the BackupEntry of a name from the garden; nil if there is none.
func (e *Entries) GetNamed(ctx context.Context, name string) (*gardencorev1beta1.BackupEntry, error) {
	return Read(ctx, e.Garden, client.ObjectKey{Namespace: e.Shoot.Namespace, Name: name})
}

// SavedIn names the buckets in which FindSaved looks for each of the two reasons.
type SavedIn struct {
	// Newer are those that are asked for the manifest of a newer epoch, which does not start from this one any more.
	Newer []string
	// Final are those that are asked for the epoch's final snapshot.
	Final []string
}

// FindSaved reports whether a bucket shows that nobody needs the data that the epoch has on a seed
// (docs/ownership.md#o3, docs/ownership.md#o7). A bucket that cannot be read is an error, unless one before it has
// shown that.
func (e *Entries) FindSaved(ctx context.Context, epoch int64, in SavedIn) (bool, error) {
	for _, bucket := range in.Newer {
		if superseded, err := e.Bucket.Superseded(ctx, bucket, e.Prefix(), epoch); err != nil {
			return false, fmt.Errorf("look for newer epochs in bucket %q: %w", bucket, err)
		} else if superseded {
			return true, nil
		}
	}
	for _, bucket := range in.Final {
		if final, err := e.Bucket.HasFinalSnapshot(ctx, bucket, e.Prefix(), epoch); err != nil {
			return false, fmt.Errorf("look for the final snapshot of epoch %d: %w", epoch, err)
		} else if final {
			return true, nil
		}
	}
	return false, nil
}

// HasFinalSnapshot reports whether the epoch has ended with a final snapshot (docs/ownership.md#o3,
// docs/ownership.md#o6): the bucket of the shoot's BackupEntry is asked.
func (e *Entries) HasFinalSnapshot(ctx context.Context, epoch int64) (bool, error) {
	return e.FinalSnapshots()(ctx, epoch)
}

// FinalSnapshots is HasFinalSnapshot for a wait, which asks often: it reads the BackupEntry once. An entry that is
// pointed at another bucket meanwhile makes nobody believe in an end that was none: only what the epoch itself has
// uploaded ends the wait before its time.
func (e *Entries) FinalSnapshots() func(ctx context.Context, epoch int64) (bool, error) {
	bucket := ""
	return func(ctx context.Context, epoch int64) (bool, error) {
		if bucket == "" {
			entry, err := e.Get(ctx)
			if err != nil || entry == nil {
				return false, err
			}
			bucket = entry.Spec.BucketName
		}
		return e.FindSaved(ctx, epoch, SavedIn{Final: []string{bucket}})
	}
}

// Purge removes what the shoot has left in this seed's bucket, unless its backups are there: a seed that comes
// back uploads what belongs to no chain any more (docs/ownership.md#o7).
func (e *Entries) Purge(ctx context.Context) error {
	if e.Shoot.Status.UID == "" {
		return nil // its backups have no name: they went before
	}
	for _, name := range []string{e.BackupEntryName(), SourcePrefix + e.BackupEntryName()} {
		entry, err := e.GetNamed(ctx, name)
		if err != nil {
			return err
		}
		if entry != nil && entry.Spec.BucketName == e.BucketName() {
			return nil
		}
	}
	return e.Bucket.Purge(ctx, e.BucketName(), e.Prefix())
}

// OnSeed are the extension's BackupEntries that are named after the control-plane namespace.
func (e *Entries) OnSeed(ctx context.Context) ([]extensionsv1alpha1.BackupEntry, error) {
	list := &extensionsv1alpha1.BackupEntryList{}
	if err := e.Seed.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list the backup entries of the extension: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(entry extensionsv1alpha1.BackupEntry) bool {
		return NamespaceOf(entry.Name) != e.Namespace()
	}), nil
}
