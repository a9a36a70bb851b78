package migration

import (
	"context"
	"errors"
	"testing"

	"github.com/transplant-sim/transplant/controllers/controlplane"
)

// finals are buckets that have the final snapshot of one epoch, or do not say.
type finals struct {
	shelves
	epoch int64
	err   error
}

func (f finals) HasFinalSnapshot(_ context.Context, bucket, prefix string, epoch int64) (bool, error) {
	return bucket == "uid-a" && prefix == "shoot--p--s--uid/etcd-main" && epoch == f.epoch, f.err
}

// A run that is repeated may find no guard any more: an etcd whose epoch has ended does not come back when its data is lost.
func TestAnEpochWithAFinalSnapshotNeedsNoGuardToEnd(t *testing.T) {
	t.Parallel()
	away := errors.New("the bucket is away")
	for name, c := range map[string]struct {
		finals finals
		want   error
	}{
		"no final snapshot":           {finals{}, errHeld},
		"that of the epoch before":    {finals{epoch: 2}, errHeld},
		"its own":                     {finals{epoch: 3}, nil},
		"nobody knows: ask the guard": {finals{epoch: 3, err: away}, errHeld},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shoot, r := leaving(t)
			m := &migrate{
				Operation: &controlplane.Operation{Settings: r.Factory.Settings, Garden: r.Factory.Garden, Seed: r.Factory.Seed, Bucket: c.finals, Shoot: shoot},
				release:   held{},
			}
			if err := m.survey(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := m.endEpoch(t.Context()); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}
