package processnode

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// mastersGroup may use the kubelet's API. The API server's client certificate is of this group; it asks itself what
// its own clients may do.
const mastersGroup = "system:masters"

// server is the part of the kubelet's API that the API server uses: logs, exec, port-forward, pods, health.
type server struct {
	pods     *pods
	listener net.Listener
}

// listen takes the node's port, so that a second process node on it is noticed before it does any harm.
func (s *server) listen() error {
	config := s.pods.config
	certificate, err := tls.LoadX509KeyPair(config.ServingCert, config.ServingKey)
	if err != nil {
		return fmt.Errorf("read the serving certificate: %w", err)
	}
	authority, err := os.ReadFile(config.ClientCA)
	if err != nil {
		return fmt.Errorf("read the authority of clients: %w", err)
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(authority) {
		return fmt.Errorf("read the authority of clients: %q holds no certificate", config.ClientCA)
	}
	address := netip.AddrPortFrom(config.Address, config.Port)
	listener, err := net.Listen("tcp4", address.String())
	if err != nil {
		return fmt.Errorf("listen for the API server: %w", err)
	}
	s.listener = tls.NewListener(listener, &tls.Config{
		Certificates: []tls.Certificate{certificate}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert,
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, // exec and port-forward take the connection over
	})
	return nil
}

// quiet drops what the web server says about clients that come without a certificate.
var quiet = log.New(io.Discard, "", 0)

// serve serves until ctx is done.
func (s *server) serve(ctx context.Context) error {
	web := &http.Server{Handler: onlyMasters(s.routes()), ReadHeaderTimeout: 30 * time.Second, ErrorLog: quiet}
	stop := context.AfterFunc(ctx, func() { _ = web.Close() })
	defer stop()
	if err := web.Serve(s.listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the kubelet's API: %w", err)
	}
	return nil
}

func onlyMasters(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		subject := r.TLS.PeerCertificates[0].Subject
		if !slices.Contains(subject.Organization, mastersGroup) {
			http.Error(w, fmt.Sprintf("user %q is not of group %s", subject.CommonName, mastersGroup), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	mux.HandleFunc("GET /pods", s.list)
	mux.HandleFunc("GET /processes", s.processes)
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", s.logs)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		mux.HandleFunc(method+" /exec/{namespace}/{pod}/{container}", s.exec)
		mux.HandleFunc(method+" /exec/{namespace}/{pod}/{uid}/{container}", s.exec)
		mux.HandleFunc(method+" /attach/{rest...}", notHere("attach"))
		mux.HandleFunc(method+" /portForward/{namespace}/{pod}", s.portForward)
		mux.HandleFunc(method+" /portForward/{namespace}/{pod}/{uid}", s.portForward)
	}
	return mux
}

func notHere(what string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, what+" is not available on a process node", http.StatusNotImplemented)
	}
}

// list shows the pods of the node as it sees them.
func (s *server) list(w http.ResponseWriter, r *http.Request) {
	list := corev1.PodList{}
	list.APIVersion, list.Kind = "v1", "PodList"
	for _, worker := range s.pods.all() {
		if pod, answered := ask(r.Context(), worker, func() *corev1.Pod { return worker.pod }); answered {
			list.Items = append(list.Items, *pod)
		}
	}
	s.show(w, list)
}

// Process is a container's first process, as GET /processes lists it. It is had from the node itself, with the API
// server's client certificate: the API server proxies to no loopback address.
type Process struct {
	Namespace string    `json:"namespace"`
	Pod       string    `json:"pod"`
	UID       types.UID `json:"uid"`
	Container string    `json:"container"`
	PID       int       `json:"pid"` // on the host
}

// processes lists the processes of the containers that run, so that a fault can reach one of them.
func (s *server) processes(w http.ResponseWriter, r *http.Request) {
	list := []Process{}
	for _, worker := range s.pods.all() {
		own, _ := ask(r.Context(), worker, worker.runningProcesses)
		list = append(list, own...)
	}
	slices.SortFunc(list, func(a, b Process) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.PID, b.PID))
	})
	s.show(w, list)
}

func (w *worker) runningProcesses() (list []Process) {
	for _, i := range w.all() {
		if i.process != nil {
			list = append(list, Process{w.namespace, w.pod.Name, w.pod.UID, i.spec.Name, i.process.PID()})
		}
	}
	return list
}

func (s *server) show(w http.ResponseWriter, content any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(content); err != nil {
		s.pods.log.V(1).Info("Answer is not sent", "reason", err.Error())
	}
}

// ofRequest finds the pod that a request is about.
func (s *server) ofRequest(w http.ResponseWriter, r *http.Request) (*worker, bool) {
	worker, known := s.pods.find(r.PathValue("namespace"), r.PathValue("pod"))
	if !known {
		http.Error(w, fmt.Sprintf("pod %q not found", r.PathValue("pod")), http.StatusNotFound)
	}
	return worker, known
}
