// Package kubeletapi serves the part of the kubelet's API that an API server uses: logs, exec, port-forward, pods,
// health. It asks the pods' workers and changes nothing.
package kubeletapi

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podworker"
)

// mastersGroup may use the kubelet's API. The API server's client certificate is of this group; it asks itself what
// its own clients may do.
const mastersGroup = "system:masters"

// Server serves the API of one node.
type Server struct {
	Pods  *podworker.Pods
	Clock clock.PassiveClock
	Log   logr.Logger

	Address     netip.AddrPort
	ServingCert string // file of the certificate
	ServingKey  string // file of its key
	ClientCA    string // file of the authority that signs client certificates

	listener net.Listener
}

// Listen takes the node's port, so that a second process node on it is noticed before it does any harm.
func (s *Server) Listen() error {
	certificate, err := tls.LoadX509KeyPair(s.ServingCert, s.ServingKey)
	if err != nil {
		return fmt.Errorf("read the serving certificate: %w", err)
	}
	clients, err := certutil.NewPool(s.ClientCA)
	if err != nil {
		return fmt.Errorf("read the authority of clients: %w", err)
	}
	listener, err := net.Listen("tcp4", s.Address.String())
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

// Serve serves what Listen has opened, until ctx is done.
func (s *Server) Serve(ctx context.Context) error {
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

func (s *Server) routes() http.Handler {
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
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	list := corev1.PodList{}
	list.APIVersion, list.Kind = "v1", "PodList"
	for _, worker := range s.Pods.All() {
		if pod, answered := worker.Pod(r.Context()); answered {
			list.Items = append(list.Items, *pod)
		}
	}
	s.show(w, list)
}

// processes lists the processes of the containers that run, so that a fault can reach one of them.
func (s *Server) processes(w http.ResponseWriter, r *http.Request) {
	list := []podworker.Process{}
	for _, worker := range s.Pods.All() {
		own, _ := worker.Processes(r.Context())
		list = append(list, own...)
	}
	slices.SortFunc(list, func(a, b podworker.Process) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.PID, b.PID))
	})
	s.show(w, list)
}

func (s *Server) show(w http.ResponseWriter, content any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(content); err != nil {
		s.Log.V(1).Info("Answer is not sent", "reason", err.Error())
	}
}

// ofRequest finds the pod that a request is about.
func (s *Server) ofRequest(w http.ResponseWriter, r *http.Request) (*podworker.Worker, bool) {
	worker, known := s.Pods.Find(r.PathValue("namespace"), r.PathValue("pod"))
	if !known {
		http.Error(w, fmt.Sprintf("pod %q not found", r.PathValue("pod")), http.StatusNotFound)
	}
	return worker, known
}
