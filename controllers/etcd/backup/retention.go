package backup

import "context"

// removeOld deletes what no restore can need any more: in the epoch's own prefix everything before the oldest of the
// newest keep full snapshots, and, once there are that many, the objects of older epochs. Manifests stay.
func removeOld(ctx context.Context, bucket Bucket, epoch int64, keep int) error {
	own, err := ObjectsOf(ctx, bucket, epoch)
	if err != nil {
		return err
	}
	chains := chainsOf(own)
	if keep < 1 || len(chains) < keep {
		return nil
	}
	oldest := chains[keep-1][0].Last
	var old []string // keys
	for _, object := range own {
		if object.Last < oldest && !object.Final {
			old = append(old, object.Key())
		}
	}
	epochs, err := Epochs(ctx, bucket)
	if err != nil {
		return err
	}
	for _, older := range epochs {
		if older >= epoch {
			continue
		}
		objects, err := ObjectsOf(ctx, bucket, older)
		if err != nil {
			return err
		}
		for _, object := range objects {
			old = append(old, object.Key())
		}
	}
	return bucket.Delete(ctx, old...)
}
