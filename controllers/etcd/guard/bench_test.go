package guard_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// putsPerRound is what each way writes in one iteration.
const putsPerRound = 2000

// BenchmarkPut compares puts through the guard with puts at etcd's own socket, taking turns in the same run.
func BenchmarkPut(b *testing.B) {
	w := newWorld(b)
	w.is(validity.Serving)
	for _, writers := range []int{1, 32} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			var direct, guarded time.Duration
			for range b.N {
				direct += putMany(b, w.etcd.Client, writers)
				guarded += putMany(b, w.client, writers)
			}
			puts := float64(b.N * putsPerRound)
			b.ReportMetric(puts/direct.Seconds(), "direct-puts/s")
			b.ReportMetric(puts/guarded.Seconds(), "guarded-puts/s")
			b.ReportMetric(direct.Seconds()/guarded.Seconds(), "guarded/direct")
			b.ReportMetric(float64(guarded-direct)/puts*float64(writers)/1000, "added-µs/put")
		})
	}
}

func putMany(b *testing.B, client *clientv3.Client, writers int) time.Duration {
	value := strings.Repeat("x", 1000)
	begin := time.Now()
	var all sync.WaitGroup
	for writer := range writers {
		all.Go(func() {
			for i := range putsPerRound / writers {
				if _, err := client.Put(context.Background(), fmt.Sprintf("key/%d/%d", writer, i%100), value); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return time.Since(begin)
}
