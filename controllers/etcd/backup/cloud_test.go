package backup_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/etcd/etcdtest"
	simcloud "github.com/transplant-sim/transplant/sim/cloud"
)

// cloudBucket is a bucket of a running cloud.
func cloudBucket(t *testing.T, prefix string) backup.Bucket {
	t.Helper()
	client := startCloud(t)
	return backup.CloudBucket{Content: client.Bucket("backups"), Prefix: prefix}
}

// startCloud gives an admin's client of a running cloud with the buckets "backups" and "others".
func startCloud(t *testing.T) *cloud.Client {
	t.Helper()
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens.yaml")
	if err := os.WriteFile(tokens, []byte(`tokens: [{token: t, identity: control-planes-a, roles: [admin]}]`),
		0o600); err != nil {
		t.Fatal(err)
	}
	server, err := simcloud.Open(t.Context(), simcloud.Options{Dir: filepath.Join(dir, "cloud"), Tokens: tokens,
		Log: testr.New(t)})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewTLSServer(server.Handler())
	t.Cleanup(func() {
		web.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	client, err := cloud.New(&rest.Config{Host: web.URL, BearerToken: "t",
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"backups", "others"} {
		if _, err := client.Buckets().Create(t.Context(), &cloud.Bucket{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	return client
}

func TestBucketsKeepOneContract(t *testing.T) {
	t.Parallel()
	for name, bucket := range map[string]backup.Bucket{
		"memory": &etcdtest.Bucket{}, "cloud": cloudBucket(t, ""),
		"cloud below a prefix": cloudBucket(t, "entry--uid/etcd-main"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			if keys, err := bucket.List(ctx, "e1/"); err != nil || len(keys) != 0 {
				t.Errorf("an empty bucket lists %v: %v", keys, err)
			}
			if _, err := bucket.Get(ctx, "e1/a"); !errors.Is(err, backup.ErrNotFound) {
				t.Errorf("get of nothing: %v", err)
			}
			for _, key := range []string{"e1/b", "e1/a", "e10/a", "epochs/1.json"} {
				if err := bucket.Create(ctx, key, strings.NewReader("content of "+key)); err != nil {
					t.Fatal(err)
				}
			}
			if err := bucket.Create(ctx, "e1/a", strings.NewReader("again")); !errors.Is(err, backup.ErrExists) {
				t.Errorf("a second create: %v", err)
			}
			failure := errors.New("the source broke")
			if err := bucket.Create(ctx, "e1/half", io.MultiReader(strings.NewReader("half"),
				errorReader{failure})); !errors.Is(err, failure) {
				t.Errorf("create from a broken source: %v", err)
			}
			keys, err := bucket.List(ctx, "e1/")
			if diff := cmp.Diff([]string{"e1/a", "e1/b"}, keys); err != nil || diff != "" {
				t.Errorf("list: %v\n%s", err, diff)
			}
			body, err := bucket.Get(ctx, "e1/a")
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(body)
			if err := errors.Join(err, body.Close()); err != nil || string(content) != "content of e1/a" {
				t.Errorf("get: %q: %v", content, err)
			}
			for range 2 {
				if err := bucket.Delete(ctx, "e1/a", "e10/a"); err != nil {
					t.Errorf("delete: %v", err)
				}
			}
			keys, err = bucket.List(ctx, "")
			if diff := cmp.Diff([]string{"e1/b", "epochs/1.json"}, keys); err != nil || diff != "" {
				t.Errorf("what is left after the deletion: %v\n%s", err, diff)
			}
			if err := bucket.Delete(ctx); err != nil {
				t.Errorf("delete nothing: %v", err)
			}
		})
	}
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

// Copies have the same results in each bucket. Nothing is replaced, and what is damaged is not copied.
func TestTake_EachBucket_SaysWhatHasComeOfEachObject(t *testing.T) {
	t.Parallel()
	client := startCloud(t)
	for name, pair := range map[string][2]backup.Bucket{
		"memory": {&etcdtest.Bucket{}, &etcdtest.Bucket{}},
		"cloud": {backup.CloudBucket{Content: client.Bucket("backups"), Prefix: "e"},
			backup.CloudBucket{Content: client.Bucket("others"), Prefix: "of/it"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, target, ctx := pair[0], pair[1], t.Context()
			object := func(last int64, content string) backup.Object {
				return backup.Object{Epoch: 1, Kind: backup.Full, Last: last,
					SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(content)))}
			}
			whole, missing, damaged, there := object(1, "whole"), object(2, "missing"), object(3, "damaged"), object(4, "there")
			err := errors.Join(source.Create(ctx, whole.Key(), strings.NewReader("whole")),
				source.Create(ctx, damaged.Key(), strings.NewReader("changed")),
				source.Create(ctx, there.Key(), strings.NewReader("there")),
				target.Create(ctx, there.Key(), strings.NewReader("kept")))
			if err != nil {
				t.Fatal(err)
			}
			results, err := target.Take(ctx, source, []backup.Object{missing, damaged, there, whole})
			if err != nil || len(results) != 4 {
				t.Fatalf("%v: %v", results, err)
			}
			for i, want := range []error{backup.ErrNotFound, backup.ErrDigest, backup.ErrExists, nil} {
				if !errors.Is(results[i], want) {
					t.Errorf("copy %d: %v, want %v", i, results[i], want)
				}
				if _, damage := errors.AsType[*backup.DamageError](results[i]); damage != (i < 2) {
					t.Errorf("copy %d: %v is damage: %t", i, results[i], damage)
				}
			}
			keys, err := target.List(ctx, "")
			if diff := cmp.Diff([]string{whole.Key(), there.Key()}, keys); err != nil || diff != "" {
				t.Errorf("the target has: %v\n%s", err, diff)
			}
		})
	}
}

// If a bucket is not there, nothing is said about the objects: they are not damaged, and no copy does without them.
func TestTake_BucketIsMissing_IsNoDamage(t *testing.T) {
	t.Parallel()
	client, ctx := startCloud(t), t.Context()
	of := func(name string) backup.Bucket { return backup.CloudBucket{Content: client.Bucket(name)} }
	object := backup.Object{Epoch: 1, Kind: backup.Full, Last: 1,
		SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte("whole")))}
	if err := of("backups").Create(ctx, object.Key(), strings.NewReader("whole")); err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2]string{"target": {"none", "backups"}, "source": {"others", "none"}} {
		results, err := of(pair[0]).Take(ctx, of(pair[1]), []backup.Object{object})
		if err != nil || len(results) != 1 || !cloud.IsNoSuchBucket(results[0]) {
			t.Fatalf("no %s: %v: %v", name, results, err)
		}
		if _, damage := errors.AsType[*backup.DamageError](results[0]); damage {
			t.Errorf("no %s: %v is damage", name, results[0])
		}
	}
}

func TestSidecarAndRestoreThroughTheCloud(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, t.TempDir())
	bucket := cloudBucket(t, "entry--uid/etcd-main")
	if _, err := backup.EnsureManifest(t.Context(), bucket, bucket, 1); err != nil {
		t.Fatal(err)
	}
	s, stop := sidecar(t, etcd, bucket, 1)
	saved(t, s, revisionOf(t, etcd.Client))
	revisions, states := writeChanges(t, etcd.Client, s)
	stop()
	dir, result, err := restore(t, bucket, 2)
	last := len(revisions) - 1
	if err != nil || result.Revision != revisions[last] {
		t.Fatalf("restored %+v: %v", result, err)
	}
	if diff := cmp.Diff(states[last], stateOf(t, etcdtest.Start(t, dir).Client)); diff != "" {
		t.Error(diff)
	}
}

