package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/wording"
	"github.com/transplant-sim/transplant/sim/world"
)

// States watches the objects of one kind and type that a shoot has on one seed, and records what their extension keeps
// in their state, and what it does with them.
type States struct {
	Shoot     string
	Namespace string // of the shoot
	SeedName  string
	Seed      client.WithWatch
	Kind      extensionsv1alpha1.Kind
	Type      string
	// Uncompared says that status.state may rightly be another one after a move.
	Uncompared bool

	last map[string]timeline.ExtensionStateSeen // by name
}

var _ Watched = &States{}

// fleeting words of errors, such as times and ids, are others at each attempt.
var fleeting = regexp.MustCompile(`\S*\d\S*`)

func lasting(problem string) string { return fleeting.ReplaceAllString(problem, "") }

// Name of the probe.
func (s *States) Name() string {
	return fmt.Sprintf("state of %s/%s of %s on %s", s.Kind.Name, s.Type, s.Shoot, s.SeedName)
}

// Follow lists and watches until the watch ends.
func (s *States) Follow(ctx context.Context, to timeline.Recorder) error {
	return followObjects(ctx, s.Seed, s.list(), func(there []unstructured.Unstructured) error {
		return s.listed(there, to)
	}, func(kind watch.EventType, object *unstructured.Unstructured) error {
		return s.see(kind, object, to)
	}, client.InNamespace(s.Namespace))
}

// Pace of samples.
func (s *States) Pace() Pace { return gatheringPace }

// Sample lists once.
func (s *States) Sample(ctx context.Context, to timeline.Recorder) error {
	list := s.list()
	if err := s.Seed.List(ctx, list, client.InNamespace(s.Namespace)); err != nil {
		return fmt.Errorf("list %s: %w", s.Kind.Resource, err)
	}
	return s.listed(list.Items, to)
}

func (s *States) list() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	gvk := s.Kind.GroupVersionKind()
	gvk.Kind += "List"
	list.SetGroupVersionKind(gvk)
	return list
}

func (s *States) listed(there []unstructured.Unstructured, to timeline.Recorder) error {
	names := map[string]bool{}
	for i := range there {
		names[there[i].GetName()] = true
		if err := s.see(watch.Added, &there[i], to); err != nil {
			return err
		}
	}
	for name := range s.last {
		if !names[name] {
			s.gone(name, to)
		}
	}
	return nil
}

func (s *States) see(kind watch.EventType, object *unstructured.Unstructured, to timeline.Recorder) error {
	if its, _, _ := unstructured.NestedString(object.Object, "spec", "type"); its != s.Type {
		return nil
	}
	if kind == watch.Deleted {
		s.gone(object.GetName(), to)
		return nil
	}
	seen := timeline.ExtensionStateSeen{Seed: s.SeedName, Object: s.Kind.Name + " " + object.GetName(),
		UID: string(object.GetUID())}
	seen.Operation.Type, _, _ = unstructured.NestedString(object.Object, "status", "lastOperation", "type")
	seen.Operation.State, _, _ = unstructured.NestedString(object.Object, "status", "lastOperation", "state")
	seen.Asked = object.GetAnnotations()[constants.GardenerOperation]
	problem, _, _ := unstructured.NestedString(object.Object, "status", "lastError", "description")
	seen.Error = wording.Reason(problem)
	if state, has, _ := unstructured.NestedFieldNoCopy(object.Object, "status", "state"); has && !s.Uncompared {
		content, err := json.Marshal(state)
		if err != nil {
			return fmt.Errorf("read the state of %s: %w", seen.Object, err)
		}
		sum := sha256.Sum256(content)
		seen.Holds = hex.EncodeToString(sum[:])
	}
	s.note(object.GetName(), seen, to)
	return nil
}

func (s *States) gone(name string, to timeline.Recorder) {
	s.note(name, timeline.ExtensionStateSeen{Seed: s.SeedName, Object: s.Kind.Name + " " + name, Gone: true}, to)
	delete(s.last, name)
}

func (s *States) note(name string, seen timeline.ExtensionStateSeen, to timeline.Recorder) {
	seen.Uncompared = s.Uncompared
	if s.last == nil {
		s.last = map[string]timeline.ExtensionStateSeen{}
	}
	was := s.last[name]
	if was.Error != "" && seen.Error != "" && lasting(was.Error) == lasting(seen.Error) {
		was.Error = seen.Error
	}
	if was == seen {
		return
	}
	s.last[name] = seen
	to.Record(timeline.Event{Actor: world.Observer, Subject: s.Shoot, Payload: seen})
}
