package world

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/expression"
	"github.com/transplant-sim/transplant/sim/timeline"
)

const (
	// reachPath is answered by a working store alone.
	reachPath = "/api/v1/namespaces/kube-system"
	// reachTimeout bounds one of the questions, reachTries in a row, after which a shoot does not answer its users.
	reachTimeout, reachTries = time.Second, 3
	// Answers are timed on so many connections beside each other, so many on each: an observation has little time.
	timedConnections, timedAnswers = 8, 5
	// longestAnswer is what an answer takes that is no longer waited for.
	longestAnswer = 2 * time.Second
)

// FreshTransport opens a new connection for each request and closes it after it. client-go would share connections
// among all clients with the same configuration.
//
// A connection resumes the session of the one before. It does so by TLS 1.2, where that takes neither a proof of who
// the ends are nor an agreement on new keys: most of what a connection costs. A server that has not agreed on that
// session has to prove who it is.
func FreshTransport(config *rest.Config) (http.RoundTripper, error) {
	fresh, err := ownTransport(config)
	if err != nil {
		return nil, err
	}
	fresh.DisableKeepAlives = true
	return rest.HTTPWrappersForConfig(config, fresh)
}

// ownTransport shares its connections with nobody. It does not say who asks.
func ownTransport(config *rest.Config) (*http.Transport, error) {
	trust, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("build the TLS configuration: %w", err)
	}
	if trust != nil {
		trust.ClientSessionCache, trust.MaxVersion = tls.NewLRUClientSessionCache(1), tls.VersionTLS12
	}
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	return &http.Transport{
		TLSClientConfig:     trust,
		TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{}, // one request at a time needs HTTP/1.1
		Proxy:               config.Proxy,
		DialContext:         dial,
		TLSHandshakeTimeout: dialTimeout,
	}, nil
}

// Reach tries whether the API server of a host answers something that takes a working store, and says why not. Unknown
// is the outcome of an answer that says nothing about the store.
func Reach(ctx context.Context, transport http.RoundTripper, host string) (timeline.Outcome, string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, host+reachPath, nil)
	if err != nil {
		return timeline.Unknown, err.Error()
	}
	request.Header.Set("Accept", runtime.ContentTypeProtobuf) // costs its server less than JSON
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return timeline.Failed, err.Error()
	}
	if err := drain(answer.Body); err != nil {
		return timeline.Failed, err.Error()
	}
	switch {
	case answer.StatusCode == http.StatusOK:
		return timeline.Acknowledged, ""
	case answer.StatusCode >= http.StatusInternalServerError:
		return timeline.Failed, answer.Status
	}
	return timeline.Unknown, answer.Status
}

// drain reads an answer to its end, so that its connection ends cleanly.
func drain(body io.ReadCloser) error {
	_, err := io.Copy(io.Discard, io.LimitReader(body, 1<<20))
	return errors.Join(err, body.Close())
}

// answers says whether the shoot's API answers its users. One question that is not answered in time may be the
// machine's fault: it does not when several in a row are not.
func answers(ctx context.Context, w World, shoot string) (bool, error) {
	config, err := w.ConnectShoot(ctx, shoot, User)
	if err != nil {
		return false, fmt.Errorf("find out how to reach the shoot: %w", err)
	}
	transport, err := FreshTransport(config)
	if err != nil {
		return false, err
	}
	for range reachTries {
		switch outcome, why := reachInTime(ctx, transport, config.Host); {
		case ctx.Err() != nil:
			return false, fmt.Errorf("ask the shoot: %w", context.Cause(ctx))
		case outcome == timeline.Acknowledged:
			return true, nil
		case outcome == timeline.Unknown:
			return false, fmt.Errorf("ask the shoot: %s", why)
		}
	}
	return false, nil
}

func reachInTime(ctx context.Context, transport http.RoundTripper, host string) (timeline.Outcome, string) {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	return Reach(ctx, transport, host)
}

// answerTimes are how long the shoot's API takes for each of several answers to its users, in whole milliseconds.
func answerTimes(ctx context.Context, w World, shoot string) (expression.Durations, error) {
	config, err := w.ConnectShoot(ctx, shoot, User)
	if err != nil {
		return nil, fmt.Errorf("find out how to reach the shoot: %w", err)
	}
	var times [timedConnections]expression.Durations
	group, ctx := errgroup.WithContext(ctx)
	for i := range times {
		group.Go(func() (err error) {
			times[i], err = timesOnOne(ctx, config)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(times[:]...), nil
}

// timesOnOne connection. The first answer, for which it is opened, does not count. An answer that is no longer waited
// for ends the connection, so that the next one opens another.
func timesOnOne(ctx context.Context, config *rest.Config) (expression.Durations, error) {
	own, err := ownTransport(config)
	if err != nil {
		return nil, err
	}
	defer own.CloseIdleConnections()
	transport, err := rest.HTTPWrappersForConfig(config, own)
	if err != nil {
		return nil, fmt.Errorf("make a client of the shoot: %w", err)
	}
	var times expression.Durations
	for open := false; len(times) < timedAnswers; {
		took, err := answerTime(ctx, transport, config.Host)
		if err != nil {
			return nil, err
		}
		if open {
			times = append(times, took)
		}
		open = took < longestAnswer
	}
	return times, nil
}

func answerTime(ctx context.Context, transport http.RoundTripper, host string) (time.Duration, error) {
	limited, cancel := context.WithTimeout(ctx, longestAnswer)
	defer cancel()
	began := clock.RealClock{}.Now()
	outcome, why := Reach(limited, transport, host)
	took := clock.RealClock{}.Since(began).Truncate(time.Millisecond)
	switch {
	case outcome == timeline.Acknowledged:
		return min(took, longestAnswer), nil
	case limited.Err() != nil && ctx.Err() == nil:
		return longestAnswer, nil
	}
	return 0, fmt.Errorf("ask the shoot: %s", why)
}
