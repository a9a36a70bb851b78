package observe

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/sim/world"
)

// LastBackup finds the ids of the shoot's last backup object of a kind: one in each bucket that has a copy of it.
func (o *Observer) LastBackup(ctx context.Context, shoot string, last world.Backup) ([]string, error) {
	var newest backup.Object
	var ids []string
	for stored, err := range backupsIn(ctx, o.cloud, shoot, last) {
		if err != nil {
			return nil, err
		}
		switch order := later(stored.Object, newest); {
		case order > 0:
			newest, ids = stored.Object, []string{stored.id}
		case order == 0:
			ids = append(ids, stored.id)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("find the last backup (%s) of shoot %q: no bucket has one", last, shoot)
	}
	return ids, nil
}

// BackedUpTo implements world.BackupReader.
func (o *Observer) BackedUpTo(ctx context.Context, shoot string) (revision int64, err error) {
	for stored, err := range backupsIn(ctx, o.cloud, shoot, world.AnyBackup) {
		if err != nil {
			return 0, err
		}
		revision = max(revision, stored.Last)
	}
	return revision, nil
}

// storedBackup is a backup object in one bucket.
type storedBackup struct {
	backup.Object
	id string
}

// backupsIn yields the backup objects of a shoot of one kind, in all buckets of the cloud.
func backupsIn(ctx context.Context, c *cloud.Client, shoot string, kind world.Backup) iter.Seq2[storedBackup, error] {
	return func(yield func(storedBackup, error) bool) {
		buckets, err := c.Buckets().List(ctx, cloud.Filter{})
		if err != nil {
			yield(storedBackup{}, fmt.Errorf("list the buckets: %w", err))
			return
		}
		for _, bucket := range buckets {
			for object, err := range c.Bucket(bucket.Name).All(ctx, environment.TechnicalID(shoot)+"--") {
				if err != nil {
					yield(storedBackup{}, fmt.Errorf("list the backups of shoot %q in bucket %q: %w", shoot, bucket.Name, err))
					return
				}
				if found, is := backupOf(object.Key, kind); is && !yield(storedBackup{found, object.ID}, nil) {
					return
				}
			}
		}
	}
}

// backupOf reads a key of a bucket: the name of the BackupEntry, that of the etcd, and what the backup calls its
// object.
func backupOf(key string, wanted world.Backup) (backup.Object, bool) {
	_, below, ok := strings.Cut(key, "/"+workload.Etcd+"/")
	if !ok {
		return backup.Object{}, false
	}
	found, ok := backup.ParseKey(below)
	fits := wanted == world.AnyBackup || wanted == world.FullBackup && found.Kind == backup.Full ||
		wanted == world.DeltaBackup && found.Kind == backup.Delta
	return found, ok && fits
}

// later compares by epoch, then by the last revision; a full snapshot comes after the delta that it contains. Copies of
// one object are equal.
func later(a, b backup.Object) int {
	return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Last, b.Last), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.SHA256, b.SHA256))
}
