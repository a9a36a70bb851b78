package load

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"

	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/probe/access"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Reader reads keys of the load twice a second, the way its writer writes them.
type Reader struct {
	Shoot   string
	Actor   string
	Connect access.Connector
	Keys    *Keys

	kept access.Kept[kubernetes.Interface]
}

var _ probe.Probe = &Reader{}

// Name of the probe.
func (r *Reader) Name() string { return timeline.ReaderOf(r.Shoot) }

// Pace is twice a second.
func (r *Reader) Pace() probe.Pace {
	return probe.Pace{Every: 500 * time.Millisecond, Timeout: 2 * time.Second, Overlap: 4}
}

// Sample reads once.
func (r *Reader) Sample(ctx context.Context, to timeline.Recorder) error {
	name, any := r.Keys.created()
	if !any {
		return nil
	}
	config, err := r.Connect(ctx)
	if err != nil {
		return fmt.Errorf("find out how to reach the shoot: %w", err)
	}
	client, err := r.kept.Get(access.Compact(config), access.Fresh)
	if err != nil {
		return err
	}
	read := timeline.Read{Key: name, Sent: timeline.Moment(to.Now())}
	found := &corev1.ConfigMap{}
	err = once(client.CoreV1().RESTClient().Get()).Name(name).Do(ctx).Into(found)
	read.Answered = timeline.Moment(to.Now())
	switch {
	case err == nil:
		read.Outcome, read.Number, read.ResourceVersion = timeline.Acknowledged, numberOf(found),
			access.VersionOf(found.ResourceVersion)
	case apierrors.IsNotFound(err):
		read.Outcome = timeline.Acknowledged
	default:
		read.Outcome, read.Error = timeline.Unknown, err.Error()
	}
	to.Record(timeline.Event{Actor: r.Actor, Subject: r.Shoot, Payload: read})
	return nil
}

// numberOf is the write that a ConfigMap holds; -1 when it holds none, which nobody has written.
func numberOf(c *corev1.ConfigMap) int {
	number, err := strconv.Atoi(c.Data[fieldNumber])
	if err != nil {
		return -1
	}
	return number
}