// The cloud keeps digests of its own, and its client is the first to see that one does not match.
func TestCopy_DamagedSourceInTheCloud_LeavesItOutAndReportsIt(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, t.TempDir())
	client := startCloud(t)
	bucket := func(name string) backup.Bucket {
		return backup.CloudBucket{Content: client.Bucket(name), Prefix: "entry--uid/etcd-main"}
	}
	source := bucket("backups")
	if _, err := backup.EnsureManifest(t.Context(), source, source, 1); err != nil {
		t.Fatal(err)
	}
	s, stop := sidecar(t, etcd, source, 1)
	saved(t, s, revisionOf(t, etcd.Client))
	revisions, _ := writeChanges(t, etcd.Client, s)
	stop()
	key := s.Latest().Delta.Key
	fault := cloud.Fault{
		Meta: cloud.Meta{ID: "rot"}, Match: cloud.Match{Kinds: []string{cloud.KindObjects},
			IDPrefix: "backups/entry--uid/etcd-main/" + key}, Effect: cloud.Effect{Damage: true},
	}
	if _, err := client.SetFault(t.Context(), fault); err != nil {
		t.Fatal(err)
	}
	for _, target := range []backup.Bucket{bucket("others"), bucket("backups")} { // the last one is the source
		options := backup.CopyOptions{Source: source, Target: target, Epoch: 2, Clock: clock.RealClock{}, Log: testr.New(t)}
		_, err := backup.Copy(t.Context(), options)
		if damage, is := errors.AsType[*backup.DamageError](err); !is || damage.Key != key {
			t.Fatalf("error is %v, want damage of %s", err, key)
		}
		options.LastGood = true
		for range 2 { // whoever repeats it gets the same
			manifest, err := backup.Copy(t.Context(), options)
			if err != nil || len(manifest.LeftOut) != 1 || manifest.LeftOut[0].Key() != key {
				t.Fatalf("left out %v: %v, want %s", manifest.LeftOut, err, key)
			}
		}
		if _, result, err := restore(t, target, 2); err != nil || result.Revision != revisions[len(revisions)-2] {
			t.Errorf("restored %+v: %v, want revision %d", result, err, revisions[len(revisions)-2])
		}
	}
}
