package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
)

// Manifest is what an epoch starts from: the objects of older epochs, with their digests (docs/ownership.md#o7). It is
// created once, before the epoch's first answer, and never changed.
type Manifest struct {
	Epoch int64 `json:"epoch"`
	// From is the epoch whose backups were taken over; 0 if no epoch has ever started.
	From    int64    `json:"from"`
	Objects []Object `json:"objects"`
	// LeftOut was damaged, or behind what was damaged or missing: what only it had is lost.
	LeftOut []Object `json:"leftOut,omitempty"`
}

// plan of a manifest.
type plan struct {
	Manifest
	// made: it is there already.
	made bool
	// behindFinal is what there is besides the final snapshot that the manifest names, for who must do without that.
	behindFinal []Object
}

// choices are the objects to start from, the best first.
func (p plan) choices() [][]Object { return [][]Object{p.Objects, p.behindFinal} }

// Final reports whether the epoch starts from a final snapshot, so that nothing acknowledged is missing.
func (m Manifest) Final() bool {
	chains := chainsOf(m.Objects)
	return len(chains) > 0 && chains[0][0].Final && chains[0][0].Epoch == m.From
}

// SupersededError says that a newer epoch has made its manifest.
type SupersededError struct{ Epoch, By int64 }

func (e *SupersededError) Error() string {
	return fmt.Sprintf("epoch %d is over: epoch %d has taken its backups", e.Epoch, e.By)
}

// EndedError says that an epoch has its final snapshot: it is not served again (docs/ownership.md#o3). Who wants to go
// on needs a new one (docs/ownership.md#o11).
type EndedError struct{ Epoch int64 }

func (e *EndedError) Error() string {
	return fmt.Sprintf("epoch %d is over: its final snapshot is in the bucket", e.Epoch)
}

const manifestPrefix = "epochs/"

var manifestPattern = regexp.MustCompile(`^epochs/(\d+)\.json$`)

func manifestKey(epoch int64) string { return fmt.Sprintf("%s%d.json", manifestPrefix, epoch) }

// Epochs lists the epochs that have a manifest, lowest first.
func Epochs(ctx context.Context, bucket Bucket) ([]int64, error) {
	keys, err := bucket.List(ctx, manifestPrefix)
	if err != nil {
		return nil, err
	}
	var epochs []int64
	for _, key := range keys {
		if m := manifestPattern.FindStringSubmatch(key); m != nil {
			if epoch, err := strconv.ParseInt(m[1], 10, 64); err == nil {
				epochs = append(epochs, epoch)
			}
		}
	}
	slices.Sort(epochs)
	return epochs, nil
}

// Newest is the highest epoch that has a manifest; 0 if none has.
func Newest(ctx context.Context, bucket Bucket) (int64, error) {
	epochs, err := Epochs(ctx, bucket)
	if err != nil || len(epochs) == 0 {
		return 0, err
	}
	return epochs[len(epochs)-1], nil
}

