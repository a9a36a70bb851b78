package probe

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
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

var _ Watched = &Shoots{}

// Name of the probe.
func (s *Shoots) Name() string { return timeline.StateOf(s.Shoot) }

// Pace of samples.
func (s *Shoots) Pace() Pace { return gatheringPace }

// Sample lists once.
func (s *Shoots) Sample(ctx context.Context, to timeline.Recorder) error {
	list := listOf("ShootList")
	if err := s.Garden.List(ctx, list, s.only()...); err != nil {
		return fmt.Errorf("list the Shoot %q: %w", s.Shoot, err)
	}
	return s.listed(list.Items, to)
}

// Follow lists and watches until the watch ends.
func (s *Shoots) Follow(ctx context.Context, to timeline.Recorder) error {
	return followObjects(ctx, s.Garden, listOf("ShootList"), func(there []unstructured.Unstructured) error {
		return s.listed(there, to)
	}, func(kind watch.EventType, shoot *unstructured.Unstructured) error {
		if kind == watch.Deleted {
			s.note(to, timeline.ShootSeen{Absent: true})
			return nil
		}
		return s.see(to, shoot)
	}, s.only()...)
}

// listOf the garden's objects as they are on the wire.
func listOf(kind string) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gardencorev1beta1.SchemeGroupVersion.WithKind(kind))
	return list
}

// only the one Shoot.
func (s *Shoots) only() []client.ListOption {
	return []client.ListOption{client.InNamespace(s.Key.Namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", s.Key.Name)}}
}

func (s *Shoots) listed(there []unstructured.Unstructured, to timeline.Recorder) error {
	if len(there) == 0 {
		s.note(to, timeline.ShootSeen{Absent: true})
	}
	for i := range there {
		if err := s.see(to, &there[i]); err != nil {
			return err
		}
	}
	return nil
}

// see what our types know of a Shoot, and what they do not know.
func (s *Shoots) see(to timeline.Recorder, object *unstructured.Unstructured) error {
	shoot := &gardencorev1beta1.Shoot{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, shoot); err != nil {
		return fmt.Errorf("decode the Shoot %q: %w", object.GetName(), err)
	}
	seen := Describe(shoot)
	seen.Unmodelled = world.Unmodelled(object)
	s.note(to, seen)
	return nil
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
	seen.Conditions = conditionsAre(shoot.Status.Conditions, shoot.Status.Constraints)
	return seen
}

// conditionsAre are the conditions of all lists, in the order of their types.
func conditionsAre(lists ...[]gardencorev1beta1.Condition) []timeline.ConditionIs {
	var all []timeline.ConditionIs
	for _, c := range slices.Concat(lists...) {
		is := timeline.ConditionIs{Type: string(c.Type), Status: string(c.Status)}
		if c.Status != gardencorev1beta1.ConditionTrue {
			is.Reason, is.Message = c.Reason, c.Message
		}
		all = append(all, is)
	}
	slices.SortFunc(all, func(a, b timeline.ConditionIs) int { return cmp.Compare(a.Type, b.Type) })
	return all
}
