// Package access is how probes reach a shoot: clients that open a connection for each request, keep one or watch, and
// what is known of a request that was sent over them.
//
// It looks at nothing itself; the probes do, in the packages beside it.
package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/sim/world"
)

// Connector gives an actor's access to a shoot.
type Connector func(ctx context.Context) (*rest.Config, error)

// WatchTimeout is how long the server of a watch may stand still before the watch ends.
const WatchTimeout = 3 * time.Second

// Fresh is a clientset of which each request uses a connection of its own, as by a world.FreshTransport.
func Fresh(config *rest.Config) (kubernetes.Interface, error) {
	transport, err := world.FreshTransport(noticing(config))
	if err != nil {
		return nil, err
	}
	return clientFor(config, &http.Client{Transport: transport})
}

// Steady is a clientset that keeps its connection.
func Steady(config *rest.Config) (kubernetes.Interface, error) {
	client, err := rest.HTTPClientFor(noticing(config))
	if err != nil {
		return nil, fmt.Errorf("make the HTTP client: %w", err)
	}
	return clientFor(config, client)
}

// Watching is a clientset for watches, which end when their server stands still for the WatchTimeout.
func Watching(config *rest.Config) (kubernetes.Interface, error) {
	client, err := world.Watching(config, WatchTimeout)
	if err != nil {
		return nil, fmt.Errorf("make the HTTP client: %w", err)
	}
	client.Transport = unrepeated{client.Transport}
	return clientFor(Compact(config), client)
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

// Compact asks for answers in the form that costs servers and this process least; they say the same.
func Compact(config *rest.Config) *rest.Config {
	compacted := rest.CopyConfig(config)
	compacted.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return compacted
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

// StatusOf is the HTTP status by which a server has answered with an error; 0 when none has.
func StatusOf(err error) int {
	var status interface{ Status() metav1.Status }
	if errors.As(err, &status) {
		return int(status.Status().Code)
	}
	return 0
}

// VersionOf is a resource version as a number; 0 when it is none.
func VersionOf(text string) int64 {
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0 // opaque by contract; then it proves nothing
	}
	return version
}
