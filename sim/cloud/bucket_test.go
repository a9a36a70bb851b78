package cloud

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/transplant-sim/transplant/api/cloud"
)

func bucketOf(t testing.TB, client *api.Client) api.BucketContent {
	t.Helper()
	must(client.Buckets().Create(t.Context(), &api.Bucket{Name: "backups"}))(t)
	return client.Bucket("backups")
}

// contents counts the files that hold contents of objects.
func contents(t *testing.T, cloud *testCloud) int {
	t.Helper()
	files := 0
	err := filepath.WalkDir(filepath.Join(cloud.dir, "objects"), func(_ string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestObjects(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "mem://"} {
		t.Run("bucket-url="+address, func(t *testing.T) {
			t.Parallel()
			cloud := start(t, Options{BucketURL: address})
			bucket, ctx := bucketOf(t, cloud.as(t, "extensions-a")), t.Context()
			big := make([]byte, 5<<20)
			rand.Read(big)
			for key, content := range map[string][]byte{
				"empty": {}, "a": []byte("x"), "etcd-main/e1/full ä?#%.gz": big, "etcd-main/e1": []byte("both a key and above one"),
			} {
				object := must(bucket.Put(ctx, key, bytes.NewReader(content), api.PutOptions{}))(t)
				if object.Size != int64(len(content)) || object.Key != key {
					t.Errorf("%q is described as %+v", key, object)
				}
				if got := must(bucket.Read(ctx, key))(t); !bytes.Equal(got, content) {
					t.Errorf("%q reads %d bytes, not the %d written", key, len(got), len(content))
				}
				if diff := cmp.Diff(object, must(bucket.Head(ctx, key))(t)); diff != "" {
					t.Errorf("%q: head differs from put: %s", key, diff)
				}
			}
			must(bucket.Put(ctx, "a", strings.NewReader("replaced"), api.PutOptions{}))(t)
			if got := must(bucket.Read(ctx, "a"))(t); string(got) != "replaced" {
				t.Errorf("replaced object reads %q", got)
			}
			if err := bucket.Delete(ctx, "a"); err != nil {
				t.Fatal(err)
			}
			wantCode(t, bucket.Delete(ctx, "a"), api.CodeNotFound)
			_, err := bucket.Read(ctx, "a")
			wantCode(t, err, api.CodeNotFound)
			for _, key := range []string{"", "/a", "a/", "a//b", "../a", "a/./b", strings.Repeat("x", 1025)} {
				if _, err := bucket.Put(ctx, key, strings.NewReader("x"), api.PutOptions{}); err == nil {
					t.Errorf("key %.20q was accepted", key)
				}
			}
			if address == "" && contents(t, cloud) != 3 {
				t.Errorf("%d contents are kept for 3 objects", contents(t, cloud))
			}
		})
	}
}

func TestObjectListing(t *testing.T) {
	t.Parallel()
	bucket, ctx := bucketOf(t, start(t, Options{}).as(t, "extensions-a")), t.Context()
	var want []string
	for i := range 25 {
		key := fmt.Sprintf("e1/delta-%03d", i)
		must(bucket.Put(ctx, key, strings.NewReader("x"), api.PutOptions{}))(t)
		want = append(want, key)
	}
	for _, key := range []string{"e0/z", "e10/a", "e2/a"} {
		must(bucket.Put(ctx, key, strings.NewReader("x"), api.PutOptions{}))(t)
	}
	var pages []int
	var keys []string
	options := api.ListOptions{Prefix: "e1/", Limit: 10}
	for {
		page := must(bucket.List(ctx, options))(t)
		pages = append(pages, len(page.Items))
		for _, object := range page.Items {
			keys = append(keys, object.Key)
		}
		if options.After = page.Next; page.Next == "" {
			break
		}
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{10, 10, 5}, pages); diff != "" {
		t.Errorf("pages: %s", diff)
	}
	all := 0
	for _, err := range bucket.All(ctx, "") {
		if err != nil {
			t.Fatal(err)
		}
		all++
	}
	if all != 28 {
		t.Errorf("walked over %d objects, want 28", all)
	}
	if page := must(bucket.List(ctx, api.ListOptions{Prefix: "e1/", After: "e2"}))(t); len(page.Items) != 0 {
		t.Errorf("behind the last key there are %v", page.Items)
	}
}

// Of many create-only puts one wins, and the object is whole and the winner's (docs/ownership.md#assumption-a7).
func TestCreateOnlyIsAtomic(t *testing.T) {
	t.Parallel()
	cloud := start(t, Options{})
	bucket, ctx := bucketOf(t, cloud.as(t, "extensions-a")), t.Context()
	// Slow enough for all racers to be at it before the first is done.
	heal := inject(t, cloud, api.Fault{Match: api.Match{Verbs: []string{api.VerbPut}},
		Effect: api.Effect{BytesPerSecond: 100 << 10}})
	const rounds, racers = 3, 12
	for round := range rounds {
		key := fmt.Sprintf("epochs/%d.json", round)
		content := func(i int) string { return strings.Repeat(fmt.Sprintf("racer %d;", i), 1000) }
		errs := make([]error, racers)
		var group sync.WaitGroup
		for i := range racers {
			group.Go(func() {
				_, errs[i] = bucket.Put(ctx, key, strings.NewReader(content(i)), api.PutOptions{CreateOnly: true})
			})
		}
		group.Wait()
		won := -1
		for i, err := range errs {
			switch {
			case err == nil && won >= 0:
				t.Fatalf("racers %d and %d both won", won, i)
			case err == nil:
				won = i
			case !api.IsAlreadyExists(err):
				t.Fatalf("racer %d: %v", i, err)
			}
		}
		if won < 0 {
			t.Fatalf("nobody won: %v", errors.Join(errs...))
		}
		if got := must(bucket.Read(ctx, key))(t); string(got) != content(won) {
			t.Fatalf("the object is not what racer %d wrote: %.30q", won, got)
		}
	}
	wantHits(t, heal, rounds*racers, rounds*racers)
	if kept := contents(t, cloud); kept != rounds {
		t.Errorf("%d contents are kept for %d objects", kept, rounds)
	}
}

// An upload that breaks off leaves nothing, and no reader ever sees a part of an object.
func TestUploadsAreWholeOrAbsent(t *testing.T) {
	t.Parallel()
	cloud := start(t, Options{})
	bucket, ctx := bucketOf(t, cloud.as(t, "extensions-a")), t.Context()
	broken := io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)), &failing{})
	if _, err := bucket.Put(ctx, "k", broken, api.PutOptions{}); !errors.Is(err, errBroken) {
		t.Errorf("upload that breaks off ends with %v", err)
	}
	_, err := bucket.Head(ctx, "k")
	wantCode(t, err, api.CodeNotFound)
	eventually(t, "the refused upload is recorded", func() bool { return len(cloud.ledgerOf(t)) == 2 })
	if kept := contents(t, cloud); kept != 0 {
		t.Errorf("%d contents are kept of an upload that broke off", kept)
	}

	old, young := bytes.Repeat([]byte("a"), 2<<20), bytes.Repeat([]byte("b"), 3<<20)
	must(bucket.Put(ctx, "k", bytes.NewReader(old), api.PutOptions{}))(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 5 {
				got, err := bucket.Read(ctx, "k")
				if err != nil || (!bytes.Equal(got, old) && !bytes.Equal(got, young)) {
					t.Errorf("reading while it is replaced: %d bytes, %v", len(got), err)
				}
			}
		})
	}
	for i := range 6 {
		must(bucket.Put(ctx, "k", bytes.NewReader([][]byte{young, old}[i%2]), api.PutOptions{}))(t)
	}
	group.Wait()
}

