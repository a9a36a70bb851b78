package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/probe/access"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Revisions is a client that lists the load's ConfigMaps once and then watches them, going on from the last resource
// version it has seen for as long as the server lets it, as informers do. It records every version it sees.
type Revisions struct {
	Shoot   string
	Actor   string
	Connect access.Connector

	kept access.Kept[kubernetes.Interface]
	last string // resource version to go on from; empty before the first list
	gone int    // HTTP status by which the server has said that the client must start over; 0 if it has not
}

var _ probe.Follower = &Revisions{}

const (
	watchedResource = "configmaps"
	// batchTime is how long versions are collected before they are recorded as one event.
	batchTime = 500 * time.Millisecond
	// watchSeconds bounds one watch on the server's side.
	watchSeconds = 300
)

// Name of the probe.
func (r *Revisions) Name() string { return timeline.RevisionsOf(r.Shoot) }

// Follow lists if it must, and watches until the watch ends.
func (r *Revisions) Follow(ctx context.Context, to timeline.Recorder) error {
	if err := r.follow(ctx, to); ctx.Err() == nil {
		return err
	}
	return nil // it was to end, and has ended with an error or without, as it was just then
}

func (r *Revisions) follow(ctx context.Context, to timeline.Recorder) error {
	config, err := r.Connect(ctx)
	if err != nil {
		return fmt.Errorf("find out how to reach the shoot: %w", err)
	}
	client, err := r.kept.Get(config, access.Watching) // else it would wait for most of a minute where nobody is any more
	if err != nil {
		return err
	}
	maps := client.CoreV1().ConfigMaps(probe.Namespace)
	if r.last == "" {
		list, err := maps.List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return fmt.Errorf("list ConfigMaps: %w", err)
		}
		r.record(to, "list", []int64{access.VersionOf(list.ResourceVersion)})
		r.last = list.ResourceVersion
	}
	seconds := int64(watchSeconds)
	stream, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: r.last, AllowWatchBookmarks: true,
		TimeoutSeconds: &seconds})
	if err != nil {
		err = fmt.Errorf("watch ConfigMaps from resource version %s: %w", r.last, err)
		r.startOver(err)
		return err
	}
	defer stream.Stop()
	return r.collect(ctx, to, stream.ResultChan())
}

// startOver when the server has said so.
func (r *Revisions) startOver(err error) {
	if apierrors.IsGone(err) || apierrors.IsResourceExpired(err) {
		r.last, r.gone = "", access.StatusOf(err)
	}
}

func (r *Revisions) collect(ctx context.Context, to timeline.Recorder, events <-chan watch.Event) error {
	var batch []int64
	flush := func() {
		if len(batch) > 0 {
			r.record(to, "watch", batch)
			batch = nil
		}
	}
	defer flush()
	ticker := time.NewTicker(batchTime)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			flush()
		case event, open := <-events:
			if !open {
				return errors.New("the watch has ended")
			}
			if event.Type == watch.Error {
				flush()
				err := apierrors.FromObject(event.Object)
				r.startOver(err)
				return fmt.Errorf("the watch has ended: %w", err)
			}
			if version, err := meta.NewAccessor().ResourceVersion(event.Object); err == nil && version != "" {
				r.last = version
				batch = append(batch, access.VersionOf(version))
			}
		}
	}
}

func (r *Revisions) record(to timeline.Recorder, source string, versions []int64) {
	to.Record(timeline.Event{Actor: r.Actor, Subject: r.Shoot, Payload: timeline.VersionsSeen{
		Resource: watchedResource, Source: source, Versions: versions, Gone: r.gone != 0, Status: r.gone,
	}})
	r.gone = 0
}
