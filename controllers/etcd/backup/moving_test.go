package backup_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/etcd/etcdtest"
)

// slowly passes content in pieces of a KiB, each after a pause, and stands still after so many (none: never).
type slowly struct {
	content io.Reader
	pause   time.Duration
	until   int
	gone    <-chan struct{} // when nobody wants it any more
	pieces  int
}

func (s *slowly) Read(p []byte) (int, error) {
	if s.pieces++; s.until > 0 && s.pieces > s.until {
		<-s.gone
		return 0, errors.New("cut")
	}
	time.Sleep(s.pause)
	return s.content.Read(p[:min(len(p), 1024)])
}

func (*slowly) Close() error { return nil }

// slowCloud takes and gives objects slowly, or stands still after so many pieces; without a pause it does not answer at
// all.
type slowCloud struct {
	pause time.Duration
	until int
	kept  string
}

func (c *slowCloud) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.pause == 0 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	pace := func(content io.Reader) *slowly {
		return &slowly{content: content, pause: c.pause, until: c.until, gone: r.Context().Done()}
	}
	if r.Method == http.MethodPut {
		var taken strings.Builder
		if _, err := io.Copy(&taken, pace(r.Body)); err != nil {
			return nil, err
		}
		c.kept = taken.String()
	}
	sum := sha256.Sum256([]byte(c.kept))
	object, err := json.Marshal(cloud.Object{Key: "key", Digest: "sha256:" + hex.EncodeToString(sum[:])})
	if err != nil {
		return nil, err
	}
	answer := &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Header: http.Header{}, Request: r}
	answer.Header.Set(cloud.HeaderObject, string(object))
	answer.Body = io.NopCloser(bytes.NewReader(object))
	if r.Method == http.MethodPost { // a batch of one call, with a sign of life in each pause
		answer.Body = pace(strings.NewReader(strings.Repeat(" ", 20*1024) + `{"items": [null]}`))
	}
	if r.Method == http.MethodGet {
		answer.Body = pace(strings.NewReader(c.kept))
	}
	return answer, nil
}

func (c *slowCloud) bucket(t *testing.T) backup.CloudBucket {
	t.Helper()
	client, err := cloud.New(&rest.Config{Host: "http://cloud.test", Transport: c}, cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return backup.CloudBucket{Content: client.Bucket("backups")}
}

func download(ctx context.Context, bucket backup.Bucket) (string, error) {
	body, err := bucket.Get(ctx, "key")
	if err != nil {
		return "", err
	}
	var content strings.Builder
	_, err = io.Copy(&content, body)
	return content.String(), errors.Join(err, body.Close())
}

// How long a call of the bucket takes says nothing. That nothing moves any more does.
func TestACallOfTheBucketMayTakeAsLongAsItMoves(t *testing.T) {
	t.Parallel()
	const pause, stall = 4 * time.Minute, 5 * time.Minute
	content := strings.Repeat("0123456789abcdef", 64*20) // 20 pieces
	create := func(ctx context.Context, b backup.Bucket) error {
		return b.Create(ctx, "key", strings.NewReader(content))
	}
	get := func(ctx context.Context, b backup.Bucket) error {
		got, err := download(ctx, b)
		if err == nil && got != content {
			err = errors.New("it is not what was kept")
		}
		return err
	}
	copied := func(ctx context.Context, b backup.Bucket) error {
		results, err := b.Take(ctx, b, []backup.Object{{Epoch: 1, Kind: backup.Full, Last: 1}})
		return errors.Join(append(results, err)...)
	}
	for name, c := range map[string]struct {
		cloud   slowCloud
		call    func(context.Context, backup.Bucket) error
		stalled bool
		takes   time.Duration // 0: longer than it may stand still
	}{
		"slow upload":     {slowCloud{pause: pause}, create, false, 21 * pause},
		"slow download":   {slowCloud{pause: pause, kept: content}, get, false, 21 * pause},
		"stuck upload":    {slowCloud{pause: pause, until: 10}, create, true, 10*pause + stall},
		"stuck download":  {slowCloud{pause: pause, until: 10, kept: content}, get, true, 10*pause + stall},
		"slow copy":       {slowCloud{pause: pause}, copied, false, 0},
		"stuck copy":      {slowCloud{pause: pause, until: 10}, copied, true, 10*pause + stall},
		"silent upload":   {slowCloud{}, create, true, stall},
		"silent download": {slowCloud{}, get, true, stall},
		"silent list": {slowCloud{}, func(ctx context.Context, b backup.Bucket) error {
			_, err := b.List(ctx, "")
			return err
		}, true, time.Minute},
		"silent deletion": {slowCloud{}, func(ctx context.Context, b backup.Bucket) error {
			return b.Delete(ctx, "key")
		}, true, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
				defer cancel()
				begin := time.Now()
				err := c.call(ctx, c.cloud.bucket(t))
				if errors.Is(err, backup.ErrStalled) != c.stalled || !c.stalled && err != nil {
					t.Errorf("got %v, want stalled: %t", err, c.stalled)
				}
				if took := time.Since(begin); took != c.takes && (c.takes > 0 || took < 2*stall) {
					t.Errorf("it took %v, want %v", took, c.takes)
				}
			})
		})
	}
}

// stuckEtcd begins a snapshot and does not go on.
type stuckEtcd struct{ clientv3.Maintenance }

func (stuckEtcd) Snapshot(ctx context.Context) (io.ReadCloser, error) {
	return &slowly{content: strings.NewReader(strings.Repeat("x", 10_000)), pause: time.Second, until: 3,
		gone: ctx.Done()}, nil
}

func TestASnapshotOfAnEtcdThatStandsStillIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := backup.NewSidecar(backup.Options{
			Client: &clientv3.Client{Maintenance: stuckEtcd{}}, Bucket: &etcdtest.Bucket{}, Epoch: 1, TempDir: t.TempDir(),
			Clock: clock.RealClock{},
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := s.Full(ctx); err == nil || ctx.Err() != nil {
			t.Errorf("the snapshot ended with %v", err)
		}
		if _, err := s.Full(ctx); !errors.Is(err, backup.ErrStalled) {
			t.Errorf("the next snapshot ended with %v", err)
		}
	})
}
