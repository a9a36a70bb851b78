// Package owner is this seed's part in the ownership of a shoot (docs/ownership.md): what it has of it, whose it is,
// and how it takes and releases it. The protocol itself is in package ownership.
package owner

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/backupentry"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
)

// Survey is what this seed has of the shoot, and whose the shoot is (docs/adr/0018-tenure.md). DNS is read at the first
// question that needs it, and then not again: a planned migration asks none, so it continues without DNS. A Survey is
// for questions of one time. Who has changed something here, or has waited, surveys again. It is for one goroutine.
type Survey struct {
	tenure.Tenure
	o      *Ownership
	record *ownership.Record // in DNS; nil before it was read
}

// Survey reads what this seed has of the shoot.
func (o *Ownership) Survey(ctx context.Context) (*Survey, error) {
	etcd := &appsv1.StatefulSet{}
	err := o.Seed.Get(ctx, o.Key(workload.Etcd), etcd)
	if apierrors.IsNotFound(err) {
		etcd = nil
	} else if err != nil {
		return nil, fmt.Errorf("read etcd: %w", err)
	}
	namespace, err := o.ReadNamespace(ctx)
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
	record, _, err := s.o.Owners.Decision(s.o.OwnerRecordName()).Read(ctx)
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
		return tenure.Unreadable, err
	}
	return tenure.WhoseIs(record, string(s.o.SeedObject.UID), s.Epoch), nil
}

// Next says what this seed is to do next. It reads DNS if the answer depends on it.
func (s *Survey) Next(ctx context.Context, asked tenure.Asked) (answer tenure.Answer, err error) {
	here := s.Tenure
	if answer = here.Next(asked); answer == tenure.Unknown {
		here.Whose, err = s.Whose(ctx)
		answer = here.Next(asked)
	}
	return answer, err
}

// HasLeftovers reports whether what is here is the control plane of an epoch that is over: the namespace is here, and
// DNS gives the shoot to somebody else.
func (s *Survey) HasLeftovers(ctx context.Context) (bool, error) {
	answer, err := s.Next(ctx, tenure.AbandonedCleanup)
	return answer == tenure.Remove, err
}

// EtcdRestored reports whether the shoot's etcd is here already, by a run before this one. One that an epoch has left
// which is over does not count: a shoot may be back before its first seed has cleaned up.
func (s *Survey) EtcdRestored(ctx context.Context) (bool, error) {
	if !s.Etcd.Exists {
		return false, nil
	}
	left, err := s.HasLeftovers(ctx)
	return err == nil && !left, err
}

// Elsewhere is the other seed that has the shoot by its record in DNS, with the record. It is nil if the record names
// none, or one that does not exist any more.
func (s *Survey) Elsewhere(ctx context.Context) (*gardencorev1beta1.Seed, ownership.Record, error) {
	whose, err := s.Whose(ctx)
	if err != nil || whose != tenure.OthersBegun {
		return nil, ownership.Record{}, err
	}
	record, err := s.decision(ctx)
	if err != nil {
		return nil, ownership.Record{}, err
	}
	seeds := &gardencorev1beta1.SeedList{}
	if err := s.o.Garden.List(ctx, seeds); err != nil {
		return nil, ownership.Record{}, fmt.Errorf("look for the owner of the shoot: %w", err)
	}
	for i := range seeds.Items {
		if string(seeds.Items[i].UID) == record.Owner {
			return &seeds.Items[i], record, nil
		}
	}
	return nil, record, nil
}

// checkElsewhere is a ForeignError if DNS gives the shoot to another seed that exists.
func (s *Survey) checkElsewhere(ctx context.Context) error {
	seed, record, err := s.Elsewhere(ctx)
	if err != nil || seed == nil {
		return err
	}
	return &ForeignError{Seed: seed.Name, Epoch: record.Epoch}
}

// refuseForeign is an error if DNS gives the shoot to another seed that exists, or to a place outside any seed.
func (s *Survey) refuseForeign(ctx context.Context) error {
	if err := s.checkElsewhere(ctx); err != nil {
		return err
	}
	if record := s.record; record != nil && record.Seed == constants.SeedOutside {
		return fmt.Errorf("the shoot's control plane runs outside any seed, by its record in DNS with epoch %d: it is not "+
			"taken from there without a restore", record.Epoch)
	}
	return nil
}

// ForeignError says that another seed has the shoot, by its record in DNS with this epoch.
type ForeignError struct {
	Seed  string
	Epoch int64
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("the shoot is seed %q's, by its record in DNS with epoch %d: it is not taken from there without a "+
		"migration; if the garden is older than that, as after a restore of its own, bind the shoot to seed %[1]q", e.Seed,
		e.Epoch)
}

// UnsavedEpoch is the epoch of this seed's etcd, if that may have what somebody needs and no backup has; else zero: its
// final snapshot is there, or a newer epoch has begun, which does not start from it any more.
// Whether an etcd that sleeps has anything is Next's to say, before.
func (s *Survey) UnsavedEpoch(ctx context.Context) (int64, error) {
	own := s.o.BucketName()
	newer := sets.New(own)
	for _, read := range []func(context.Context) (*gardencorev1beta1.BackupEntry, error){
		s.o.entries.Get, s.o.entries.GetSource,
	} {
		entry, err := read(ctx)
		if err != nil {
			return 0, err
		}
		if entry != nil {
			newer.Insert(entry.Spec.BucketName)
		}
	}
	saved, err := s.o.entries.FindSaved(ctx, s.Etcd.Epoch,
		backupentry.SavedIn{Newer: sets.List(newer), Final: []string{own}})
	if err != nil || saved {
		return 0, err
	}
	return s.Etcd.Epoch, nil
}
