package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/controllers/controlplane/etcd"
	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// epochEnd is what the guard of an epoch that was left does when somebody waits for it.
type epochEnd func(epoch int64) error

func (epochEnd) Release(context.Context, etcd.Guard, int64) error { return errNotEnded }

func (e epochEnd) AwaitEnd(_ context.Context, _ etcd.Guard, epoch int64) error {
	return e(epoch)
}

// saved are buckets in which there is more than in shelves.
type saved struct {
	shelves
	newer string // bucket of a newer epoch
	final bool   // of epoch 3, in b's own
}

func (s saved) Superseded(_ context.Context, bucket, _ string, epoch int64) (bool, error) {
	return bucket == s.newer && epoch == 3, nil
}

func (s saved) HasFinalSnapshot(_ context.Context, bucket, _ string, epoch int64) (bool, error) {
	return s.final && bucket == "uid-b" && epoch == 3, nil
}

// Who gets back a shoot that another has taken over, and never begun, has the newest data (docs/ownership.md#o10). It
// is removed when it is in the bucket, and the restore begins with that.
func TestWhatIsLeftHereEndsBeforeItGoes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		owner   string
		buckets saved // before
		asleep  bool  // its etcd
		noGate  bool  // nobody can be asked: there is no Service
		silent  bool  // its guard says nothing
		refuses bool  // its guard is well, and does not say that it has ended
		noCA    bool  // the gardenlet cannot ask: it has no certificate
		empty   bool  // and there are no backups
		cutOff  bool  // the run is over while it waits
		down    bool  // DNS
		missing bool  // the ShootState

		asked, kept bool
		events      eventLog
		err         error
		incomplete  bool
	}{
		"it ends":                       {owner: "c", asked: true},
		"it does not run":               {owner: "c", asleep: true},
		"its final snapshot is there":   {owner: "c", buckets: saved{final: true}},
		"a newer epoch has begun":       {owner: "c", buckets: saved{newer: "uid-a"}},
		"it says nothing":               {owner: "c", silent: true, asked: true, events: eventLog{"s EndOfEpochUnconfirmed"}},
		"it says nothing, and is alone": {owner: "c", silent: true, empty: true, asked: true, kept: true, incomplete: true},
		"it refuses":                    {owner: "c", refuses: true, asked: true, kept: true, err: errNotEnded},
		"the gardenlet cannot ask":      {owner: "c", noCA: true, kept: true},
		"nobody can be asked":           {owner: "c", noGate: true, events: eventLog{"s EndOfEpochUnconfirmed"}},
		"it is cut off":                 {owner: "c", cutOff: true, asked: true, kept: true, err: context.Canceled},
		"the state is not whole":        {owner: "c", missing: true, kept: true, incomplete: true},
		"it is not over":                {owner: "b", kept: true},
		"nobody knows who the owner is": {owner: "c", down: true, kept: true, err: ownershiptest.ErrDown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cutOff := context.WithCancel(t.Context())
			defer cutOff()
			shoot := forced(withWorkers(stranded("s", "b", "b", "Restore", "Processing")))
			here := leftBehind()
			for i := range here {
				switch object := here[i].(type) {
				case *appsv1.StatefulSet:
					if c.asleep {
						object.Spec.Replicas = ptr.To[int32](0)
					}
				case *corev1.Service:
					if c.noGate {
						object.Name = "another"
					}
				}
			}
			if c.noCA {
				here = slices.DeleteFunc(here, func(o client.Object) bool { return o.GetName() == "ca-etcd" })
			}
			garden, owners, events := newGarden(t, "True", shoot), ownedBy(c.owner, 4), &eventLog{}
			if c.missing {
				incomplete["no ShootState"].spoil(t, garden, shoot)
			}
			owners.decision.Down(c.down)
			if c.buckets.shelves = (shelves{}); !c.asked {
				c.buckets.shelves["uid-a"] = nil
			}
			if c.owner == "b" {
				c.buckets.shelves["uid-b"] = rot{errors.New("damaged")} // its etcd is restored: it does not matter any more
			}
			factory := newFactory(t, garden, owners, nil, here...)
			factory.Bucket = c.buckets
			etcd, asked := etcdOf("3"), false
			hasEtcd := func() bool {
				err := factory.Seed.Get(t.Context(), client.ObjectKeyFromObject(etcd), etcd)
				if client.IgnoreNotFound(err) != nil {
					t.Fatal(err)
				}
				return !apierrors.IsNotFound(err)
			}
			release := epochEnd(func(epoch int64) error {
				if asked = true; epoch != 3 || !hasEtcd() {
					t.Errorf("epoch %d is asked, and its etcd is there: %t", epoch, hasEtcd())
				}
				if !c.empty {
					c.buckets.shelves["uid-a"] = nil // its final snapshot
				}
				switch {
				case c.cutOff:
					cutOff()
					return context.Canceled
				case c.silent:
					return fmt.Errorf("of which the guard says nothing: %w", validity.ErrSilent)
				case c.refuses:
					return errNotEnded
				}
				return nil
			})
			o, err := factory.Operation(t.Context(), logr.Discard(), client.ObjectKeyFromObject(shoot))
			if err != nil {
				t.Fatal(err)
			}
			o.Events = events
			_, err = (&Flows{Release: release}).prepareRestore(ctx, o)
			as := errors.Is(err, c.err)
			if c.noCA {
				as = apierrors.IsNotFound(err)
			}
			if _, is := errors.AsType[*IncompleteError](err); is != c.incomplete || !is && !as {
				t.Errorf("got %v, want %v; that something is missing: %t", err, c.err, c.incomplete)
			}
			if asked != c.asked || hasEtcd() != c.kept {
				t.Errorf("its end was asked for: %t, want %t; it is kept: %t, want %t", asked, c.asked, hasEtcd(), c.kept)
			}
			if diff := cmp.Diff(c.events, *events); diff != "" && len(c.events)+len(*events) > 0 {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}
