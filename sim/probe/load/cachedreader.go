package load

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/probe/access"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// CachedReader is a user who never asks DNS again. It reads what the API server at its address has in memory, on a new
// connection each time: that takes no store, so that only the gateway is in the way of an answer when the epoch there
// is over.
type CachedReader struct {
	Shoot string
	Actor string
	// Connect leads to one address, always.
	Connect access.Connector

	kept access.Kept[kubernetes.Interface]
}

var _ probe.Probe = &CachedReader{}

// Name of the probe.
func (r *CachedReader) Name() string { return timeline.CachedReaderOf(r.Shoot) }

// Pace is five times a second.
func (r *CachedReader) Pace() probe.Pace {
	return probe.Pace{Every: 200 * time.Millisecond, Timeout: 2 * time.Second, Overlap: 10}
}

// Sample reads once. That nobody answers is a finding, not an error.
func (r *CachedReader) Sample(ctx context.Context, to timeline.Recorder) error {
	config, err := r.Connect(ctx)
	if err != nil {
		return fmt.Errorf("find out how to reach the shoot: %w", err)
	}
	client, err := r.kept.Get(access.Compact(config), access.Fresh)
	if err != nil {
		return err
	}
	list := &corev1.NamespaceList{} // of the kinds that every cluster has some of, the smallest
	read := timeline.CachedRead{Outcome: timeline.Acknowledged, Sent: timeline.Moment(to.Now())}
	err = client.CoreV1().RESTClient().Get().MaxRetries(0).Resource("namespaces").Param("resourceVersion",
		"0").Do(ctx).Into(list)
	read.Answered = timeline.Moment(to.Now())
	if read.ResourceVersion = access.VersionOf(list.ResourceVersion); err != nil {
		read.Outcome, read.Error = timeline.Failed, err.Error()
	}
	if err != nil && ctx.Err() != nil {
		read.Outcome = timeline.Unknown // nobody there has been heard of
	}
	to.Record(timeline.Event{Actor: r.Actor, Subject: r.Shoot, Payload: read})
	return nil
}
