package vpn

import "github.com/prometheus/client_golang/prometheus"

// metrics are those of vpn-seed-server (docs/metrics.md).
type metrics struct {
	tunnels          prometheus.Gauge
	connections      *prometheus.CounterVec
	carried, refused prometheus.Counter
}

func newMetrics() *metrics {
	m := &metrics{
		tunnels: prometheus.NewGauge(prometheus.GaugeOpts{Name: "vpn_tunnels",
			Help: "Tunnels from the nodes of the shoot that are open."}),
		connections: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "vpn_connections_total",
			Help: "Connections that the API server has asked for through the tunnel, by result."}, []string{"result"}),
	}
	m.carried, m.refused = m.connections.WithLabelValues("carried"), m.connections.WithLabelValues("refused")
	return m
}
