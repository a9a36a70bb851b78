package backup

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics of a Sidecar. A nil Metrics counts nothing.
type Metrics struct {
	uploads  *prometheus.CounterVec
	bytes    prometheus.Counter
	failures prometheus.Counter
	revision prometheus.Gauge
	time     *prometheus.GaugeVec
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		uploads: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "etcd_backup_uploads_total",
			Help: "Objects uploaded, by kind."}, []string{"kind"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{Name: "etcd_backup_delta_bytes_total",
			Help: "Bytes of the deltas uploaded."}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{Name: "etcd_backup_failures_total",
			Help: "Tries that failed."}),
		revision: prometheus.NewGauge(prometheus.GaugeOpts{Name: "etcd_backup_revision",
			Help: "Revision of the last object uploaded."}),
		time: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "etcd_backup_last_upload_timestamp_seconds",
			Help: "When the last object was uploaded, by kind."}, []string{"kind"}),
	}
	for _, c := range []prometheus.Collector{m.uploads, m.bytes, m.failures, m.revision, m.time} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Metrics) saved(object Object, deltaBytes int, at time.Time) {
	if m == nil {
		return
	}
	m.uploads.WithLabelValues(string(object.Kind)).Inc()
	m.bytes.Add(float64(deltaBytes))
	m.revision.Set(float64(object.Last))
	m.time.WithLabelValues(string(object.Kind)).Set(float64(at.UnixMilli()) / 1000)
}

func (m *Metrics) failed() {
	if m != nil {
		m.failures.Inc()
	}
}
