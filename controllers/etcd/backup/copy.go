package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"
)

// copyPoll is how often Copy looks for the final snapshot it waits for.
const copyPoll = 250 * time.Millisecond

// readsAtOnce bounds the objects on their way: most are small, so that it is the round trips that count.
const readsAtOnce = 8

// CopyOptions of Copy.
type CopyOptions struct {
	// Source may equal Target: then nothing is copied, and all else is the same.
	Source, Target Bucket
	// Epoch of the new owner, whose manifest the copy makes.
	Epoch int64
	// FinalOf is the epoch whose final snapshot to wait for; 0 waits for none.
	FinalOf int64
	// FinalTimeout bounds that wait. RequireFinal makes its end an error; else what is there is copied
	// (docs/specification/migration.md#spec-2-7).
	FinalTimeout time.Duration
	RequireFinal bool
	// LastGood leaves out what is missing or damaged, for a restore that may do without; else it is an error.
	LastGood bool
	Clock    clock.Clock
	Log      logr.Logger
}

func (o CopyOptions) inPlace() bool { return o.Source == o.Target }

// NoFinalError says that the final snapshot of an epoch has not come.
type NoFinalError struct {
	Epoch  int64
	Waited time.Duration
}

func (e *NoFinalError) Error() string {
	return fmt.Sprintf("no final snapshot of epoch %d within %v", e.Epoch, e.Waited)
}

// Copy copies what the new epoch starts from into the target, each object verified by its digest, and then fixes it
// there in a manifest: an epoch with a manifest has all that it names, so that whoever comes next can start from it. It
// may be repeated: what has been copied stays.
func Copy(ctx context.Context, o CopyOptions) (Manifest, error) {
	if err := waitFinal(ctx, o); err != nil {
		return Manifest{}, err
	}
	o.Source, o.Target = listed(o.Source, o.Target)
	planned, err := planManifest(ctx, o.Source, o.Target, o.Epoch)
	if err != nil {
		return Manifest{}, err
	}
	if planned.made {
		if !o.inPlace() {
			_, err = copyObjects(ctx, o, planned.Objects)
		}
		return planned.Manifest, err
	}
	manifest, err := copyUsable(ctx, o, planned)
	if err != nil {
		return Manifest{}, err
	}
	return createManifest(ctx, o.Target, manifest)
}

// copyUsable copies what is whole, and leaves out of the manifest what is not, and what cannot be reached without it:
// etcd takes the newest chain of a manifest as it is. Without any full snapshot that is whole there is nothing to begin
// with, and the damage is an error: etcd would begin empty.
func copyUsable(ctx context.Context, o CopyOptions, planned plan) (Manifest, error) {
	manifest := planned.Manifest
	if len(planned.Objects) == 0 {
		return manifest, nil
	}
	var damage error
	for _, objects := range planned.choices() {
		chains := chainsOf(objects)
		if len(objects) > 0 && len(chains) == 0 {
			damage = errors.Join(damage, noFullSnapshot(objects))
			continue
		}
		if len(chains) > 0 && !o.LastGood {
			if err := checkChain(chains[0]); err != nil {
				return Manifest{}, err
			}
		}
		damaged, err := copyObjects(ctx, o, objects)
		if err != nil {
			return Manifest{}, err
		}
		kept, leftOut := withoutDamaged(objects, damaged)
		manifest.Objects, manifest.LeftOut = kept, append(manifest.LeftOut, leftOut...)
		if len(chainsOf(kept)) > 0 {
			return manifest, nil
		}
		for _, object := range objects {
			damage = errors.Join(damage, damaged[object])
		}
	}
	return Manifest{}, damage
}

// copyObjects copies what is not there yet, and returns what is damaged, and how, when that may be left out. What is
// copied is verified on its way; in place there is no way, and all is verified where it is.
func copyObjects(ctx context.Context, o CopyOptions, objects []Object) (map[Object]error, error) {
	results := make([]error, len(objects))
	if o.inPlace() {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(readsAtOnce)
		for i, object := range objects {
			group.Go(func() error {
				results[i] = verify(ctx, o.Source, object)
				if _, is := errors.AsType[*DamageError](results[i]); is && o.LastGood {
					return nil
				}
				return results[i]
			})
		}
		if err := group.Wait(); err != nil {
			return nil, err
		}
	} else {
		var err error
		if objects, err = missingIn(ctx, o.Target, objects); err != nil || len(objects) == 0 {
			return nil, err
		}
		if results, err = o.Target.Take(ctx, o.Source, objects); err != nil {
			return nil, err
		}
	}
	damaged := map[Object]error{}
	for i, err := range results {
		if _, is := errors.AsType[*DamageError](err); is && o.LastGood {
			o.Log.Error(err, "A backup object is left out of the copy")
			damaged[objects[i]] = err
		} else if err != nil && !errors.Is(err, ErrExists) {
			return nil, err
		}
	}
	return damaged, nil
}

// withoutDamaged leaves out what is damaged, and the deltas that nothing continues to: behind one that is damaged or
// not there, unless a full snapshot begins anew between them.
func withoutDamaged(objects []Object, damaged map[Object]error) (kept, leftOut []Object) {
	whole := slices.DeleteFunc(slices.Clone(objects), func(object Object) bool { return damaged[object] != nil })
	chains := chainsOf(whole)
	for _, object := range objects {
		if damaged[object] != nil || object.Kind == Delta && isCutOff(object, chains) {
			leftOut = append(leftOut, object)
		} else {
			kept = append(kept, object)
		}
	}
	return kept, leftOut
}

// isCutOff says whether a delta is behind the first full snapshot, and before the first gap behind none.
func isCutOff(delta Object, chains [][]Object) bool {
	behind := false
	for _, chain := range chains {
		if part := beforeGap(chain); delta.Last > chain[0].Last {
			if behind = true; delta.Last <= part[len(part)-1].Last {
				return false
			}
		}
	}
	return behind
}

// missingIn are the objects that the bucket does not have yet.
func missingIn(ctx context.Context, bucket Bucket, objects []Object) ([]Object, error) {
	there := map[int64][]Object{}
	var missing []Object
	for _, object := range objects {
		known, listed := there[object.Epoch]
		if !listed {
			var err error
			if known, err = ObjectsOf(ctx, bucket, object.Epoch); err != nil {
				return nil, err
			}
			there[object.Epoch] = known
		}
		if !slices.Contains(known, object) {
			missing = append(missing, object)
		}
	}
	return missing, nil
}

func waitFinal(ctx context.Context, o CopyOptions) error {
	if o.FinalOf == 0 {
		return nil
	}
	begin := o.Clock.Now()
	for {
		final, err := FinalSnapshot(ctx, o.Source, o.FinalOf)
		if final != nil {
			return nil
		}
		waited := o.Clock.Since(begin)
		if waited >= o.FinalTimeout {
			if err == nil && !o.RequireFinal {
				o.Log.Info("No final snapshot has come, copying what is there", "epoch", o.FinalOf, "waited", waited)
				return nil
			}
			return errors.Join(&NoFinalError{Epoch: o.FinalOf, Waited: waited}, err)
		}
		timer := o.Clock.NewTimer(min(copyPoll, o.FinalTimeout-waited))
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("wait for the final snapshot of epoch %d: %w", o.FinalOf, ctx.Err())
		case <-timer.C():
		}
	}
}
