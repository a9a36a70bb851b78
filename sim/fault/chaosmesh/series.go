package chaosmesh

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/chaos-mesh/chaos-mesh/api/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/transplant-sim/transplant/sim/world"
)

const (
	// seriesPoll is how often it is looked for what a series has begun: one lists all of it.
	seriesPoll = 500 * time.Millisecond
	// quietLooks find nothing in a row, before it counts that a series begins nothing more.
	quietLooks = 3
)

// series is a Schedule or a Workflow: an object by which Chaos Mesh begins experiments of its own accord.
type series interface {
	client.Object
	ValidateCreate(context.Context, runtime.Object) (admission.Warnings, error)
}

// seriesOf an object; false for every other kind.
func seriesOf(object any) (series, bool) {
	switch o := object.(type) {
	case *v1alpha1.Schedule:
		return o, true
	case *v1alpha1.Workflow:
		return o, true
	}
	return nil, false
}

// begins are the kinds of the experiments of a series, each with where its spec has it, and the label by which they
// name it.
func begins(s series) (kinds map[string]string, label string) {
	kinds = map[string]string{}
	switch o := s.(type) {
	case *v1alpha1.Schedule:
		kinds[string(o.Spec.Type)] = "type"
		return kinds, v1alpha1.LabelManagedBy
	case *v1alpha1.Workflow:
		for i, template := range o.Spec.Templates {
			if template.EmbedChaos != nil || template.Schedule != nil {
				kinds[string(template.Type)] = fmt.Sprintf("templates[%d].templateType", i)
			}
		}
	}
	return kinds, v1alpha1.LabelWorkflow
}

// planSeries: only Chaos Mesh itself can do it, and the records of what it begins say what it has hit.
func planSeries() plan { return plan{lacks: []lack{{}}, mesh: &applied{}} }

// checkSeries finds what Chaos Mesh itself would refuse, and experiments that no backend can do.
func checkSeries(spec *field.Path, object series) (errs field.ErrorList) {
	if _, err := object.ValidateCreate(context.Background(), object); err != nil {
		errs = append(errs, field.Invalid(spec, object.GetObjectKind().GroupVersionKind().Kind, err.Error()))
	}
	kinds, _ := begins(object)
	for kind, at := range kinds {
		path, can := spec.Child(at), beginnable()
		if s, never := supportOf(kind, ""); never && s.Never != "" {
			errs = append(errs, field.Invalid(path, kind, fmt.Sprintf("no backend can do it: %s; must be %s", s.Never,
				alternatives(can))))
		} else if !slices.Contains(can, kind) {
			errs = append(errs, field.Invalid(path, kind, "must be "+alternatives(can)+"; give any other as a fault of its own"))
		}
	}
	for _, at := range beyond(object) {
		errs = append(errs, field.Forbidden(spec.Child(at), "a series cannot have it, because Chaos Mesh would read it in "+
			"another way; give its experiment as a fault of its own"))
	}
	slices.SortFunc(errs, func(a, b *field.Error) int { return cmp.Compare(a.Field, b.Field) })
	return errs
}

// beyond are the fields of the experiments of a series that have another meaning in scenarios: they name clusters and
// links of the landscape there.
func beyond(object series) (found []string) {
	add := func(at string, of *v1alpha1.EmbedChaos) {
		content, err := json.Marshal(of)
		var specs map[string]struct {
			ExternalTargets []string
			RemoteCluster   string
		}
		if err != nil || json.Unmarshal(content, &specs) != nil {
			return // what has no such fields
		}
		for kind, spec := range specs {
			if len(spec.ExternalTargets) > 0 {
				found = append(found, at+kind+".externalTargets")
			}
			if spec.RemoteCluster != "" {
				found = append(found, at+kind+".remoteCluster")
			}
		}
	}
	switch o := object.(type) {
	case *v1alpha1.Schedule:
		add("", &o.Spec.EmbedChaos)
	case *v1alpha1.Workflow:
		for i, template := range o.Spec.Templates {
			if template.EmbedChaos != nil {
				add(fmt.Sprintf("templates[%d].", i), template.EmbedChaos)
			}
		}
	}
	return found
}

// beginnable are the kinds that a series may begin: its own kinds are none, because what they begin would not name it.
func beginnable() []string {
	return slices.DeleteFunc(Kinds(), func(kind string) bool {
		_, is := seriesOf(v1alpha1.AllKindsIncludeScheduleAndWorkflow()[kind].SpawnObject())
		return is
	})
}

// running is a series at work.
type running struct {
	client  client.Client
	cluster string
	object  series
	cancel  context.CancelFunc
	done    chan struct{}

	mutex sync.Mutex
	hits  map[string]bool // pods, by experiment
}

