// Package probe asks containers how they are, in the ways that pods may name: a command, an HTTP request, a TCP
// connection, a gRPC health check.
//
// It keeps count of successes and failures; what follows from them is for the caller to decide.
package probe

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// maxOutput is how much of an answer is kept for people to read.
const maxOutput = 1024

// Target is the container that is asked.
type Target struct {
	Host  string // the pod's address
	Ports []corev1.ContainerPort
	// Exec runs a command in the container. A command that ends with an exit code is no error.
	Exec func(ctx context.Context, command []string, output io.Writer) (exitCode int, err error)
}

// Check asks once. The error says why the container is not well; it is for people.
func (t Target) Check(ctx context.Context, handler *corev1.ProbeHandler) error {
	switch {
	case handler.Exec != nil:
		return t.exec(ctx, handler.Exec.Command)
	case handler.HTTPGet != nil:
		return t.http(ctx, handler.HTTPGet)
	case handler.TCPSocket != nil:
		return t.tcp(ctx, handler.TCPSocket)
	case handler.GRPC != nil:
		return t.grpc(ctx, handler.GRPC)
	}
	return errors.New("the probe is of a kind that this node does not know")
}

func (t Target) exec(ctx context.Context, command []string) error {
	var output bytes.Buffer
	code, err := t.Exec(ctx, command, &limited{&output, maxOutput})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("command timed out: %q", strings.Join(command, " "))
	case err != nil:
		return err
	case code != 0:
		return errors.New(strings.TrimSpace(output.String()))
	}
	return nil
}

// limited keeps the beginning of what is written.
type limited struct {
	to   io.Writer
	left int
}

func (l *limited) Write(data []byte) (int, error) {
	n := min(len(data), l.left)
	l.left -= n
	if _, err := l.to.Write(data[:n]); err != nil {
		return 0, err
	}
	return len(data), nil
}

// client takes no connection from an earlier probe, trusts every certificate, as a kubelet does, and follows
// redirects within the container only.
var client = &http.Client{
	Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a probe knows no certificate authority
	},
	CheckRedirect: func(request *http.Request, via []*http.Request) error {
		if request.URL.Hostname() != via[0].URL.Hostname() || len(via) >= 10 {
			return http.ErrUseLastResponse
		}
		return nil
	},
}

func (t Target) http(ctx context.Context, action *corev1.HTTPGetAction) error {
	response, err := t.Get(ctx, action)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 10<<10)) // only the status counts
	if response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("HTTP probe failed with statuscode: %d", response.StatusCode)
	}
	return nil
}

// Get sends the request that a probe or a hook names. The caller closes the body.
func (t Target) Get(ctx context.Context, action *corev1.HTTPGetAction) (*http.Response, error) {
	address, err := t.address(action.Host, action.Port)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(action.Path)
	if err != nil {
		return nil, fmt.Errorf("parse the path %q: %w", action.Path, err)
	}
	target.Scheme, target.Host = strings.ToLower(string(action.Scheme)), address
	target.Scheme = cmp.Or(target.Scheme, "http")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("User-Agent", "kube-probe/1")
	request.Header.Set("Accept", "*/*")
	for _, header := range action.HTTPHeaders {
		if http.CanonicalHeaderKey(header.Name) == "Host" {
			request.Host = header.Value
			continue
		}
		request.Header.Add(header.Name, header.Value)
	}
	return client.Do(request)
}

func (t Target) tcp(ctx context.Context, action *corev1.TCPSocketAction) error {
	address, err := t.address(action.Host, action.Port)
	if err != nil {
		return err
	}
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return connection.Close()
}

func (t Target) grpc(ctx context.Context, action *corev1.GRPCAction) error {
	address := net.JoinHostPort(t.Host, strconv.Itoa(int(action.Port)))
	connection, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("make the gRPC client: %w", err)
	}
	defer connection.Close()
	request := &grpc_health_v1.HealthCheckRequest{}
	if action.Service != nil {
		request.Service = *action.Service
	}
	answer, err := grpc_health_v1.NewHealthClient(connection).Check(ctx, request)
	switch status.Code(err) {
	case codes.OK:
	case codes.Unimplemented:
		return errors.New("error: this server does not implement the grpc health protocol (grpc.health.v1.Health)")
	case codes.DeadlineExceeded:
		return errors.New("timeout: health rpc did not complete in time")
	default:
		return fmt.Errorf("error: health rpc probe failed: %w", err)
	}
	if answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("service unhealthy (responded with %q)", answer.GetStatus())
	}
	return nil
}

// address resolves a port's name among the container's ports.
func (t Target) address(host string, port intstr.IntOrString) (string, error) {
	host = cmp.Or(host, t.Host)
	number := port.IntVal
	if port.Type == intstr.String {
		for _, p := range t.Ports {
			if p.Name == port.StrVal {
				number = p.ContainerPort
			}
		}
	}
	if number == 0 {
		if n, err := strconv.ParseUint(port.StrVal, 10, 16); err == nil {
			number = int32(n)
		} else {
			return "", fmt.Errorf("find the port %q: the container has none of that name", port.StrVal)
		}
	}
	return net.JoinHostPort(host, strconv.Itoa(int(number))), nil
}
