package probe

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// Seeds watches the Seeds in the garden and records every change of their state.
type Seeds struct {
	Garden client.WithWatch

	last map[string]timeline.SeedSeen // by name
}

var _ Watched = &Seeds{}

// Name of the probe.
func (s *Seeds) Name() string { return timeline.StateOfSeeds }

// Pace of samples.
func (s *Seeds) Pace() Pace { return gatheringPace }

// Sample lists once.
func (s *Seeds) Sample(ctx context.Context, to timeline.Recorder) error {
	list := listOf("SeedList")
	if err := s.Garden.List(ctx, list); err != nil {
		return fmt.Errorf("list the Seeds: %w", err)
	}
	return s.listed(list.Items, to)
}

// Follow lists and watches until the watch ends.
func (s *Seeds) Follow(ctx context.Context, to timeline.Recorder) error {
	return followObjects(ctx, s.Garden, listOf("SeedList"), func(there []unstructured.Unstructured) error {
		return s.listed(there, to)
	}, func(kind watch.EventType, seed *unstructured.Unstructured) error {
		if kind == watch.Deleted {
			s.note(seed.GetName(), timeline.SeedSeen{Absent: true}, to)
			return nil
		}
		return s.see(seed, to)
	})
}

func (s *Seeds) listed(there []unstructured.Unstructured, to timeline.Recorder) error {
	names := map[string]bool{}
	for i := range there {
		names[there[i].GetName()] = true
		if err := s.see(&there[i], to); err != nil {
			return err
		}
	}
	for name := range s.last {
		if !names[name] {
			s.note(name, timeline.SeedSeen{Absent: true}, to)
		}
	}
	return nil
}

func (s *Seeds) see(object *unstructured.Unstructured, to timeline.Recorder) error {
	seed := &gardencorev1beta1.Seed{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, seed); err != nil {
		return fmt.Errorf("decode the Seed %q: %w", object.GetName(), err)
	}
	seen := timeline.SeedSeen{UID: string(seed.UID), Deleting: seed.DeletionTimestamp != nil}
	seen.Conditions = conditionsAre(seed.Status.Conditions)
	s.note(seed.Name, seen, to)
	return nil
}

func (s *Seeds) note(name string, seen timeline.SeedSeen, to timeline.Recorder) {
	if s.last == nil {
		s.last = map[string]timeline.SeedSeen{}
	}
	if last, known := s.last[name]; known && reflect.DeepEqual(last, seen) {
		return
	}
	s.last[name] = seen
	to.Record(timeline.Event{Actor: world.Observer, Subject: name, Payload: seen})
}
