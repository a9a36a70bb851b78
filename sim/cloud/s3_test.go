package cloud

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	api "github.com/transplant-sim/transplant/api/cloud"
)

// The contents of objects may lie in S3; what a restart finds there and no object has, it removes.
func TestObjectsInS3(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	backend := s3mem.New()
	if err := backend.CreateBucket("contents"); err != nil {
		t.Fatal(err)
	}
	address := serveHTTP(t, gofakes3.New(backend).Server())
	options := Options{
		Dir: t.TempDir(), Tokens: tokenFile(t),
		BucketURL: "s3://contents?region=eu-west-1&use_path_style=true&disable_https=true&endpoint=http://" + address,
	}
	cloud := start(t, options)
	bucket, ctx := bucketOf(t, cloud.as(t, "extensions-a")), t.Context()
	content := bytes.Repeat([]byte("0123456789"), 100_000)
	must(bucket.Put(ctx, "etcd-main/e1/full", bytes.NewReader(content), api.PutOptions{CreateOnly: true}))(t)
	must(bucket.Put(ctx, "young", bytes.NewReader(content), api.PutOptions{}))(t)
	if err := bucket.Delete(ctx, "young"); err != nil {
		t.Fatal(err)
	}
	if _, err := cloud.blobs.Write(ctx, "backups/orphan.0123", bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	cloud.stop()

	again := start(t, options)
	if got := must(again.as(t, "extensions-a").Bucket("backups").Read(ctx, "etcd-main/e1/full"))(t); !bytes.Equal(got,
		content) {
		t.Errorf("read %d bytes, want %d", len(got), len(content))
	}
	list, err := backend.ListBucket("contents", &gofakes3.Prefix{}, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Contents) != 1 {
		t.Errorf("S3 holds %d contents for one object", len(list.Contents))
	}
}

func serveHTTP(t *testing.T, handler http.Handler) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.230.0.4:0")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return listener.Addr().String()
}