// beginSeries creates the object, and counts what its experiments hit until the heal. The heal deletes it, and ends its
// experiments as if they were faults of their own.
func beginSeries(ctx context.Context, c client.Client, cluster string, object series) (world.Injection, error) {
	r := &running{client: c, cluster: cluster, object: object, done: make(chan struct{}), hits: map[string]bool{}}
	if s, is := object.(*v1alpha1.Schedule); is { // its definition has a default, which an empty text overrules
		s.Spec.ConcurrencyPolicy.Default()
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), createdWithin)
	defer cancel()
	err := c.Create(limited, object)
	if err != nil {
		err = fmt.Errorf("create %s: %w", r, err)
		if apierrors.IsAlreadyExists(err) { // it is somebody else's
			return world.Injection{}, err
		}
	}
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.cancel = cancel
	go func() {
		defer close(r.done)
		// ends with the heal
		_ = wait.PollUntilContextCancel(watching, seriesPoll, true, func(ctx context.Context) (bool, error) {
			_, _ = r.look(ctx) // what cannot be seen now can be seen at the next look
			return false, nil
		})
	}()
	return world.Injection{Heal: r.end, Hits: r.count}, err // it may be there although nobody heard so
}

// String names the object for people.
func (r *running) String() string { return nameOf(r.object, r.cluster) }

// look for the experiments that there are, and note what they have hit.
func (r *running) look(ctx context.Context) (found []experiment, _ error) {
	kinds, label := begins(r.object)
	for kind := range kinds {
		list := v1alpha1.AllKinds()[kind].SpawnList()
		if err := r.client.List(ctx, list, client.InNamespace(r.object.GetNamespace()),
			client.MatchingLabels{label: r.object.GetName()}); err != nil {
			return nil, fmt.Errorf("list the %s that %s has begun: %w", kind, r, err)
		}
		for _, item := range list.GetItems() {
			one, is := item.(experiment)
			if !is {
				return nil, fmt.Errorf("list what %s has begun: a %s has no records", r, kind)
			}
			found = append(found, one)
			r.note(one)
		}
	}
	return found, nil
}

func (r *running) note(one experiment) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, record := range one.GetStatus().Experiment.Records {
		if record.InjectedCount > 0 {
			r.hits[string(one.GetUID())+" "+record.Id] = true
		}
	}
}

// count is how many pods, or containers, were hit, each by how many experiments hit it.
func (r *running) count() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return len(r.hits)
}

// end deletes the object, and then the experiments that it has begun, until there are no more.
func (r *running) end(ctx context.Context) error {
	r.cancel()
	<-r.done
	_, unseen := r.look(ctx)
	if err := r.client.Delete(ctx, r.object); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", r, errors.Join(err, unseen))
	}
	// As long as a heal may take: an experiment that is released by force takes a while.
	ctx, cancel := context.WithTimeout(ctx, world.HealTimeout)
	defer cancel()
	quiet := 0
	err := wait.PollUntilContextCancel(ctx, meshPoll, true, func(ctx context.Context) (bool, error) {
		if err := r.client.Get(ctx, client.ObjectKeyFromObject(r.object), r.object); !apierrors.IsNotFound(err) {
			return false, err
		}
		left, err := r.stop(ctx)
		if quiet++; left {
			quiet = 0
		}
		return quiet == quietLooks, err
	})
	if err != nil {
		return fmt.Errorf("wait until Chaos Mesh has ended %s: %w", r, err)
	}
	return nil
}

// stop ends the experiments that there are, and whatever would begin more: the nodes of a Workflow. It says whether
// there were some.
func (r *running) stop(ctx context.Context) (some bool, _ error) {
	if _, is := r.object.(*v1alpha1.Workflow); is {
		of := []client.ListOption{client.InNamespace(r.object.GetNamespace()),
			client.MatchingLabels{v1alpha1.LabelWorkflow: r.object.GetName()}}
		nodes := &v1alpha1.WorkflowNodeList{}
		if err := r.client.List(ctx, nodes, of...); err != nil {
			return false, fmt.Errorf("list the nodes of %s: %w", r, err)
		}
		for i := range nodes.Items {
			some = true
			if err := r.client.Delete(ctx, &nodes.Items[i]); client.IgnoreNotFound(err) != nil {
				return some, fmt.Errorf("delete a node of %s: %w", r, err)
			}
		}
	}
	left, err := r.look(ctx)
	for _, one := range left {
		some = true
		m := &meshed{applied: &applied{}, cluster: r.cluster, client: r.client, object: one}
		if err := m.end(ctx); err != nil {
			return some, err
		}
	}
	return some, err
}
