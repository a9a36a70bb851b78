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

	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// Exporter shows the metrics of the run that is being told, and of the engine's own process. Between runs it shows the
// last one, with its verdict.
type Exporter struct {
	process *prometheus.Registry

	mu      sync.Mutex
	current *followed
}

// followed is one run whose meter goes on while others gather it.
type followed struct {
	mu    sync.Mutex
	meter *Meter
	done  chan struct{}
}

var _ prometheus.Gatherer = &Exporter{}

// NewExporter shows the process, until there is a run.
func NewExporter() *Exporter {
	e := &Exporter{process: prometheus.NewRegistry()}
	e.process.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return e
}

// Follow a run until its journal is closed. The verdict, if there is one, is told with Judged afterwards.
func (e *Exporter) Follow(ctx context.Context, journal *timeline.Journal) {
	f := &followed{done: make(chan struct{})}
	go func() {
		defer close(f.done)
		for event := range journal.Follow(context.WithoutCancel(ctx)) {
			if start, is := event.Payload.(timeline.RunStarted); is {
				e.begin(f, start, journal.Started())
			}
			f.take(event)
		}
	}()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.current = f
}

func (e *Exporter) begin(f *followed, start timeline.RunStarted, started time.Time) {
	meter, err := NewMeter(RunName(start.Scenario, started), start)
	if err != nil {
		return // a scenario that cannot be read ends the run, and is told there
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.meter = meter
}

func (f *followed) take(event timeline.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.meter != nil {
		f.meter.Take(event)
	}
}

// Judged adds the verdict about the run that was followed last, after all of its events. Its journal must be closed.
func (e *Exporter) Judged(r *verdict.Report) {
	e.mu.Lock()
	f := e.current
	e.mu.Unlock()
	<-f.done
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.meter != nil {
		f.meter.Judged(r)
	}
}

// Gather what has been counted so far.
func (e *Exporter) Gather() ([]*dto.MetricFamily, error) {
	e.mu.Lock()
	f := e.current
	e.mu.Unlock()
	all := prometheus.Gatherers{e.process}
	if f != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.meter != nil {
			all = append(all, f.meter.Gatherer())
		}
	}
	return all.Gather()
}

// Serve /metrics at an address until ctx ends; it returns as soon as it listens, with the address.
func (e *Exporter) Serve(ctx context.Context, address string) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return "", fmt.Errorf("listen for metrics on %q: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(e, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { server.Close() })
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			listener.Close()
		}
	}()
	return listener.Addr().String(), nil
}
