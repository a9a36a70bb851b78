package controlplane

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
)

// Survey is what this seed has of the shoot, and whose the shoot is (docs/adr/0018-tenure.md). DNS is read at the first
// question that needs it, and then not again: a planned migration asks none, so it continues without DNS. A Survey is
// for questions of one time. Who has changed something here, or has waited, surveys again. It is for one goroutine.
type Survey struct {
	tenure.Tenure
	o      *Operation
	record *ownership.Record // in DNS; nil before it was read
}

// Survey reads what this seed has of the shoot.
func (o *Operation) Survey(ctx context.Context) (*Survey, error) {
	etcd := &appsv1.StatefulSet{}
	err := o.Seed.Get(ctx, o.key(EtcdName), etcd)
	if apierrors.IsNotFound(err) {
		etcd = nil
	} else if err != nil {
		return nil, fmt.Errorf("read etcd: %w", err)
	}
	namespace, err := o.namespace(ctx)
	if apierrors.IsNotFound(err) {
		namespace = nil
	} else if err != nil {
		return nil, fmt.Errorf("read namespace %q: %w", o.Namespace(), err)
	}
	here, err := tenure.Of(namespace, etcd)
	if err != nil {
		return nil, err
	}
	return &Survey{Tenure: here, o: o}, nil
}

// decision is the record in DNS.
func (s *Survey) decision(ctx context.Context) (ownership.Record, error) {
	if s.record != nil {
		return *s.record, nil
	}
	record, _, err := s.o.Owners.Decision(s.o.ownerRecordName()).Read(ctx)
	if err != nil {
		return ownership.Record{}, fmt.Errorf("ask who owns the shoot: %w", err)
	}
	s.record = &record
	return record, nil
}

// Whose says whose the shoot is. If DNS does not answer, it is an error: nobody may conclude anything
// (docs/ownership.md#o10).
func (s *Survey) Whose(ctx context.Context) (tenure.Whose, error) {
	record, err := s.decision(ctx)
	if err != nil {
		return 0, err
	}
	return tenure.WhoseIs(record, string(s.o.SeedObject.UID)), nil
}

// HasLeftovers reports whether what is here is the control plane of an epoch that is over: the namespace is here, and
// DNS gives the shoot to somebody else.
func (s *Survey) HasLeftovers(ctx context.Context) (bool, error) {
	if !s.Namespace {
		return false, nil
	}
	whose, err := s.Whose(ctx)
	return whose == tenure.Others || whose == tenure.Nobodys, err
}

// etcdRestored reports whether the shoot's etcd is here already, by a run before this one. One that an epoch has left
// which is over does not count: a shoot may be back before its first seed has cleaned up.
func (s *Survey) etcdRestored(ctx context.Context) (bool, error) {
	if !s.Etcd.Exists {
		return false, nil
	}
	left, err := s.HasLeftovers(ctx)
	return err == nil && !left, err
}

// refuseForeign is an error if DNS gives the shoot to another seed that exists.
func (s *Survey) refuseForeign(ctx context.Context) error {
	whose, err := s.Whose(ctx)
	if err != nil || whose != tenure.Others {
		return err
	}
	record, err := s.decision(ctx)
	if err != nil {
		return err
	}
	seeds := &gardencorev1beta1.SeedList{}
	if err := s.o.Garden.List(ctx, seeds); err != nil {
		return fmt.Errorf("look for the owner of the shoot: %w", err)
	}
	for _, seed := range seeds.Items {
		if string(seed.UID) == record.Owner {
			return fmt.Errorf("the shoot is seed %q's, by its record in DNS with epoch %d: it is not taken from there "+
				"without a migration", seed.Name, record.Epoch)
		}
	}
	return nil // its owner is no more
}

// UnsavedEpoch is the epoch of this seed's etcd, if that is to run and may have what somebody needs and no backup has;
// else zero: it does not run, its final snapshot is there, or a newer epoch has begun, which does not start from it any
// more.
func (s *Survey) UnsavedEpoch(ctx context.Context) (int64, error) {
	if !s.Etcd.Runs {
		return 0, nil
	}
	own := s.o.BucketName()
	newer := sets.New(own)
	for _, read := range []func(context.Context) (*gardencorev1beta1.BackupEntry, error){
		s.o.BackupEntry, s.o.SourceBackupEntry,
	} {
		entry, err := read(ctx)
		if err != nil {
			return 0, err
		}
		if entry != nil {
			newer.Insert(entry.Spec.BucketName)
		}
	}
	saved, err := s.o.FindSaved(ctx, s.Etcd.Epoch, SavedIn{Newer: sets.List(newer), Final: []string{own}})
	if err != nil || saved {
		return 0, err
	}
	return s.Etcd.Epoch, nil
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
func (o *Operation) FindSaved(ctx context.Context, epoch int64, in SavedIn) (bool, error) {
	for _, bucket := range in.Newer {
		if superseded, err := o.Bucket.Superseded(ctx, bucket, o.BackupPrefix(), epoch); err != nil {
			return false, fmt.Errorf("look for newer epochs in bucket %q: %w", bucket, err)
		} else if superseded {
			return true, nil
		}
	}
	for _, bucket := range in.Final {
		if final, err := o.Bucket.HasFinalSnapshot(ctx, bucket, o.BackupPrefix(), epoch); err != nil {
			return false, fmt.Errorf("look for the final snapshot of epoch %d: %w", epoch, err)
		} else if final {
			return true, nil
		}
	}
	return false, nil
}

// HasFinalSnapshot reports whether the epoch has ended with a final snapshot (docs/ownership.md#o3,
// docs/ownership.md#o6): the bucket of the shoot's BackupEntry is asked.
func (o *Operation) HasFinalSnapshot(ctx context.Context, epoch int64) (bool, error) {
	entry, err := o.BackupEntry(ctx)
	if err != nil || entry == nil {
		return false, err
	}
	return o.FindSaved(ctx, epoch, SavedIn{Final: []string{entry.Spec.BucketName}})
}
