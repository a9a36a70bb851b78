package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// Connector gives an actor's access to a shoot.
type Connector func(ctx context.Context) (*rest.Config, error)

// resumingTransport is a world.FreshTransport whose connections resume the session of the one before. They do so by TLS
// 1.2, where that takes neither a proof of who the ends are nor an agreement on new keys: most of what a connection
// costs.
func resumingTransport(config *rest.Config) (http.RoundTripper, error) {
	return world.FreshTransport(config, func(trust *tls.Config) {
		trust.ClientSessionCache, trust.MaxVersion = tls.NewLRUClientSessionCache(1), tls.VersionTLS12
	})
}

// freshClient is a clientset of which each request uses a connection of its own.
func freshClient(config *rest.Config) (kubernetes.Interface, error) {
	transport, err := world.FreshTransport(noticing(config), nil)
	if err != nil {
		return nil, err
	}
	return clientFor(config, &http.Client{Transport: transport})
}

// steadyClient is a clientset that keeps its connection.
func steadyClient(config *rest.Config) (kubernetes.Interface, error) {
	client, err := rest.HTTPClientFor(noticing(config))
	if err != nil {
		return nil, fmt.Errorf("make the HTTP client: %w", err)
	}
	return clientFor(config, client)
}

// watchingClient is a clientset for watches, which end when their server stands still.
func watchingClient(config *rest.Config) (kubernetes.Interface, error) {
	client, err := world.Watching(config, gatheringPace.Timeout)
	if err != nil {
		return nil, fmt.Errorf("make the HTTP client: %w", err)
	}
	client.Transport = unrepeated{client.Transport}
	return clientFor(compact(config), client)
}

// unrepeated is a transport whose requests fail when their connection does. The client library would wait a second and
// ask the same address again, up to ten times; whoever follows finds out first where the shoot is by then.
type unrepeated struct{ http.RoundTripper }

var errNoAnswer = errors.New("the connection ended before the answer")

// RoundTrip passes the request on.
func (u unrepeated) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := u.RoundTripper.RoundTrip(r)
	if utilnet.IsProbableEOF(err) || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) {
		return nil, errNoAnswer
	}
	return answer, err
}

// compact asks for answers in the form that costs servers and this process least; they say the same.
func compact(config *rest.Config) *rest.Config {
	compact := rest.CopyConfig(config)
	compact.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return compact
}

func clientFor(config *rest.Config, client *http.Client) (kubernetes.Interface, error) {
	free := rest.CopyConfig(config)
	free.QPS = -1
	set, err := kubernetes.NewForConfigAndClient(free, client)
	if err != nil {
		return nil, fmt.Errorf("make the client for %q: %w", config.Host, err)
	}
	return set, nil
}

// sending says whether a request has left: one that has not cannot have had an effect.
type sending struct{ left atomic.Bool }

type sendingKey struct{}

func (s *sending) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(context.WithValue(ctx, sendingKey{}, s), &httptrace.ClientTrace{WroteHeaders: func() {
		s.left.Store(true)
	}})
}

// noticing has it noticed whether a request got no further than the link.
func noticing(config *rest.Config) *rest.Config {
	noticing := rest.CopyConfig(config)
	noticing.Wrap(func(next http.RoundTripper) http.RoundTripper { return noticer{next} })
	return noticing
}

type noticer struct{ http.RoundTripper }

// RoundTrip passes the request on.
func (n noticer) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := n.RoundTripper.RoundTrip(r)
	if s, ok := r.Context().Value(sendingKey{}).(*sending); ok && err == nil && link.Unsent(answer.Header) {
		s.left.Store(false)
	}
	return answer, err
}

// outcomeOf a request that may have an effect, and the HTTP status if a server has answered.
func (s *sending) outcomeOf(err error) (timeline.Outcome, int) {
	if err == nil {
		return timeline.Acknowledged, http.StatusOK
	}
	status := statusOf(err)
	switch {
	case !s.left.Load():
		return timeline.Failed, 0
	case status >= http.StatusBadRequest && status < http.StatusInternalServerError && status != http.StatusRequestTimeout:
		return timeline.Failed, status
	}
	return timeline.Unknown, status
}

func statusOf(err error) int {
	var status interface{ Status() metav1.Status }
	if errors.As(err, &status) {
		return int(status.Status().Code)
	}
	return 0
}

func versionOf(text string) int64 {
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0 // opaque by contract; then it proves nothing
	}
	return version
}
