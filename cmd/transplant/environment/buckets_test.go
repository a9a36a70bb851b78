package environment

import (
	"testing"
)

func TestBuckets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ url, backend, of, refused string }{
		{url: "", backend: "kind"},
		{url: "s3://contents?region=eu-west-1", backend: "kind", of: "s3://contents?prefix=run-2%2F&region=eu-west-1"},
		{url: "s3://contents?prefix=ci/7/", backend: "embedded", of: "s3://contents?prefix=ci%2F7%2Frun-2%2F"},
		{url: "file:///srv/buckets", backend: "embedded", of: "file:///srv/buckets?prefix=run-2%2F"},
		{url: "file:///srv/buckets", backend: "kind",
			refused: "--bucket-url file:///srv/buckets: the cloud is a container on backend kind, which does not see the " +
				"folder: leave it out, or name an S3 bucket"},
		{url: "gopher://x", backend: "embedded",
			refused: `--bucket-url: "gopher://x" is no store of objects: name one such as s3://bucket?region=… or file:///path`},
		{url: "contents", backend: "embedded",
			refused: `--bucket-url: "contents" is no store of objects: name one such as s3://bucket?region=… or file:///path`},
	} {
		b := &Buckets{URL: c.url}
		refused := ""
		if err := b.Check(c.backend); err != nil {
			refused = err.Error()
		}
		if refused != c.refused {
			t.Errorf("%q on %s: %q, want %q", c.url, c.backend, refused, c.refused)
		}
		if err := b.CheckFrom(); (err == nil) != (c.url == "") {
			t.Errorf("%q for a checkpoint: %v", c.url, err)
		}
		if c.of == "" {
			continue
		}
		if of, err := b.of("run-2"); err != nil || of != c.of {
			t.Errorf("%q of run-2: %q, %v; want %q", c.url, of, err, c.of)
		}
	}
}
