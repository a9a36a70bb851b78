package cloud

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/transplant-sim/transplant/api/cloud"
)

// "The cloud is a value that can be copied": a copy started from a snapshot has the state of that moment, and both go
// on by themselves.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	cloud := start(t, Options{})
	client, ctx := cloud.as(t, "extensions-a"), t.Context()
	bucket := bucketOf(t, client)
	network := must(client.Networks().Create(ctx, &api.Network{CIDR: "10.0.0.0/16"}))(t)
	must(client.Fence(ctx, api.Scope{Shoot: "alpha", Epoch: 3}))(t)
	// More than fits into the buffers on the way, so that the copy is still being made when the next one changes.
	must(bucket.Put(ctx, "a", bytes.NewReader(make([]byte, 32<<20)), api.PutOptions{}))(t)
	must(bucket.Put(ctx, "a/b", strings.NewReader("first"), api.PutOptions{}))(t)
	_, err := client.Snapshot(ctx)
	wantCode(t, err, api.CodeUnauthorized)

	stream := must(cloud.as(t, "admin").Snapshot(ctx))(t)
	// Changed while the copy is being read: the copy must not see it.
	must(bucket.Put(ctx, "a/b", strings.NewReader("second"), api.PutOptions{}))(t)
	path := filepath.Join(t.TempDir(), "snapshot.tar")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.ReadFrom(stream); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(stream.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}

	copied := start(t, Options{Restore: path})
	other := copied.as(t, "extensions-a")
	if diff := cmp.Diff(network, must(other.Networks().Get(ctx, network.ID))(t)); diff != "" {
		t.Error(diff)
	}
	if got := must(other.Bucket("backups").Read(ctx, "a/b"))(t); string(got) != "first" {
		t.Errorf("the copy reads %q, want what there was at its moment", got)
	}
	_, err = other.WithScope(api.Scope{Shoot: "alpha", Epoch: 2}).Networks().Create(ctx, network)
	wantCode(t, err, api.CodeStaleEpoch)
	if err := other.Networks().Delete(ctx, network.ID); err != nil {
		t.Fatal(err)
	}
	must(client.Networks().Get(ctx, network.ID))(t)
	if got := must(bucket.Read(ctx, "a/b"))(t); string(got) != "second" {
		t.Errorf("the original reads %q", got)
	}
	if kept := contents(t, cloud); kept != 2 {
		t.Errorf("%d contents are kept for two objects after the snapshot", kept)
	}
	if _, err := Open(ctx, Options{Dir: cloud.dir + "2", Tokens: tokenFile(t), Restore: cutShort(t, path)}); err == nil ||
		!strings.Contains(err.Error(), "unexpected EOF") {
		t.Errorf("a snapshot that was cut short is restored with %v", err)
	}
}

func cutShort(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	short := path + ".short"
	if err := os.WriteFile(short, content[:1024], 0o600); err != nil {
		t.Fatal(err)
	}
	return short
}
