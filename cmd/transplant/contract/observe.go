package contract

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/sim/contract"
	"github.com/transplant-sim/transplant/sim/probe/inventory"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// version is an object as an API server had it.
type version struct {
	number int64 // its resource version
	gone   bool
	object *unstructured.Unstructured
}

// observer follows the objects of a kind on a seed.
type observer struct {
	mu      sync.Mutex
	latest  map[client.ObjectKey]version
	changed chan struct{} // closed at the next version
	err     error
}

func newObserver() *observer {
	return &observer{latest: map[client.ObjectKey]version{}, changed: make(chan struct{})}
}

// follow watches until ctx is done, and takes a watch up again that ends.
func (o *observer) follow(ctx context.Context, c client.WithWatch, kind schema.GroupVersionKind,
	react func(context.Context, *unstructured.Unstructured) error) {
	for ctx.Err() == nil {
		if err := o.followOnce(ctx, c, kind, react); err != nil && ctx.Err() == nil {
			o.fails(err)
			select {
			case <-ctx.Done():
			case <-time.After(poll):
			}
		}
	}
}

func (o *observer) followOnce(ctx context.Context, c client.WithWatch, kind schema.GroupVersionKind,
	react func(context.Context, *unstructured.Unstructured) error) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.List(ctx, list); err != nil {
		return fmt.Errorf("list %s: %w", kind.Kind, err)
	}
	there := map[client.ObjectKey]bool{}
	for i := range list.Items {
		there[client.ObjectKeyFromObject(&list.Items[i])] = true
		if err := o.take(ctx, watch.Modified, &list.Items[i], react); err != nil {
			return err
		}
	}
	if err := o.miss(there, list.GetResourceVersion()); err != nil {
		return err
	}
	from := &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}
	events, err := c.Watch(ctx, list, &client.ListOptions{Raw: from})
	if err != nil {
		return fmt.Errorf("watch %s: %w", kind.Kind, err)
	}
	defer events.Stop()
	o.fails(nil)
	for event := range events.ResultChan() {
		object, is := event.Object.(*unstructured.Unstructured)
		if !is || event.Type == watch.Error {
			return fmt.Errorf("watch %s: %v", kind.Kind, event.Object)
		}
		if err := o.take(ctx, event.Type, object, react); err != nil {
			return err
		}
	}
	return nil
}

func (o *observer) fails(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = err
}

// works returns why the kit does not see the objects; nil if it does, or does again before the wait has passed.
func (o *observer) works(ctx context.Context, wait time.Duration) error {
	for until := time.Now().Add(wait); ; {
		o.mu.Lock()
		err := o.err
		o.mu.Unlock()
		if err == nil || time.Now().After(until) {
			return err
		}
		if err := sleep(ctx, poll); err != nil {
			return err
		}
	}
}

// miss what is not there any more.
func (o *observer) miss(there map[client.ObjectKey]bool, at string) error {
	number, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return fmt.Errorf("read the resource version of a list: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, v := range o.latest {
		if !there[key] && !v.gone {
			v.number, v.gone = number, true
			o.latest[key] = v
		}
	}
	o.wake()
	return nil
}

// wake those who wait for a version. The caller has the lock.
func (o *observer) wake() {
	close(o.changed)
	o.changed = make(chan struct{})
}

func (o *observer) take(ctx context.Context, event watch.EventType, object *unstructured.Unstructured,
	react func(context.Context, *unstructured.Unstructured) error) error {
	number, err := strconv.ParseInt(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return fmt.Errorf("read the resource version: %w", err)
	}
	o.mu.Lock()
	o.latest[client.ObjectKeyFromObject(object)] = version{number, event == watch.Deleted, object}
	o.wake()
	o.mu.Unlock()
	if react == nil {
		return nil
	}
	return react(ctx, object)
}

// see is the latest version of an object, and a channel that is closed at the next version of any.
func (o *observer) see(key client.ObjectKey) (version, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.latest[key], o.changed
}

// in are the latest versions of the objects of a namespace, by name.
func (o *observer) in(namespace string) map[string]version {
	o.mu.Lock()
	defer o.mu.Unlock()
	found := map[string]version{}
	for key, v := range o.latest {
		if key.Namespace == namespace {
			found[key.Name] = v
		}
	}
	return found
}

// all are the latest versions of the objects that are there.
func (o *observer) all() map[client.ObjectKey]version {
	o.mu.Lock()
	defer o.mu.Unlock()
	found := maps.Clone(o.latest)
	maps.DeleteFunc(found, func(_ client.ObjectKey, v version) bool { return v.gone })
	return found
}

