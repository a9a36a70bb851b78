package probe

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// Reachability tries up to ten times a second, on a new connection each, whether a shoot's API answers by its public name.
// It asks for something that only a working store can answer.
type Reachability struct {
	Shoot   string
	Actor   string
	Connect Connector
	// Beside is how many shoots are tried beside each other, this one among them: the more, the less often each.
	Beside int

	kept kept[http.RoundTripper]
}

var _ Probe = &Reachability{}

const reachPath = "/api/v1/namespaces/kube-system"

// Name of the probe.
func (r *Reachability) Name() string { return "reachability of " + r.Shoot }

// Pace is ten times a second, and for all shoots together fifty times: with twenty of them, ten times each were most of a core.
func (r *Reachability) Pace() Pace {
	return Pace{Every: max(100*time.Millisecond, time.Duration(r.Beside)*20*time.Millisecond), Timeout: time.Second, Overlap: 20}
}

// Sample tries once. Not to be reached is a finding, not an error.
func (r *Reachability) Sample(ctx context.Context, to timeline.Recorder) error {
	config, err := r.Connect(ctx)
	if err != nil {
		return fmt.Errorf("find out how to reach the shoot: %w", err)
	}
	transport, err := r.kept.get(config, resumingTransport)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+reachPath, nil)
	if err != nil {
		return fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("Accept", runtime.ContentTypeProtobuf) // costs its server less than JSON
	seen := timeline.Reached{Sent: timeline.Moment(to.Now())}
	seen.Outcome, seen.Error = reach(transport, request)
	seen.Answered = timeline.Moment(to.Now())
	to.Record(timeline.Event{Actor: r.Actor, Subject: r.Shoot, Payload: seen})
	return nil
}

func reach(transport http.RoundTripper, request *http.Request) (timeline.Outcome, string) {
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
