package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	api "github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/cloud/faultbook"
	"github.com/transplant-sim/transplant/sim/cloud/refusal"
)

// maxBody bounds the JSON bodies of calls; contents of objects are streamed and have no bound.
const maxBody = 4 << 20

// readVerbs change nothing, so they are not recorded.
var readVerbs = []string{api.VerbGet, api.VerbList, api.VerbSnapshot}

// handler carries out one call.
type handler func(c *call, w http.ResponseWriter, r *http.Request) error

// Handler is the HTTP API.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, k := range s.db.state.kinds {
		if k.admit == nil {
			continue
		}
		mux.HandleFunc("POST /"+k.name, s.serve(api.VerbCreate, k.name, s.create))
		mux.HandleFunc("GET /"+k.name, s.serve(api.VerbList, k.name, s.list))
		mux.HandleFunc("GET /"+k.name+"/{id}", s.serve(api.VerbGet, k.name, s.get))
		mux.HandleFunc("PUT /"+k.name+"/{id}", s.serve(api.VerbUpdate, k.name, s.update))
		mux.HandleFunc("DELETE /"+k.name+"/{id}", s.serve(api.VerbDelete, k.name, s.remove))
	}
	mux.HandleFunc("POST /machines/{id}/reboot", s.serve(api.VerbReboot, api.KindMachines, s.reboot))

	mux.HandleFunc("GET /zones/{zone}/records", s.serve(api.VerbList, api.KindRecords, s.listRecords))
	mux.HandleFunc("GET /zones/{zone}/records/{type}/{name}", s.serve(api.VerbGet, api.KindRecords, s.getRecord))
	mux.HandleFunc("PUT /zones/{zone}/records/{type}/{name}", s.serve(api.VerbPut, api.KindRecords, s.putRecord))
	mux.HandleFunc("DELETE /zones/{zone}/records/{type}/{name}", s.serve(api.VerbDelete, api.KindRecords, s.deleteRecord))

	objects := objects{s.db, s.blobs, s.log}
	mux.HandleFunc("GET /buckets/{bucket}/objects", s.serve(api.VerbList, api.KindObjects, objects.list))
	mux.HandleFunc("GET /buckets/{bucket}/objects/{key...}", s.serve(api.VerbGet, api.KindObjects, objects.get))
	mux.HandleFunc("PUT /buckets/{bucket}/objects/{key...}", s.serve(api.VerbPut, api.KindObjects, objects.put))
	mux.HandleFunc("DELETE /buckets/{bucket}/objects/{key...}", s.serve(api.VerbDelete, api.KindObjects, objects.delete))

	mux.HandleFunc("POST /buckets/{bucket}/batch", s.serve(api.VerbBatch, api.KindObjects, s.batch(objects)))

	mux.HandleFunc("GET /fences", s.serve(api.VerbList, api.KindFences, s.listRows))
	mux.HandleFunc("PUT /fences/{id}", s.serve(api.VerbFence, api.KindFences, s.fence))
	mux.HandleFunc("GET /policies",
		s.serve(api.VerbList, api.KindPolicies, s.only(s.listRows, RolePolicies, RoleObserver)))
	mux.HandleFunc("PUT /policies/{id}", s.serve(api.VerbSet, api.KindPolicies, s.only(s.setPolicy, RolePolicies)))
	mux.HandleFunc("DELETE /policies/{id}", s.serve(api.VerbDelete, api.KindPolicies, s.only(s.remove, RolePolicies)))
	mux.HandleFunc("GET /faults", s.serve(api.VerbList, api.KindFaults, s.only(s.listFaults, RoleObserver)))
	mux.HandleFunc("PUT /faults/{id}", s.serve(api.VerbSet, api.KindFaults, s.only(s.setFault)))
	mux.HandleFunc("DELETE /faults/{id}", s.serve(api.VerbHeal, api.KindFaults, s.only(s.healFault)))
	evidence := evidence{s.db, s.blobs, s.log}
	mux.HandleFunc("GET /ledger", s.serve(api.VerbList, "ledger", s.only(evidence.readLedger, RoleObserver, RoleNodes)))
	mux.HandleFunc("POST /snapshot", s.serve(api.VerbSnapshot, "snapshot", s.only(evidence.snapshot)))

	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	return mux
}

// serve wraps a handler with what all calls have in common: identity, scope, faults, the form of errors.
func (s *Server) serve(verb, kind string, h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := &call{verb: verb, kind: kind, id: pathID(r), requestID: "req-" + randomHex(8)}
		w.Header().Set("Transplant-Request", c.requestID)
		err := s.begin(c, r)
		if errors.Is(err, faultbook.ErrDropped) {
			s.metrics.called(c, err)
			panic(http.ErrAbortHandler) // the server's way to break the connection off
		}
		if err != nil {
			err = s.refused(c, err)
		}
		if err == nil {
			if c.verb != api.VerbBatch { // whose calls are slow by themselves
				w = s.db.faults.Slow(c.subject(), &c.harm, w, r, s.db.clock)
			}
			err = h(c, w, r)
		}
		s.metrics.called(c, err)
		if c.harm.Dropped {
			panic(http.ErrAbortHandler)
		}
		if err != nil {
			s.answerRefusal(c, w, err)
		}
	}
}

