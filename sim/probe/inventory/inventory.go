// Package inventory lists what there is, once and completely: all objects of a cluster, of a shoot or of a
// control-plane namespace, by whatever types the API server serves. What cannot be listed it names as unreadable.
//
// It follows nothing over time; the probes do.
package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// pageSize of lists.
const pageSize = 500

// listers bounds how many resources are listed at once.
const listers = 8

// Take lists every object of every type that a cluster serves, cluster-scoped ones too, and records it. The ids
// are technical ids of shoots, to be looked for in what is found. It returns the versions of the objects.
func Take(ctx context.Context, cluster string, config *rest.Config, when string, ids []string,
	more []timeline.Item, to timeline.Recorder) (Versions, error) {
	items, unreadable, err := list(ctx, world.Unlimited(config), metav1.NamespaceAll)
	versions := Versions{}
	if err == nil {
		err = versions.add(ctx, cluster, config, items)
	}
	if err != nil {
		return nil, fmt.Errorf("take the inventory of %q: %w", cluster, err)
	}
	seen := timeline.InventorySeen{When: when, Items: []timeline.Item{}, Unreadable: unreadable}
	for _, found := range items {
		item := found.item
		item.Mentions = mentions(ids, found.texts)
		if item.Namespace == "" {
			item.Managers = found.writers()
		}
		seen.Items = append(seen.Items, item)
	}
	seen.Items = append(seen.Items, withMentions(more, ids)...)
	sortItems(seen.Items)
	to.Record(timeline.Event{Actor: world.Observer, Subject: cluster, Payload: seen})
	return versions, nil
}

// Items records what is in a place that is no cluster.
func Items(place, when string, ids []string, items []timeline.Item, to timeline.Recorder) {
	seen := timeline.InventorySeen{When: when, Items: withMentions(items, ids)}
	sortItems(seen.Items)
	to.Record(timeline.Event{Actor: world.Observer, Subject: place, Payload: seen})
}

func withMentions(items []timeline.Item, ids []string) []timeline.Item {
	all := []timeline.Item{}
	for _, item := range items {
		if len(item.Mentions) == 0 {
			item.Mentions = mentions(ids, []string{item.Namespace, item.Name})
		}
		all = append(all, item)
	}
	return all
}

