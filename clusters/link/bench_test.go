package link_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/clusters/link"
)

// BenchmarkLinkOverhead calls an HTTPS server directly and through a link, turn by turn in one run, and reports what
// the link costs a call at the median, and how many calls a second it carries. A typical answer of an API server is a
// few kilobytes.
func BenchmarkLinkOverhead(b *testing.B) {
	for _, protocol := range []string{"h2", "http/1.1"} {
		for _, size := range []int{300, 3000, 30000} {
			b.Run(fmt.Sprintf("%s/%dB", protocol, size), func(b *testing.B) { benchmarkOverhead(b, protocol, size) })
		}
	}
	b.Run("through-proxy/h2/3000B", func(b *testing.B) { benchmarkProxy(b, 3000) })
}

func benchmarkOverhead(b *testing.B, protocol string, size int) {
	w := newWorld(b, answer(size))
	l := w.link(b, link.Options{})
	direct, through := w.client(protocol), w.client(protocol)
	compare(b, call{direct, w.upstream.URL}, call{through, l.URL()})
}

func benchmarkProxy(b *testing.B, size int) {
	w := newWorld(b, answer(size))
	p := w.proxy(b, link.ProxyOptions{Resolve: always("127.0.0.1", time.Minute)})
	compare(b, call{w.client("h2"), w.upstream.URL}, call{w.proxied(p), w.named("api.test")})
}

func answer(size int) http.Handler {
	body := make([]byte, size)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})
}

type call struct {
	client *http.Client
	url    string
}

func (c call) do(b *testing.B) time.Duration {
	start := time.Now()
	response, err := c.client.Get(c.url)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		b.Fatal(err)
	}
	_ = response.Body.Close()
	return time.Since(start)
}

func compare(b *testing.B, direct, through call) {
	for range 200 { // both connections are open, pools are filled
		direct.do(b)
		through.do(b)
	}
	var without, with []time.Duration
	for b.Loop() {
		without = append(without, direct.do(b))
		with = append(with, through.do(b))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(microseconds(median(without)), "µs/p50-direct")
	b.ReportMetric(microseconds(median(with)), "µs/p50-link")
	b.ReportMetric(microseconds(median(with)-median(without)), "µs/p50-overhead")
	b.ReportMetric(rate(b, through), "requests/s")
}

// rate is how many calls a second pass when eight are under way at a time.
func rate(b *testing.B, c call) float64 {
	const callers, calls = 8, 500
	start := time.Now()
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for range calls {
				c.do(b)
			}
		})
	}
	group.Wait()
	return callers * calls / time.Since(start).Seconds()
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
