package guard

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/backoff"

	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// quickBackoff fits a socket in the same pod.
var quickBackoff = backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.5, MaxDelay: 500 * time.Millisecond}

// messages counts what has passed and what has not.
type messages struct{ requests, answers, refused atomic.Int64 }

func (m *messages) request() { m.requests.Add(1) }
func (m *messages) answer()  { m.answers.Add(1) }
func (m *messages) refuse()  { m.refused.Add(1) }

// states that a guard can be in, for the metric that shows it.
var states = []validity.State{validity.Starting, validity.Serving, validity.Suspended, validity.Fenced}

// Register registers the metrics of the guard and its proxy.
func (p *Proxy) Register(registry prometheus.Registerer) error {
	counter := func(name, help string, value *atomic.Int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 {
			return float64(value.Load())
		})
	}
	gauge := func(name, help string, labels prometheus.Labels, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value)
	}
	collectors := []prometheus.Collector{
		counter("etcd_guard_requests_total", "Request messages passed to etcd.", &p.requests),
		counter("etcd_guard_answers_total", "Answer messages passed to clients.", &p.answers),
		counter("etcd_guard_refused_total", "Messages that did not pass because validity had lapsed.", &p.refused),
		gauge("etcd_guard_connections", "Open client connections.", nil, func() float64 { return float64(p.conns.count()) }),
		gauge("etcd_guard_validity_seconds", "Remaining validity.", nil, func() float64 {
			return p.guard.Remaining().Seconds()
		}),
		gauge("etcd_guard_epoch", "Ownership epoch of this guard.", nil, func() float64 {
			return float64(p.guard.Self().Epoch)
		}),
	}
	for _, state := range states {
		collectors = append(collectors, gauge("etcd_guard_state", "1 for the state the guard is in.",
			prometheus.Labels{"state": string(state)},
			func() float64 {
				if p.guard.State() == state {
					return 1
				}
				return 0
			}))
	}
	for _, collector := range collectors {
		if err := registry.Register(collector); err != nil {
			return err
		}
	}
	return nil
}
