package guard_test

import (
	"strconv"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// An API server lists by RangeStream, which etcd has since 3.7: it falls back to pages only if the call is
// Unimplemented.
func TestProxy_RangeStream_PassesWhileValidAndIsCutByALapse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.is(validity.Serving)
	const keys = 40 // of 1 MiB each: more than the buffers of a connection take
	for i := range keys {
		w.mustPut("large/"+strconv.Itoa(i), strings.Repeat("x", 1<<20))
	}
	open := func() clientv3.GetStreamChan {
		stream, err := w.client.GetStream(t.Context(), "large/", clientv3.WithPrefix())
		if err != nil {
			t.Fatal(err)
		}
		return stream
	}
	whole, err := clientv3.GetStreamToGetResponse(open())
	if err != nil {
		t.Fatal(err)
	}
	if len(whole.Kvs) != keys || whole.Count != keys || whole.Header.Revision != keys+1 {
		t.Errorf("the stream gave %d of %d keys of revision %d", len(whole.Kvs), whole.Count, whole.Header.Revision)
	}
	cut := open()
	if first := <-cut; first.Err() != nil {
		t.Fatal(first.Err())
	}
	w.claim.Down(true)
	w.decision.Down(true)
	w.is(validity.Suspended)
	if _, err := clientv3.GetStreamToGetResponse(cut); status.Code(err) != codes.Unavailable {
		t.Errorf("the stream ended with %v, want Unavailable", err)
	}
}
