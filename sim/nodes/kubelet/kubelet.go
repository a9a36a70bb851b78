// Package kubelet stands for the kubelets of simulated nodes towards API servers: logs, exec, attach and port-forward
// get an answer that says why there is none.
//
// It knows no pods and runs no programs.
package kubelet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"k8s.io/client-go/util/cert"
)

// Server of one address, for all nodes.
type Server struct {
	listener net.Listener
	at       netip.AddrPort
}

// Listen at an address. If its host is unspecified, as in 0.0.0.0:10250, others reach it by the first address of this
// machine that is no loopback.
func Listen(address string) (*Server, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, fmt.Errorf("read the address of kubelets: %w", err)
	}
	listener, err := net.Listen("tcp4", at.String())
	if err != nil {
		return nil, fmt.Errorf("listen for what API servers ask kubelets: %w", err)
	}
	at = listener.Addr().(*net.TCPAddr).AddrPort()
	if at.Addr().Unmap().IsUnspecified() {
		own, err := ownAddress()
		if err != nil {
			return nil, errors.Join(err, listener.Close())
		}
		at = netip.AddrPortFrom(own, at.Port())
	}
	// The certificate is self-signed: API servers without --kubelet-certificate-authority trust every one.
	certificate, key, err := cert.GenerateSelfSignedCertKey(at.Addr().String(), nil, nil)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the certificate of kubelets: %w", err), listener.Close())
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the certificate of kubelets: %w", err), listener.Close())
	}
	return &Server{at: at, listener: tls.NewListener(listener, &tls.Config{
		Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
	})}, nil
}

func ownAddress() (netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("list the addresses of this machine: %w", err)
	}
	for _, one := range all {
		if prefix, err := netip.ParsePrefix(one.String()); err == nil && prefix.Addr().Is4() && !prefix.Addr().IsLoopback() {
			return prefix.Addr(), nil
		}
	}
	return netip.Addr{}, errors.New("this machine has no IPv4 address but that of its loopback: give kubelets an address")
}

// At is where API servers reach it.
func (s *Server) At() netip.AddrPort { return netip.AddrPortFrom(s.at.Addr().Unmap(), s.at.Port()) }

// Serve until ctx is done.
func (s *Server) Serve(ctx context.Context) error {
	web := &http.Server{Handler: http.HandlerFunc(answer), ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout: 90 * time.Second, // as long as clients of Go keep a connection that they do not use
		ErrorLog:    log.New(io.Discard, "", 0)}
	stop := context.AfterFunc(ctx, func() { _ = web.Close() })
	defer stop()
	if err := web.Serve(s.listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve what API servers ask kubelets: %w", err)
	}
	return nil
}

// lacks says what a simulated pod does not have, by the first part of the path that an API server asks for.
var lacks = map[string]string{
	"containerLogs": "has no logs", "exec": "runs no program: exec is not possible",
	"attach": "runs no program: attach is not possible", "portForward": "listens on no port: port-forward is not possible",
}

// answer with a status whose text an API server passes on, as it does not with others.
func answer(w http.ResponseWriter, r *http.Request) {
	text := "the node is simulated, and has no kubelet"
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if lack, known := lacks[parts[0]]; known && len(parts) > 2 {
		text = fmt.Sprintf("pod %q %s. Its node is simulated: no containers run on it. Pods of garden and seeds run for real",
			parts[2], lack)
	}
	http.Error(w, text, http.StatusBadRequest)
}
