package backup_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/etcd/etcdtest"
)

// slowBucket holds up the creation of full snapshots, final ones or others, until release is closed or nobody waits for
// them.
type slowBucket struct {
	backup.Bucket
	final   bool
	release chan struct{}
	begun   atomic.Int32
}

func (b *slowBucket) Create(ctx context.Context, key string, content io.Reader) error {
	if object, _ := backup.ParseKey(key); object.Kind == backup.Full && object.Final == b.final {
		b.begun.Add(1)
		select {
		case <-b.release:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return b.Bucket.Create(ctx, key, content)
}

func TestTheFinalSnapshotDoesNotQueueBehindAnother(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, t.TempDir())
	bucket := &slowBucket{Bucket: &etcdtest.Bucket{}, release: make(chan struct{})}
	s, _ := sidecar(t, etcd, bucket, 1)
	eventually(t, "the first full snapshot to be stuck", func() bool { return bucket.begun.Load() > 0 })
	if err := <-finally(t.Context(), s); err != nil {
		t.Errorf("the final snapshot ended with %v", err)
	}
}

// finally asks for the final snapshot, and waits for no more than 30 s.
func finally(ctx context.Context, s *backup.Sidecar) <-chan error {
	ended := make(chan error, 2)
	go func() {
		final, err := s.Final(ctx)
		if err == nil && !final.Final {
			err = fmt.Errorf("%s is not final", final.Key())
		}
		ended <- err
	}()
	time.AfterFunc(30*time.Second, func() { ended <- errors.New("nothing, after 30 s") })
	return ended
}

// A guard asks with a deadline: over a slow line a snapshot takes longer, and would never get there if it began anew
// each time.
func TestTheFinalSnapshotGoesOnWhenNobodyWaitsForIt(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, t.TempDir())
	bucket := &slowBucket{Bucket: &etcdtest.Bucket{}, final: true, release: make(chan struct{})}
	s, _ := sidecar(t, etcd, bucket, 1)
	saved(t, s, revisionOf(t, etcd.Client))
	first, giveUp := context.WithCancel(t.Context())
	ended := finally(first, s)
	eventually(t, "the upload to begin", func() bool { return bucket.begun.Load() == 1 })
	giveUp()
	second, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := <-finally(second, s); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who asks again gets %v", err)
	}
	close(bucket.release)
	if err := <-ended; err != nil {
		t.Errorf("the upload ended with %v", err)
	}
	if err := <-finally(t.Context(), s); err != nil || bucket.begun.Load() != 1 {
		t.Errorf("it has begun %d times, and ended with %v", bucket.begun.Load(), err)
	}
}

// The bucket is away when the epoch ends: a sidecar that ended with it would be started again later each time.
func TestTheSidecarOutlivesAFinalSnapshotThatDoesNotGetThere(t *testing.T) {
	t.Parallel()
	for name, begun := range map[string]bool{"a delta waits for the bucket": true,
		"it has not heard of the bucket yet": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			etcd := etcdtest.Start(t, t.TempDir())
			bucket := &etcdtest.Bucket{}
			bucket.Down(!begun)
			s, stop := sidecar(t, etcd, bucket, 1, func(o *backup.Options) { o.DeltaInterval = time.Hour })
			if begun {
				saved(t, s, revisionOf(t, etcd.Client))
			}
			bucket.Down(true)
			if _, err := put(t.Context(), etcd.Client, "/registry/a", "one")(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the sidecar to meet the bucket", func() bool { return begun || s.Latest().Error != "" })
			for range 2 {
				if err := <-finally(t.Context(), s); !errors.Is(err, etcdtest.ErrBucketDown) {
					t.Errorf("without a bucket the final snapshot ended with %v", err)
				}
			}
			bucket.Down(false)
			if err := <-finally(t.Context(), s); err != nil {
				t.Errorf("with a bucket the final snapshot ended with %v", err)
			}
			stop() // says with what it has ended
		})
	}
}
