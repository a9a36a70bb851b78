package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"

	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// Shoots watches a Shoot in the garden and records every change of its state.
type Shoots struct {
	Shoot  string
	Key    types.NamespacedName
	Garden client.WithWatch

	last *timeline.ShootSeen
}

var _ Follower = &Shoots{}

// Name of the probe.
func (s *Shoots) Name() string { return "state of " + s.Shoot }

// Follow lists and watches until the watch ends.
func (s *Shoots) Follow(ctx context.Context, to timeline.Recorder) error {
	list := &gardencorev1beta1.ShootList{}
	one := client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", s.Key.Name)}
	if err := s.Garden.List(ctx, list, client.InNamespace(s.Key.Namespace), one); err != nil {
		return fmt.Errorf("list Shoots: %w", err)
	}
	if len(list.Items) == 0 {
		s.note(to, timeline.ShootSeen{Absent: true})
	}
	for i := range list.Items {
		s.note(to, Describe(&list.Items[i]))
	}
	stream, err := s.Garden.Watch(ctx, &gardencorev1beta1.ShootList{}, client.InNamespace(s.Key.Namespace), one,
		&client.ListOptions{Raw: watchFrom(list.ResourceVersion)})
	if err != nil {
		return fmt.Errorf("watch Shoots: %w", err)
	}
	defer stream.Stop()
	return s.collect(ctx, to, stream.ResultChan())
}

func (s *Shoots) collect(ctx context.Context, to timeline.Recorder, events <-chan watch.Event) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-events:
			if !open {
				return errors.New("the watch has ended")
			}
			shoot, is := event.Object.(*gardencorev1beta1.Shoot)
			switch {
			case event.Type == watch.Deleted && is:
				s.note(to, timeline.ShootSeen{Absent: true})
			case is:
				s.note(to, Describe(shoot))
			case event.Type == watch.Error:
				return errors.New("the watch has ended with an error")
			}
		}
	}
}

func (s *Shoots) note(to timeline.Recorder, seen timeline.ShootSeen) {
	if s.last != nil && reflect.DeepEqual(*s.last, seen) {
		return
	}
	s.last = &seen
	to.Record(timeline.Event{Actor: world.Observer, Subject: s.Shoot, Payload: seen})
}

// Describe a Shoot for the timeline.
func Describe(shoot *gardencorev1beta1.Shoot) timeline.ShootSeen {
	facts := world.DescribeShoot(shoot)
	seen := timeline.ShootSeen{
		UID: string(shoot.UID), TechnicalID: facts.TechnicalID, SpecSeed: facts.SpecSeed, StatusSeed: facts.Seed,
		WantsToSleep: world.WantsToSleep(shoot), Hibernated: facts.Hibernated, Deleting: facts.Deleting,
		Operation: timeline.Operation{
			Type: facts.LastOperation.Type, State: facts.LastOperation.State,
			Progress: facts.LastOperation.Progress, Description: facts.LastOperation.Description,
		},
		Errors: facts.LastErrors,
	}
	if identity := shoot.Status.ClusterIdentity; identity != nil {
		seen.ClusterIdentity = *identity
	}
	for _, statuses := range []map[string]string{facts.Conditions, facts.Constraints} {
		for name, status := range statuses {
			seen.Conditions = append(seen.Conditions, timeline.ConditionIs{Type: name, Status: status})
		}
	}
	slices.SortFunc(seen.Conditions, func(a, b timeline.ConditionIs) int { return cmp.Compare(a.Type, b.Type) })
	return seen
}
