package migration

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// A destination that has got stuck before its etcd began has taken the shoot over, and has nothing of it: it gives it on. Nobody asks a
// guard that is not there; and an etcd that is gone with what it had is no such thing.
func TestADestinationThatHasNotBegunGivesTheShootOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		etcd, noted string // epochs; empty for none
		want        error
	}{
		"nothing has begun":                        {},
		"the etcd of its epoch before is left":     {etcd: "2", noted: "2"},
		"its etcd is there":                        {etcd: "3", noted: "3", want: errHeld},
		"its etcd has been there, and so was data": {noted: "3", want: errNoEtcd},
	} {
		shoot, r := leaving(t)
		remove(t, r.Factory.Seed, etcdOf(""))
		if c.etcd != "" {
			create(t, r.Factory.Seed, etcdOf(c.etcd))
		}
		namespace := &corev1.Namespace{}
		read := func() {
			if err := r.Factory.Seed.Get(t.Context(), client.ObjectKey{Name: "shoot--p--s"}, namespace); err != nil {
				t.Fatal(err)
			}
		}
		read()
		namespace.Annotations["transplant.dev/begun-epoch"] = c.noted
		if err := r.Factory.Seed.Update(t.Context(), namespace); err != nil {
			t.Fatal(err)
		}
		m := &migrate{
			Operation: &controlplane.Operation{Settings: r.Factory.Settings, Garden: r.Factory.Garden, Seed: r.Factory.Seed, Bucket: finals{}, Shoot: shoot},
			release:   held{},
		}
		err := m.survey(t.Context())
		if err == nil {
			err = m.endEpoch(t.Context())
		}
		read()
		if ended := namespace.Annotations["transplant.dev/ended-epoch"] == "3"; !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || ended != (c.want == nil) {
			t.Errorf("%s: got %v, want %v; the epoch has ended: %t", name, err, c.want, ended)
		}
	}
}