func sortItems(items []timeline.Item) {
	slices.SortFunc(items, func(a, b timeline.Item) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// mentions are the ids that stand in the texts. Where one id begins with another, the longer one counts.
func mentions(ids, texts []string) []string {
	found := map[string]bool{}
	for _, text := range texts {
		for from := range len(text) {
			if id := mentionedAt(text[from:], ids); id != "" {
				found[id] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// mentionedAt is the longest id that the text begins with, as a word: "shoot--p--alpha-etcd" is of alpha,
// "shoot--p--alpha2" is not.
func mentionedAt(text string, ids []string) string {
	longest := ""
	for _, id := range ids {
		rest, begins := strings.CutPrefix(text, id)
		if begins && (rest == "" || !isNameByte(rest[0])) && len(id) > len(longest) {
			longest = id
		}
	}
	return longest
}

func isNameByte(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

type foundItem struct {
	item        timeline.Item
	texts       []string // where ids may stand
	version     string
	annotations map[string]string
	labels      map[string]string
	managers    []string
}

// list everything in a cluster, or of its namespaced objects those of one namespace.
func list(ctx context.Context, config *rest.Config, namespace string) (items []foundItem, unreadable []string,
	err error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("make the metadata client: %w", err)
	}
	var mu sync.Mutex
	one := func(ctx context.Context, resource schema.GroupVersionResource, _ string) error {
		found, err := listOne(ctx, client.Resource(resource).Namespace(namespace), resource.GroupResource())
		mu.Lock()
		defer mu.Unlock()
		items = append(items, found...)
		return err
	}
	unreadable, err = everyResource(ctx, config, namespace, one)
	return items, unreadable, err
}

// everyResource has each resource that a cluster serves listed, several at once; for a namespace, those that have one.
// What could not be discovered or listed is unreadable.
func everyResource(ctx context.Context, config *rest.Config, namespace string,
	list func(ctx context.Context, resource schema.GroupVersionResource, kind string) error,
) (unreadable []string, err error) {
	disco, err := discovery.NewDiscoveryClientForConfig(within(ctx, config))
	if err != nil {
		return nil, fmt.Errorf("make the discovery client: %w", err)
	}
	resources, err := disco.ServerPreferredResources()
	if len(resources) == 0 && err != nil {
		return nil, fmt.Errorf("discover the resources: %w", err)
	}
	if groups := (&discovery.ErrGroupDiscoveryFailed{}); errors.As(err, &groups) {
		for group := range groups.Groups {
			unreadable = append(unreadable, "group "+group.String())
		}
	}
	var mu sync.Mutex
	var workers errgroup.Group
	workers.SetLimit(listers)
	asked := map[string]bool{}
	for resource, kind := range listable(resources, namespace != metav1.NamespaceAll) {
		workers.Go(func() error {
			err := list(ctx, resource, kind)
			mu.Lock()
			defer mu.Unlock()
			asked[class(resource.GroupResource())] = true
			if err != nil {
				unreadable = append(unreadable, class(resource.GroupResource())+": "+err.Error())
			}
			return nil
		})
	}
	_ = workers.Wait() // what goes wrong is unreadable
	unreadable = append(unreadable, unasked(resources, namespace != metav1.NamespaceAll, asked)...)
	slices.Sort(unreadable)
	return unreadable, nil
}

// within lets requests that take no context, as those of discovery, end with this one.
func within(ctx context.Context, config *rest.Config) *rest.Config {
	bounded := rest.CopyConfig(config)
	bounded.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) { return next.RoundTrip(r.WithContext(ctx)) })
	})
	return bounded
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip carries the request.
func (t roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// unasked are resources that the server lists, and that nobody has asked for.
func unasked(served []*metav1.APIResourceList, namespaced bool, asked map[string]bool) (all []string) {
	for _, group := range served {
		name, _, grouped := strings.Cut(group.GroupVersion, "/")
		for _, resource := range group.APIResources {
			id := schema.GroupResource{Resource: resource.Name}
			if grouped {
				id.Group = name
			}
			answers := virtual[resource.Name+"."+id.Group]
			due := slices.Contains(resource.Verbs, "list") && !answers && (resource.Namespaced || !namespaced)
			if due && !asked[class(id)] {
				all = append(all, class(id)+": nobody has listed them")
			}
		}
	}
	return all
}

// listable are the resources that can be listed, each with its kind.
func listable(all []*metav1.APIResourceList, namespaced bool) map[schema.GroupVersionResource]string {
	found := map[schema.GroupVersionResource]string{}
	for _, group := range all {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			continue // an API server never says so
		}
		for _, resource := range group.APIResources {
			serves := slices.Contains(resource.Verbs, "list") && !virtual[resource.Name+"."+version.Group]
			if serves && (resource.Namespaced || !namespaced) {
				found[version.WithResource(resource.Name)] = resource.Kind
			}
		}
	}
	return found
}

// virtual resources are answers about something else, not objects.
var virtual = map[string]bool{"componentstatuses.": true, "nodes.metrics.k8s.io": true, "pods.metrics.k8s.io": true}

func listOne(ctx context.Context, client metadata.ResourceInterface, resource schema.GroupResource) ([]foundItem,
	error) {
	var found []foundItem
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := client.List(ctx, options)
		if err != nil {
			return found, err
		}
		for i := range page.Items {
			found = append(found, describeItem(resource, &page.Items[i]))
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return found, nil
		}
	}
}

func describeItem(resource schema.GroupResource, object *metav1.PartialObjectMetadata) foundItem {
	found := foundItem{
		item:  timeline.Item{Class: class(resource), Namespace: object.Namespace, Name: object.Name, UID: string(object.UID)},
		texts: []string{object.Namespace, object.Name}, version: object.ResourceVersion, annotations: object.Annotations,
		labels: object.Labels,
	}
	if owner := metav1.GetControllerOf(object); owner != nil {
		found.item.Owner = string(owner.UID)
	}
	for _, entry := range object.ManagedFields {
		found.managers = append(found.managers, entry.Manager)
	}
	for _, texts := range []map[string]string{object.Labels, object.Annotations} {
		for _, text := range texts {
			found.texts = append(found.texts, text)
		}
	}
	return found
}

// writers are its managers, each once.
func (f foundItem) writers() []string {
	return slices.Compact(slices.Sorted(slices.Values(f.managers)))
}

func class(resource schema.GroupResource) string { return resource.String() }
