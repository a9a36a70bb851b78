package etcd

import (
	"context"
	"fmt"

	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/etcd/datadir"
)

// An unowned etcd, such as the garden's, is never moved: nobody else can have its data, and no guard fences it. Whoever
// restores it makes sure that it has ended. Its epochs count its restores, so that what a former self uploads late
// belongs to no chain (docs/ownership.md#o7).

// serveUnowned backs it up until ctx is done. Nothing restarts the program, so it goes on after an error.
func serveUnowned(ctx context.Context, dir datadir.Dir, o backup.Options) error {
	log := o.Log
	o.MayEnd = func() error { return backup.ErrNotFenced }
	o.MayDelete = func() bool { return true }
	for {
		epoch, err := beginUnowned(ctx, o.Bucket, dir)
		if err == nil {
			o.Epoch, o.Log = epoch, log.WithValues("epoch", epoch)
			err = backup.NewSidecar(o).Run(ctx)
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was asked to end
		}
		if permanent(err) {
			return err
		}
		log.Error(err, "The backup begins anew")
		timer := o.Clock.NewTimer(retryPause)
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C():
		}
	}
}

// beginUnowned is the epoch of data that are here: the one that a restore has begun, or the first. It is a
// SupersededError if a later epoch has its manifest: the data were restored elsewhere.
func beginUnowned(ctx context.Context, bucket backup.Bucket, dir datadir.Dir) (int64, error) {
	marker, err := dir.ReadEpoch()
	if err != nil {
		return 0, err
	}
	first := marker.Epoch == 0
	if first {
		marker.Epoch = 1
	}
	if _, err := backup.EnsureManifest(ctx, bucket, bucket, marker.Epoch); err != nil {
		return 0, fmt.Errorf("begin the backups of epoch %d: %w", marker.Epoch, err)
	}
	if first {
		return marker.Epoch, dir.WriteEpoch(marker)
	}
	return marker.Epoch, nil
}

// nextUnowned is the epoch that a restore begins: that of the data if they are here, and else one that nobody had.
// Without any backup it is backup.ErrNoBackups: an etcd that had data must not begin empty.
func nextUnowned(ctx context.Context, bucket backup.Bucket, dir datadir.Dir) (int64, error) {
	marker, err := dir.ReadEpoch()
	if err != nil || marker.Epoch > 0 {
		return marker.Epoch, err
	}
	if err := backup.Check(ctx, bucket); err != nil {
		return 0, err
	}
	newest, err := backup.Newest(ctx, bucket)
	return newest + 1, err
}
