package cleanup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Action is what is to be done now with an object.
type Action string

// Actions.
const (
	// Keep leaves the object alone for good.
	Keep Action = "keep"
	// Queue leaves it alone until the steps before its own are done.
	Queue Action = "queue"
	// Delete deletes it with the grace period of the decision.
	Delete Action = "delete"
	// Wait gives it time; its finalizers stay until the time of the decision.
	Wait Action = "wait"
	// Finalize takes all finalizers off it.
	Finalize Action = "finalize"
)

// Annotations by which the snapshot controller is asked to delete a snapshot at the cloud
// (docs/specification/cleanup.md#spec-6-4).
const (
	SnapshotBeingDeleted      = "snapshot.storage.kubernetes.io/volumesnapshot-being-deleted"
	SnapshotBeingDeletedValue = "yes"
	SnapshotBeingCreated      = "snapshot.storage.kubernetes.io/volumesnapshot-being-created"
)

// Decision is what is to be done with one object, and why.
type Decision struct {
	// Object is its kind, name and what else is known about it.
	Object metav1.PartialObjectMetadata
	// Step is the object's; 0 if its kind is not cleaned up.
	Step   Step
	Action Action
	// Grace is for Delete.
	Grace time.Duration
	// Until is for Wait: when finalizers are taken away; zero if there are none to take.
	Until time.Time
	// ReleaseSnapshot is whether the annotations are to be set that release the snapshot at the cloud, whatever the
	// action.
	ReleaseSnapshot bool
	// Tolerated is whether nobody waits for the object, whatever the action.
	Tolerated bool
	// Why explains the decision to a human.
	Why string
}

// Holds is whether the step is not done because of this object.
func (d Decision) Holds() bool {
	return !d.Tolerated && (d.Action == Delete || d.Action == Wait || d.Action == Finalize)
}

// Cluster is what clean-up knows of a shoot.
type Cluster struct {
	// Annotations are those of the Shoot.
	Annotations map[string]string
	// Objects are those that are there; those of kinds that are not cleaned up may be among them.
	Objects []metav1.PartialObjectMetadata
	// Namespaces are those that are there; nil if nobody knows, in which case none is taken for gone.
	Namespaces []string
	// Start is when the clean-up began; zero if nobody knows, in which case nothing was made too late.
	Start time.Time
}

// Plan is what is to be done now.
type Plan struct {
	// Step is the step at work; 0 if nothing holds the deletion up any more. What nobody waits for may be left to do.
	Step Step
	// Decisions are in order of steps, kinds, namespaces and names.
	Decisions []Decision
}

// Decide says what is to be done now with each object. Objects of later steps are left alone while something holds up
// an earlier one. It fails if the annotation for the step at work cannot be read.
func Decide(c Cluster, now time.Time) (*Plan, error) {
	plan := &Plan{}
	for _, step := range Steps() {
		rules, err := c.rules(step, now)
		// An annotation that cannot be read is an error once its step is reached, not before.
		if err != nil && plan.Step == 0 {
			return nil, err
		}
		for _, object := range c.of(step) {
			d := rules.decide(object)
			if plan.Step != 0 && plan.Step != step && d.Action != Keep {
				d = Decision{Object: object, Step: step, Action: Queue, Why: fmt.Sprintf("waits until step %d, %s, is done",
					plan.Step, plan.Step)}
			}
			plan.Decisions = append(plan.Decisions, d)
		}
		if plan.Step == 0 && slices.ContainsFunc(plan.Decisions, Decision.Holds) {
			plan.Step = step
		}
	}
	for _, object := range c.of(0) {
		plan.Decisions = append(plan.Decisions,
			Decision{Object: object, Action: Keep, Why: "objects of this kind are not cleaned up: they go with the cluster"})
	}
	return plan, nil
}

