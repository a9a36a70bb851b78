package gateway

import (
	"errors"
	"io"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// The ports of a gateway, by what clients say there first.
const (
	portSNI    = "sni"
	portProxy  = "proxy"
	portTunnel = "tunnel"
)

// What becomes of a client's connection.
const (
	resultCarried     = "carried"     // to the Service that the client wants
	resultRefused     = "refused"     // nobody serves what it wants
	resultLapsed      = "lapsed"      // ownership is not valid here
	resultUnreachable = "unreachable" // the Service does not take connections
	resultMalformed   = "malformed"   // it says nothing that can be understood
	resultSilent      = "silent"      // it says nothing, as TCP probes do, or not enough in time
)

// metrics of a gateway. Their labels are closed sets: neither clients nor shoots are among them.
type metrics struct {
	connections        *prometheus.CounterVec
	open               prometheus.Gauge
	cut                prometheus.Counter
	bytes              *prometheus.CounterVec
	toClient, toServer prometheus.Counter
}

func newMetrics() *metrics {
	m := &metrics{
		connections: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gateway_connections_total", Help: "Connections of clients, by the port they came to and what became of them.",
		}, []string{"port", "result"}),
		open: prometheus.NewGauge(prometheus.GaugeOpts{Name: "gateway_open_connections",
			Help: "Connections that are carried now."}),
		cut: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "gateway_cut_connections_total",
			Help: "Carried connections that were cut because ownership had lapsed or the route was gone.",
		}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gateway_passed_bytes_total", Help: "Bytes passed on, by whom they went to.",
		}, []string{"to"}),
	}
	m.toClient, m.toServer = m.bytes.WithLabelValues("client"), m.bytes.WithLabelValues("server")
	for _, port := range []string{portSNI, portProxy, portTunnel} {
		for _, result := range []string{resultCarried, resultRefused, resultLapsed, resultUnreachable, resultMalformed,
			resultSilent} {
			m.connections.WithLabelValues(port, result) // there from the start, so that a first one is an increase
		}
	}
	return m
}

// collectors of the metrics of the table and of the servers that use it.
func (t *table) collectors() []prometheus.Collector {
	collectors := []prometheus.Collector{t.metrics.connections, t.metrics.open, t.metrics.cut, t.metrics.bytes}
	for name, valid := range map[string]bool{"valid": true, "lapsed": false} {
		collectors = append(collectors, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "gateway_routes", Help: "Shoots that can be reached by name, by whether ownership is valid.",
			ConstLabels: prometheus.Labels{"validity": name},
		}, func() float64 { return float64(t.count(valid)) }))
	}
	return collectors
}

// count the routes whose ownership is valid, or those whose is not.
func (t *table) count(valid bool) (n int) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, r := range t.namespaces {
		if r.holder.Term().Valid() == valid {
			n++
		}
	}
	return n
}

// resultOf a connection that is not carried.
func resultOf(err error) string {
	if _, refused := errors.AsType[*refusedError](err); refused {
		return resultRefused
	}
	switch {
	case errors.Is(err, validity.ErrLapsed):
		return resultLapsed
	case errors.Is(err, errUnreachable):
		return resultUnreachable
	case errors.Is(err, io.EOF), errors.Is(err, os.ErrDeadlineExceeded):
		return resultSilent
	}
	return resultMalformed
}

// counted counts the bytes that are written.
type counted struct {
	io.Writer
	bytes prometheus.Counter
}

// Write implements io.Writer.
func (c counted) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.bytes.Add(float64(n))
	return n, err
}