// await waits until a version from a number on satisfies a condition. The error is what the latest lacks.
func (o *observer) await(ctx context.Context, key client.ObjectKey, from int64, wait time.Duration,
	satisfies func(version) error) (version, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		latest, changed := o.see(key)
		err := errors.New("it has not reacted")
		if latest.number >= from && latest.object != nil {
			if err = satisfies(latest); err == nil {
				return latest, nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return latest, err
		}
	}
}

// applied says of a ManagedResource that all its objects are applied and healthy: there is nobody who would apply them.
func applied(c client.Client) func(context.Context, *unstructured.Unstructured) error {
	return func(ctx context.Context, object *unstructured.Unstructured) error {
		observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
		if observed == object.GetGeneration() || object.GetDeletionTimestamp() != nil {
			return nil
		}
		now := time.Now().UTC().Format(time.RFC3339)
		var conditions []any
		for kind, status := range map[gardencorev1beta1.ConditionType]gardencorev1beta1.ConditionStatus{
			resourcesv1alpha1.ResourcesApplied:     gardencorev1beta1.ConditionTrue,
			resourcesv1alpha1.ResourcesHealthy:     gardencorev1beta1.ConditionTrue,
			resourcesv1alpha1.ResourcesProgressing: gardencorev1beta1.ConditionFalse,
		} {
			conditions = append(conditions, map[string]any{"type": string(kind), "status": string(status),
				"reason": "ContractKit", "message": "The contract kit applies nothing.", "lastTransitionTime": now,
				"lastUpdateTime": now})
		}
		content, err := json.Marshal(map[string]any{"status": map[string]any{"observedGeneration": object.GetGeneration(),
			"conditions": conditions}})
		if err != nil {
			return fmt.Errorf("encode a status: %w", err)
		}
		err = c.Status().Patch(ctx, object.DeepCopy(), client.RawPatch("application/merge-patch+json", content),
			applierOwner)
		if err = client.IgnoreNotFound(err); err != nil {
			return fmt.Errorf("say that ManagedResource %q is applied: %w", object.GetName(), err)
		}
		return nil
	}
}

// managedIn are the ManagedResources of the empty class that were seen in a namespace.
func managedIn(o *observer, namespace string) []contract.Managed {
	var all []contract.Managed
	found := o.in(namespace)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		spec, _, _ := unstructured.NestedMap(found[name].object.Object, "spec")
		if class, _ := spec["class"].(string); class != "" {
			continue
		}
		keeps, _ := spec["keepObjects"].(bool)
		all = append(all, contract.Managed{Name: name, KeepObjects: keeps, Deleted: found[name].gone})
	}
	return all
}

// writersBeside are those who write into namespaces besides the extension.
var writersBeside = []string{string(applierOwner), "kube-controller-manager", "kube-apiserver", "kube-scheduler"}

// itemsIn are the objects of a namespace that the extension has written, but for those that come and go by themselves.
func itemsIn(ctx context.Context, config *rest.Config, namespace, own string) ([]contract.Item, error) {
	seen, _, err := inventory.ControlPlane(ctx, config, namespace, namespace)
	if err != nil {
		return nil, err
	}
	return ofExtension(seen.Items, own), nil
}

func ofExtension(seen []timeline.Item, own string) []contract.Item {
	items := []contract.Item{}
	for _, item := range seen {
		others := slices.DeleteFunc(slices.Clone(item.Managers), func(m string) bool {
			return slices.Contains(writersBeside, m)
		})
		if slices.Contains(item.Managers, string(fieldOwner)) { // made by the kit
			continue
		}
		switch item.Class {
		case own, "events", "events.events.k8s.io", "leases.coordination.k8s.io":
			continue
		}
		if len(others) > 0 {
			items = append(items, contract.Item{Resource: item.Class, Name: item.Name, Persisted: item.Persisted})
		}
	}
	return items
}

// persistedIn are digests of the Secrets of a namespace that have persist=true, by name.
func persistedIn(ctx context.Context, c client.Client, namespace string) (map[string]string, error) {
	secrets := &corev1.SecretList{}
	if err := c.List(ctx, secrets, client.InNamespace(namespace),
		client.MatchingLabels{constants.Persist: constants.LabelTrue}); err != nil {
		return nil, fmt.Errorf("list the Secrets with %s=true: %w", constants.Persist, err)
	}
	digests := map[string]string{}
	for _, secret := range secrets.Items {
		content, err := json.Marshal([]any{secret.Data, secret.Labels, secret.Type})
		if err != nil {
			return nil, fmt.Errorf("encode Secret %q: %w", secret.Name, err)
		}
		sum := sha256.Sum256(content)
		digests[secret.Name] = hex.EncodeToString(sum[:])
	}
	return digests, nil
}