// of are the objects of a step, sorted; of no step those of kinds that are not cleaned up.
func (c Cluster) of(step Step) []metav1.PartialObjectMetadata {
	var found []metav1.PartialObjectMetadata
	order := map[string]int{}
	for i, k := range kinds {
		order[k.Kind] = i
	}
	for _, o := range c.Objects {
		if k, _ := kindOf(o.GroupVersionKind()); k.Step == step {
			found = append(found, o)
		}
	}
	slices.SortStableFunc(found, func(a, b metav1.PartialObjectMetadata) int {
		return cmp.Or(cmp.Compare(order[a.Kind], order[b.Kind]), strings.Compare(a.Kind, b.Kind),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return found
}

// rules are what holds for one step at one moment.
type rules struct {
	Cluster
	Periods
	step Step
	now  time.Time
}

func (c Cluster) rules(step Step, now time.Time) (rules, error) {
	periods, err := PeriodsOf(step, c.Annotations)
	return rules{Cluster: c, Periods: periods, step: step, now: now}, err
}

func (r rules) decide(object metav1.PartialObjectMetadata) Decision {
	k, _ := kindOf(object.GroupVersionKind())
	d := Decision{Object: object, Step: r.step}
	if spared := k.spared(object.Labels); spared != "" {
		d.Action, d.Why = Keep, "it is labelled "+spared
		return d
	}
	if Skipped(r.Annotations) && !k.evenSkipped() {
		d.Action, d.Why = Keep, "the shoot asks to skip clean-up"
		return d
	}
	r.act(&d)
	if why := r.tolerated(object); why != "" {
		d.Tolerated, d.Why = true, d.Why+"; not waited for: "+why
	}
	return d
}

// act decides by how long ago the object was deleted.
func (r rules) act(d *Decision) {
	deleted := d.Object.DeletionTimestamp
	if deleted == nil {
		d.Action, d.Grace, d.Why = Delete, r.Grace, fmt.Sprintf("it is to go, within %s", r.Grace)
		return
	}
	d.ReleaseSnapshot = d.Object.Kind == volumeSnapshotContent && r.now.After(deleted.Add(r.Grace)) && !released(d.Object)
	d.Action = Wait
	due := deleted.Add(r.Finalize)
	switch {
	case len(d.Object.Finalizers) == 0:
		d.Why = "it is ending"
	case r.homeless(d.Object):
		d.Why = "its finalizers cannot be taken away"
	// At once is at once, also of what was deleted with a grace period of its own.
	case r.Finalize == 0 || r.now.After(due):
		d.Action, d.Why = Finalize, fmt.Sprintf("it was deleted at %s, and finalizers are left: %s", moment(deleted.Time),
			strings.Join(d.Object.Finalizers, ", "))
	default:
		d.Until, d.Why = due, fmt.Sprintf("it was deleted at %s, and finalizers are left until %s: %s", moment(deleted.Time),
			moment(due), strings.Join(d.Object.Finalizers, ", "))
	}
}

func released(object metav1.PartialObjectMetadata) bool {
	_, deleted := object.Annotations[SnapshotBeingDeleted]
	_, created := object.Annotations[SnapshotBeingCreated]
	return deleted && !created
}

// tolerated says why nobody waits for an object, "" if it is waited for (docs/specification/cleanup.md#spec-6-6). That
// holds for snapshots as well (docs/specification/quirks.md#quirk-x2).
func (r rules) tolerated(object metav1.PartialObjectMetadata) string {
	if r.step < KubernetesResources {
		return ""
	}
	if r.homeless(object) {
		return "its namespace is gone"
	}
	if limit := r.Start.Add(r.Finalize); !r.Start.IsZero() && object.CreationTimestamp.After(limit) {
		return "it was made after " + moment(limit) + ", when nothing should be made any more"
	}
	return ""
}

// homeless is whether an object's namespace is gone, so that the API server lets nobody change the object any more.
func (r rules) homeless(object metav1.PartialObjectMetadata) bool {
	return object.Namespace != "" && r.Namespaces != nil && !slices.Contains(r.Namespaces, object.Namespace)
}

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }
