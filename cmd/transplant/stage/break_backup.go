package stage

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/sim/world"
)

var _ world.BackupBreaker = &World{}

// DamageBackup implements world.BackupBreaker.
func (w *World) DamageBackup(ctx context.Context, shoot string, last world.Backup, missing bool) (world.Injection, error) {
	objects, err := w.lastBackup(ctx, shoot, last)
	if err != nil {
		return world.Injection{}, err
	}
	effect := cloud.Effect{Damage: true}
	if missing {
		effect = cloud.Effect{Missing: true}
	}
	var faults []cloud.Fault
	for _, id := range objects {
		faults = append(faults, cloud.Fault{Match: cloud.Match{Kinds: []string{cloud.KindObjects}, IDPrefix: id}, Effect: effect})
	}
	return w.breakCloud(ctx, faults)
}

// lastBackup finds the ids of the shoot's last backup object of a kind: one in each bucket that has a copy of it.
func (w *World) lastBackup(ctx context.Context, shoot string, last world.Backup) ([]string, error) {
	buckets, err := w.cloud.Buckets().List(ctx, cloud.Filter{})
	if err != nil {
		return nil, fmt.Errorf("list the buckets: %w", err)
	}
	var newest backup.Object
	var ids []string
	for _, bucket := range buckets {
		for object, err := range w.cloud.Bucket(bucket.Name).All(ctx, technicalID(shoot)+"--") {
			if err != nil {
				return nil, fmt.Errorf("list the backups of shoot %q in bucket %q: %w", shoot, bucket.Name, err)
			}
			found, is := backupOf(object.Key, last)
			if !is {
				continue
			}
			switch order := later(found, newest); {
			case order > 0:
				newest, ids = found, []string{object.ID}
			case order == 0:
				ids = append(ids, object.ID)
			}
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("find the last backup (%s) of shoot %q: the %d buckets have none", last, shoot, len(buckets))
	}
	return ids, nil
}

// backupOf reads a key of a bucket: the name of the BackupEntry, that of the etcd, and what the backup calls its object.
func backupOf(key string, wanted world.Backup) (backup.Object, bool) {
	_, below, ok := strings.Cut(key, "/"+controlplane.EtcdName+"/")
	if !ok {
		return backup.Object{}, false
	}
	found, ok := backup.ParseKey(below)
	fits := wanted == world.AnyBackup || wanted == world.FullBackup && found.Kind == backup.Full || wanted == world.DeltaBackup && found.Kind == backup.Delta
	return found, ok && fits
}

// later compares by epoch, then by the last revision; a full snapshot comes after the delta that it contains. Copies of
// one object are equal.
func later(a, b backup.Object) int {
	return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Last, b.Last), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.SHA256, b.SHA256))
}
