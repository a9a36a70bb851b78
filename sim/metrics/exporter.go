package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// Exporter shows the metrics of the current run on each landscape, and of the engine's own process. Between runs it
// shows the last one of a landscape, with its verdict.
type Exporter struct {
	process *prometheus.Registry
	clock   clock.Clock
	fetches fetches

	mu   sync.Mutex
	runs map[string]*Following // by landscape
}

// Following is one run whose meter goes on while others gather it.
type Following struct {
	mu    sync.Mutex
	meter *Meter
	done  chan struct{}
}

var _ prometheus.Gatherer = &Exporter{}

// NewExporter shows the process, until there is a run.
func NewExporter(c clock.Clock) *Exporter {
	e := &Exporter{process: prometheus.NewRegistry(), clock: c, fetches: fetches{changed: make(chan struct{})},
		runs: map[string]*Following{}}
	e.process.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return e
}

// Follow a run until its journal is closed, in place of the last one on the same landscape.
func (e *Exporter) Follow(ctx context.Context, landscape string, journal *timeline.Journal) *Following {
	f := &Following{done: make(chan struct{})}
	go func() {
		defer close(f.done)
		for event := range journal.Follow(context.WithoutCancel(ctx)) {
			if start, is := event.Payload.(timeline.RunStarted); is {
				f.begin(start, journal.Started())
			}
			f.take(event)
		}
	}()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.runs[landscape] = f
	return f
}

func (f *Following) begin(start timeline.RunStarted, started time.Time) {
	meter, err := NewMeter(RunName(start.Scenario, started), start)
	if err != nil {
		return // a scenario that cannot be read ends the run, which reports it
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.meter = meter
}

func (f *Following) take(event timeline.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.meter != nil {
		f.meter.Take(event)
	}
}

// Judged adds the verdict about the run, after all of its events. Its journal must be closed.
func (f *Following) Judged(r *verdict.Report) {
	<-f.done
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.meter != nil {
		f.meter.Judged(r)
	}
}

// gather what has been counted of the run so far.
func (f *Following) gather() ([]*dto.MetricFamily, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.meter == nil {
		return nil, nil
	}
	return f.meter.Gatherer().Gather()
}

// Gather what has been counted so far.
func (e *Exporter) Gather() ([]*dto.MetricFamily, error) {
	e.mu.Lock()
	all := prometheus.Gatherers{e.process}
	for _, f := range e.runs {
		all = append(all, prometheus.GathererFunc(f.gather))
	}
	e.mu.Unlock()
	return all.Gather()
}

// Serve /metrics at an address until ctx ends; it returns as soon as it listens, with the address.
func (e *Exporter) Serve(ctx context.Context, address string) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return "", fmt.Errorf("listen for metrics on %q: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics",
		e.counted(promhttp.HandlerFor(e, promhttp.HandlerOpts{EnableOpenMetrics: true, DisableCompression: true})))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { server.Close() })
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			listener.Close()
		}
	}()
	return listener.Addr().String(), nil
}