var errBroken = errors.New("the source broke")

type failing struct{}

func (*failing) Read([]byte) (int, error) { return 0, errBroken }

// The calls of a batch are made in their order. Each has its own result, its own entry in the ledger, and the request
// of the batch.
func TestBatch_CallsOfAllSorts_EachIsMadeAndRecordedByItself(t *testing.T) {
	t.Parallel()
	cloud := start(t, Options{})
	client, ctx := cloud.as(t, "extensions-a").WithScope(api.Scope{Shoot: "alpha", Epoch: 7}), t.Context()
	bucket := bucketOf(t, client)
	must(client.Buckets().Create(ctx, &api.Bucket{Name: "target"}))(t)
	object := must(bucket.Put(ctx, "e1/full", strings.NewReader("content"), api.PutOptions{}))(t)
	before := len(cloud.ledgerOf(t))
	from := func(key, digest string) *api.CopySource {
		return &api.CopySource{Bucket: "backups", Key: key, Digest: digest}
	}
	results := must(client.Bucket("target").Batch(ctx, []api.BatchCall{
		{Key: "none"}, {Key: "a", Copy: from("e1/full", object.Digest)}, {Key: "a", Copy: from("e1/full", object.Digest)},
		{Key: "b", Copy: from("none", object.Digest)}, {Key: "b", Copy: from("e1/full", "sha256:00")},
		{Key: "b", Copy: from("e1/full", "")}, {Key: "../b", Copy: from("e1/full", object.Digest)}, {Key: "a"},
		{Key: "a", Copy: from("e1/full", object.Digest)},
	}))(t)
	var got []api.Code
	for _, err := range results {
		got = append(got, api.CodeOf(err))
	}
	want := []api.Code{api.CodeNotFound, "", api.CodeAlreadyExists, api.CodeNotFound, api.CodeDamaged, api.CodeInvalid,
		api.CodeInvalid, "", ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if copied := must(client.Bucket("target").Read(ctx, "a"))(t); string(copied) != "content" {
		t.Errorf("the copy reads %q", copied)
	}
	if kept := contents(t, cloud); kept != 2 {
		t.Errorf("%d contents are kept of an object and its copy", kept)
	}
	entries := cloud.ledgerOf(t)[before:]
	if len(entries) != len(want) {
		t.Fatalf("%d calls are recorded as %d", len(want), len(entries))
	}
	for i, entry := range entries {
		verb := api.VerbPut
		if i == 0 || i == 7 {
			verb = api.VerbDelete
		}
		if took := want[i] == ""; entry.Took() != took || !took && entry.Outcome != string(want[i]) {
			t.Errorf("call %d is recorded with outcome %s", i, entry.Outcome)
		}
		if entry.Verb != verb || entry.Epoch != 7 || entry.RequestID != entries[0].RequestID || entry.RequestID == "" {
			t.Errorf("call %d is recorded as %+v", i, entry)
		}
	}
	if got := must(client.Bucket("target").Batch(ctx, nil))(t); len(got) != 0 {
		t.Errorf("no calls have results %v", got)
	}
	_, err := cloud.as(t, "nobody").Bucket("target").Batch(ctx, []api.BatchCall{{Key: "a"}})
	wantCode(t, err, api.CodeUnauthenticated)
}
