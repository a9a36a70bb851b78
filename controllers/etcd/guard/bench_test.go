package guard_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/transplant-sim/transplant/controllers/ownership"
)

// BenchmarkPut compares puts through the guard with puts at etcd's own socket, in the same run.
func BenchmarkPut(b *testing.B) {
	w := newWorld(b)
	w.is(ownership.Serving)
	value := strings.Repeat("x", 1000)
	var n atomic.Int64
	for _, way := range []struct {
		name   string
		client *clientv3.Client
	}{{"direct", w.etcd.Client}, {"guard", w.client}} {
		for _, writers := range []int{1, 32} {
			b.Run(fmt.Sprintf("%s-%d", way.name, writers), func(b *testing.B) {
				b.SetParallelism(writers)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if _, err := way.client.Put(context.Background(), fmt.Sprintf("key/%d", n.Add(1)%1000), value); err != nil {
							b.Error(err)
							return
						}
					}
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "puts/s")
			})
		}
	}
}