// ReadManifest of an epoch; ErrNotFound if it has none.
func ReadManifest(ctx context.Context, bucket Bucket, epoch int64) (Manifest, error) {
	body, err := bucket.Get(ctx, manifestKey(epoch))
	if err != nil {
		return Manifest{}, err
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	if err != nil {
		return Manifest{}, fmt.Errorf("read the manifest of epoch %d: %w", epoch, err)
	}
	var manifest Manifest
	if err := json.Unmarshal(content, &manifest); err != nil || manifest.Epoch != epoch {
		return Manifest{}, &DamageError{Key: manifestKey(epoch),
			Err: errors.Join(errors.New("it is not the manifest of its epoch"), err)}
	}
	return manifest, nil
}

// EnsureManifest returns the manifest of the epoch. If there is none yet, it chooses what source, or target itself, has
// of the newest older epoch and creates the manifest in target; source and target may be the same. Of several callers
// one creates it, and all get the same.
func EnsureManifest(ctx context.Context, source, target Bucket, epoch int64) (Manifest, error) {
	source, target = listed(source, target)
	planned, err := planManifest(ctx, source, target, epoch)
	if err != nil || planned.made {
		return planned.Manifest, err
	}
	return createManifest(ctx, target, planned.Manifest)
}

// planManifest is the manifest that the epoch has, or the one it would get.
func planManifest(ctx context.Context, source, target Bucket, epoch int64) (plan, error) {
	for _, bucket := range each(target, source) {
		if err := refuseIfSuperseded(ctx, bucket, epoch); err != nil {
			return plan{}, err
		}
	}
	manifest, err := ReadManifest(ctx, target, epoch)
	if !errors.Is(err, ErrNotFound) {
		return plan{Manifest: manifest, made: err == nil}, err
	}
	return inherit(ctx, source, target, epoch)
}

// each are two buckets that may be the same, in that order.
func each(first, second Bucket) []Bucket { return slices.Compact([]Bucket{first, second}) }

// createManifest creates it, unless somebody has: then it is that one.
func createManifest(ctx context.Context, target Bucket, manifest Manifest) (Manifest, error) {
	content, err := json.Marshal(manifest)
	if err != nil {
		return Manifest{}, fmt.Errorf("encode the manifest of epoch %d: %w", manifest.Epoch, err)
	}
	err = target.Create(ctx, manifestKey(manifest.Epoch), bytes.NewReader(content))
	if errors.Is(err, ErrExists) {
		return ReadManifest(ctx, target, manifest.Epoch)
	}
	return manifest, err
}

func refuseIfSuperseded(ctx context.Context, bucket Bucket, epoch int64) error {
	newest, err := Newest(ctx, bucket)
	if err != nil {
		return err
	}
	if newest > epoch {
		return &SupersededError{Epoch: epoch, By: newest}
	}
	return nil
}

// inherit takes the chain of the highest epoch below that has a manifest in either bucket: an epoch without one has
// never answered.
func inherit(ctx context.Context, source, target Bucket, epoch int64) (plan, error) {
	planned := plan{Manifest: Manifest{Epoch: epoch}}
	var owner Bucket
	for _, bucket := range each(source, target) {
		epochs, err := Epochs(ctx, bucket)
		if err != nil {
			return plan{}, err
		}
		for _, older := range epochs {
			if older < epoch && older > planned.From {
				planned.From, owner = older, bucket
			}
		}
	}
	if planned.From == 0 {
		return planned, nil
	}
	objects, err := objectsFor(ctx, owner, planned.From)
	planned.Objects = objects
	if chains := chainsOf(objects); len(chains) > 0 && chains[0][0].Final {
		planned.Objects = chains[0] // nothing else is needed
		planned.behindFinal = slices.DeleteFunc(objects, func(o Object) bool { return o.Final })
	}
	return planned, err
}

// objectsFor are the objects of which a restore of the epoch's state chooses: its own; if it has made no backup yet,
// those it started from. Deltas without a full snapshot are a DamageError: an epoch begins its backups with one.
func objectsFor(ctx context.Context, bucket Bucket, epoch int64) ([]Object, error) {
	return ownOr(ctx, bucket, epoch, func() (Manifest, error) { return ReadManifest(ctx, bucket, epoch) })
}

// ownOr is objectsFor with the manifest of the epoch, for who may have read that.
func ownOr(ctx context.Context, bucket Bucket, epoch int64, read func() (Manifest, error)) ([]Object, error) {
	own, err := ObjectsOf(ctx, bucket, epoch)
	if err != nil {
		return nil, err
	}
	if len(own) == 0 {
		manifest, err := read()
		return manifest.Objects, err
	}
	if len(chainsOf(own)) == 0 {
		return nil, noFullSnapshot(own)
	}
	return own, nil
}

// noFullSnapshot is the damage of deltas that continue no full snapshot.
func noFullSnapshot(deltas []Object) error {
	return &DamageError{
		Key: fmt.Sprintf("%sfull-…", epochPrefix(deltas[0].Epoch)),
		Err: fmt.Errorf("%w, though deltas continue it from revision %d on", ErrNotFound, deltas[0].First),
	}
}

// ErrNoBackups says that a bucket has nothing that could be restored.
var ErrNoBackups = errors.New("there are no backups to restore from")

// Check returns an error unless the bucket has what a restore begins with: an epoch that has started, and a full
// snapshot of it or of those before it. Whether that can be read is for Readable to say.
func Check(ctx context.Context, bucket Bucket) error {
	bucket, _ = listed(bucket, bucket)
	newest, err := Newest(ctx, bucket)
	if err != nil {
		return err
	}
	if newest == 0 {
		return fmt.Errorf("%w: no epoch has a manifest", ErrNoBackups)
	}
	objects, err := objectsFor(ctx, bucket, newest)
	if err != nil {
		return err
	}
	if len(chainsOf(objects)) == 0 {
		return fmt.Errorf("%w: epoch %d has no full snapshot, nor had what it started from", ErrNoBackups, newest)
	}
	return nil
}

// Readable returns what is damaged, as Copy does, if nothing else is left for a Copy to begin with: no full snapshot is
// whole. It reads the newest first, and no more of them than it must.
func Readable(ctx context.Context, bucket Bucket) error {
	bucket, _ = listed(bucket, bucket)
	planned, err := inherit(ctx, bucket, bucket, math.MaxInt64)
	if err != nil {
		return err
	}
	var damage error
	for _, objects := range planned.choices() {
		chains := chainsOf(objects)
		if len(objects) > 0 && len(chains) == 0 {
			damage = errors.Join(damage, noFullSnapshot(objects))
		}
		for _, chain := range chains {
			err := verify(ctx, bucket, chain[0])
			if _, is := errors.AsType[*DamageError](err); !is {
				return err
			}
			damage = errors.Join(damage, err)
		}
	}
	return damage
}

// Purge removes everything from the bucket.
func Purge(ctx context.Context, bucket Bucket) error {
	keys, err := bucket.List(ctx, "")
	if err != nil {
		return err
	}
	return bucket.Delete(ctx, keys...)
}
