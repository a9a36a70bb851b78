package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"
)

// copyPoll is how often Copy looks for the final snapshot it waits for.
const copyPoll = 250 * time.Millisecond

// copiesAtOnce bounds the objects on their way: most are small, so that it is the round trips that count.
const copiesAtOnce = 8

// CopyOptions of Copy.
type CopyOptions struct {
	Source, Target Bucket
	// Epoch of the new owner, whose manifest the copy makes.
	Epoch int64
	// FinalOf is the epoch whose final snapshot to wait for; 0 waits for none.
	FinalOf int64
	// FinalTimeout bounds that wait. RequireFinal makes its end an error; else what is there is copied (SPEC 2.7).
	FinalTimeout time.Duration
	RequireFinal bool
	// LastGood leaves out what is missing or damaged, for a restore that may do without; else it is an error.
	LastGood bool
	Clock    clock.Clock
	Log      logr.Logger
}

// NoFinalError says that the final snapshot of an epoch has not come.
type NoFinalError struct {
	Epoch  int64
	Waited time.Duration
}

func (e *NoFinalError) Error() string {
	return fmt.Sprintf("no final snapshot of epoch %d within %v", e.Epoch, e.Waited)
}

// Copy copies what the new epoch starts from into the target, each object verified by its digest, and then fixes it there
// in a manifest: an epoch with a manifest has all that it names, so that whoever comes next can start from it. It may be
// repeated: what has been copied stays.
func Copy(ctx context.Context, o CopyOptions) (Manifest, error) {
	if err := waitFinal(ctx, o); err != nil {
		return Manifest{}, err
	}
	manifest, made, err := planManifest(ctx, o.Source, o.Target, o.Epoch)
	if err != nil {
		return Manifest{}, err
	}
	damaged, err := copyObjects(ctx, o, manifest.Objects)
	if err != nil || made {
		return manifest, err
	}
	manifest.Objects, manifest.LeftOut = withoutDamaged(manifest.Objects, damaged)
	return createManifest(ctx, o.Target, manifest)
}

// copyObjects copies what is not there yet, and returns what is damaged when that may be left out.
func copyObjects(ctx context.Context, o CopyOptions, objects []Object) (damaged []Object, err error) {
	missing, err := missingIn(ctx, o.Target, objects)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(copiesAtOnce)
	for _, object := range missing {
		group.Go(func() error {
			err := copyObject(ctx, o, object)
			if _, is := errors.AsType[*DamageError](err); is && o.LastGood {
				o.Log.Error(err, "A backup object is left out of the copy")
				mu.Lock()
				defer mu.Unlock()
				damaged = append(damaged, object)
				return nil
			}
			return err
		})
	}
	return damaged, group.Wait()
}

// withoutDamaged leaves out what is damaged, and the deltas behind a damaged delta: nothing continues there, unless a full
// snapshot begins anew between them.
func withoutDamaged(objects, damaged []Object) (kept, leftOut []Object) {
	for _, object := range objects {
		if slices.ContainsFunc(damaged, func(d Object) bool { return d == object || isCutOff(object, d, objects, damaged) }) {
			leftOut = append(leftOut, object)
		} else {
			kept = append(kept, object)
		}
	}
	return kept, leftOut
}

func isCutOff(object, gap Object, objects, damaged []Object) bool {
	if gap.Kind != Delta || object.Kind != Delta || object.First <= gap.First {
		return false
	}
	return !slices.ContainsFunc(objects, func(full Object) bool {
		return full.Kind == Full && full.Last >= gap.Last && full.Last < object.Last && !slices.Contains(damaged, full)
	})
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

func copyObject(ctx context.Context, o CopyOptions, object Object) error {
	body, err := openVerified(ctx, o.Source, object)
	if err != nil {
		return err
	}
	defer body.Close()
	err = o.Target.Create(ctx, object.Key(), body)
	switch {
	case body.Damage() != nil:
		return body.Damage()
	case errors.Is(err, ErrExists):
		return nil
	}
	return err
}