// pathID is what the ledger and faults call the object that a path names.
func pathID(r *http.Request) string {
	switch {
	case r.PathValue("bucket") != "" && r.PathValue("key") != "":
		return objectID(r.PathValue("bucket"), r.PathValue("key"))
	case r.PathValue("zone") != "" && r.PathValue("name") != "":
		return recordID(r.PathValue("zone"), r.PathValue("type"), r.PathValue("name"))
	}
	return r.PathValue("id")
}

func (s *Server) begin(c *call, r *http.Request) (err error) {
	if c.identity, c.scope, err = s.identities.authenticate(r); err != nil {
		return err
	}
	if c.verb == api.VerbBatch {
		return nil // each of its calls is admitted by itself
	}
	return s.admit(r.Context(), c)
}

// admit refuses what the caller may not do, and does to the call what faults do before it is carried out.
func (s *Server) admit(ctx context.Context, c *call) error {
	if err := c.checkRole(); err != nil {
		return err
	}
	if c.kind == api.KindFaults || c.kind == "ledger" || c.kind == "snapshot" {
		return nil // the harness's own entrance is never harmed
	}
	return s.db.faults.Before(ctx, c.subject(), &c.harm, s.db.clock)
}

// only lets a handler be called by an admin and by these roles.
func (s *Server) only(h handler, roles ...Role) handler {
	return func(c *call, w http.ResponseWriter, r *http.Request) error {
		if c.identity.may(roles...) {
			return h(c, w, r)
		}
		return s.refused(c, refusal.Standard(api.CodeUnauthorized, c.kind))
	}
}

// refused records a refusal, unless the call would have changed nothing.
func (s *Server) refused(c *call, cause error) error {
	if slices.Contains(readVerbs, c.verb) {
		return cause
	}
	return s.db.refuseBefore(c, cause)
}

func (s *Server) answerRefusal(c *call, w http.ResponseWriter, err error) {
	refused := refusal.Of(err)
	refused.RequestID = c.requestID
	if refused.Code == api.CodeInternal && c.harm.Fault == "" {
		s.log.Error(err, "Call ended with an internal error", "verb", c.verb, "kind", c.kind, "id", c.id, "request",
			c.requestID)
	}
	content, _ := json.Marshal(refused) // four strings always marshal
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(refused.Code.Status())
	_, _ = w.Write(content) // the caller has gone, there is nobody to answer
}

// outcome answers what a call came to, or refuses it.
func outcome(w http.ResponseWriter, value any, err error) error {
	if err != nil {
		return err
	}
	return answer(w, value)
}

// answer writes one JSON document.
func answer(w http.ResponseWriter, value any) error {
	content, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("marshal an answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(content) // the caller has gone, there is nobody to answer
	return nil
}

// readBody parses a small JSON body, strictly, and returns its digest.
func readBody(w http.ResponseWriter, r *http.Request, into any) (string, error) {
	content, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return "", refusal.Invalid("The request is larger than %d bytes", maxBody)
		}
		return "", fmt.Errorf("read the request: %w", err)
	}
	if err := strictUnmarshal(content, into); err != nil {
		return "", refusal.Invalid("The request cannot be parsed: strict decoding error: %v", err)
	}
	return hexDigest(content), nil
}

// metrics are what the cloud was asked. Its tenants' objects are counted when somebody looks.
type metrics struct {
	calls, names *prometheus.CounterVec
	objects      *prometheus.Desc
}

func newMetrics() *metrics {
	return &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cloud_calls_total",
			Help: "Calls of the API, by verb, resource and result: OK, Dropped, or the code of the refusal.",
		}, []string{"verb", "resource", "result"}),
		names: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cloud_dns_questions_total", Help: "Questions to the DNS server, by the code of the answer.",
		}, []string{"answer"}),
		objects: prometheus.NewDesc("cloud_objects", "Objects that there are, by resource.", []string{"resource"}, nil),
	}
}

func (m *metrics) called(c *call, err error) {
	result := "OK"
	switch {
	case c.harm.Dropped, errors.Is(err, faultbook.ErrDropped):
		result = "Dropped"
	case err != nil:
		result = string(refusal.Of(err).Code)
	}
	m.calls.WithLabelValues(c.verb, c.kind, result).Inc()
}

func (m *metrics) asked(reply *dns.Msg) {
	m.names.WithLabelValues(dns.RcodeToString[reply.Rcode]).Inc()
}

// Metrics answers what the cloud and its process measure, to a Prometheus.
func (s *Server) Metrics() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		s.metrics.calls, s.metrics.names, inventory{s.metrics, s.db})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true}))
	return mux
}

// inventory counts the objects.
type inventory struct {
	metrics *metrics
	db      *database
}

var _ prometheus.Collector = inventory{}

// Describe implements prometheus.Collector.
func (i inventory) Describe(to chan<- *prometheus.Desc) { to <- i.metrics.objects }

// Collect implements prometheus.Collector.
func (i inventory) Collect(to chan<- prometheus.Metric) {
	i.db.read.RLock()
	defer i.db.read.RUnlock()
	for kind, rows := range i.db.state.rows {
		to <- prometheus.MustNewConstMetric(i.metrics.objects, prometheus.GaugeValue, float64(len(rows)), kind)
	}
}
