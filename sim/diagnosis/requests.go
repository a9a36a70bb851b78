package diagnosis

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Parts of the patience with a shoot after which an object is not worth waiting for: when its extension has given no
// sign of life, and when it has gone on failing.
const (
	silentPart  = 6
	failingPart = 2
)

// Requests are the objects by which extensions are asked for something on a seed, and how long each has waited.
type Requests struct {
	Seed       string
	Extensions []landscape.Extension // third-party ones
	API        dynamic.Interface
	Clock      clock.PassiveClock
	Patience   time.Duration

	open    map[types.UID]time.Time // since when an object is known to have no answer
	failing map[types.UID]time.Time // since when it is known to fail
	known   map[types.UID]bool      // objects that have an answer
	alive   map[duty]time.Time      // when something was answered last
}

// duty is what an extension is there for.
type duty struct{ kind, of string }

// Look at all objects once. Findings are those that are not done, hopeless or not.
func (r *Requests) Look(ctx context.Context) ([]Finding, error) {
	kinds := slices.DeleteFunc(extensionsv1alpha1.Kinds(), func(k extensionsv1alpha1.Kind) bool {
		return !slices.Contains(landscape.ExtensionKinds(), k.Name)
	})
	lists := make([][]extensionsv1alpha1.Object, len(kinds))
	group, ctx := errgroup.WithContext(ctx)
	for i, kind := range kinds {
		group.Go(func() (err error) {
			lists[i], err = r.list(ctx, kind)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if r.open == nil {
		r.open, r.failing = map[types.UID]time.Time{}, map[types.UID]time.Time{}
		r.known, r.alive = map[types.UID]bool{}, map[duty]time.Time{}
	}
	now := r.Clock.Now()
	for i, kind := range kinds {
		for _, object := range lists[i] {
			r.note(duty{kind.Name, object.GetExtensionSpec().GetExtensionType()}, object, now)
		}
	}
	var found []Finding
	for i, kind := range kinds {
		for _, object := range lists[i] {
			if f, open := r.judge(duty{kind.Name, object.GetExtensionSpec().GetExtensionType()}, object, now); open {
				found = append(found, f)
			}
		}
	}
	return found, nil
}

func (r *Requests) list(ctx context.Context, kind extensionsv1alpha1.Kind) ([]extensionsv1alpha1.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	resource := extensionsv1alpha1.SchemeGroupVersion.WithResource(kind.Resource)
	list, err := r.API.Resource(resource).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if apierrors.IsNotFound(err) {
		return nil, nil // the kind is not served there
	}
	if err != nil {
		return nil, fmt.Errorf("list the %s of seed %q: %w", kind.Resource, r.Seed, err)
	}
	var objects []extensionsv1alpha1.Object
	for i := range list.Items {
		object := kind.New()
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, object); err != nil {
			return nil, fmt.Errorf("decode the %s %q of seed %q: %w", kind.Name, list.Items[i].GetName(), r.Seed, err)
		}
		if object.GetDeletionTimestamp() == nil {
			objects = append(objects, object)
		}
	}
	return objects, nil
}

// note what has become of an object since it was looked at last.
func (r *Requests) note(of duty, object extensionsv1alpha1.Object, now time.Time) {
	uid := object.GetUID()
	switch {
	case !answered(object):
		if _, is := r.open[uid]; !is {
			r.open[uid] = now
		}
		return
	case !r.known[uid]:
		r.known[uid], r.alive[of] = true, now
		delete(r.open, uid)
	}
	if succeeded(object) {
		delete(r.failing, uid)
	} else if object.GetExtensionStatus().GetLastError() != nil {
		if _, is := r.failing[uid]; !is {
			r.failing[uid] = now
		}
	}
}

// answered says whether an object's extension has done anything to it yet.
func answered(object extensionsv1alpha1.Object) bool {
	status := object.GetExtensionStatus()
	return status.GetLastOperation() != nil || status.GetLastError() != nil || status.GetObservedGeneration() > 0 ||
		len(object.GetFinalizers()) > 0
}

func succeeded(object extensionsv1alpha1.Object) bool {
	last := object.GetExtensionStatus().GetLastOperation()
	return last != nil && last.State == gardencorev1beta1.LastOperationStateSucceeded
}

// judge an object: what is not done is open.
func (r *Requests) judge(of duty, object extensionsv1alpha1.Object, now time.Time) (f Finding, open bool) {
	last, lastError := object.GetExtensionStatus().GetLastOperation(), object.GetExtensionStatus().GetLastError()
	if succeeded(object) ||
		object.GetAnnotations()[constants.GardenerOperation] == constants.GardenerOperationWaitForState {
		return Finding{}, false
	}
	owner := r.ownerOf(of)
	f = Finding{Owner: owner, Cluster: r.Seed, State: Suspect, object: true}
	name := fmt.Sprintf("%s %s of type %s", of.kind, nameOf(object), of.of)
	since, silent := r.open[object.GetUID()]
	switch waited := now.Sub(since); {
	case silent:
		f.unanswered = waited
		f.What = fmt.Sprintf("%s waits for it, without any answer for %s", name, waited.Round(time.Second))
		if most := r.Patience / silentPart; waited >= most && now.Sub(r.heard(of, since)) >= most {
			f.State = Silent
		}
	case lastError != nil:
		f.What = fmt.Sprintf("%s has its error: %s", name, oneLine(lastError.Description))
		if began, is := r.failing[object.GetUID()]; is && now.Sub(began) >= r.Patience/failingPart {
			f.State = Failing
		}
	default:
		f.What = name + " is not done"
		if last != nil {
			f.What = fmt.Sprintf("%s: %s %s %d%%: %s", name, last.Type, last.State, last.Progress, oneLine(last.Description))
		}
	}
	return f, true
}

// heard is when there was a sign of life last; the time that is given when there was none.
func (r *Requests) heard(of duty, otherwise time.Time) time.Time {
	if at, was := r.alive[of]; was {
		return at
	}
	return otherwise
}

func nameOf(object extensionsv1alpha1.Object) string {
	if object.GetNamespace() == "" {
		return object.GetName()
	}
	return object.GetNamespace() + "/" + object.GetName()
}

// ownerOf a duty is who answers for it on this seed; nobody, where none of the landscape's extensions has the type.
func (r *Requests) ownerOf(of duty) world.PodOwner {
	for _, e := range r.Extensions {
		for _, resource := range e.Resources {
			if resource.Kind == of.kind && resource.Type == of.of && resource.IsPrimary() {
				return world.PodOwner{Actor: e.ActorOn(r.Seed), Extension: e.Name}
			}
		}
	}
	if of.of == landscape.ProviderType {
		return world.PodOwner{Actor: landscape.ReferenceProvider(r.Seed)}
	}
	return world.PodOwner{}
}
