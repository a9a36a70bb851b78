package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// listers bounds how many resources are listed at once.
const listers = 8

// Inventory lists every object of every type that a cluster serves, cluster-scoped ones too, and records it. The ids
// are technical ids of shoots, to be looked for in what is found.
func Inventory(ctx context.Context, cluster string, config *rest.Config, when string, ids []string, more []timeline.Item, to timeline.Recorder) error {
	items, unreadable, err := list(ctx, world.Unlimited(config))
	if err != nil {
		return fmt.Errorf("take the inventory of %q: %w", cluster, err)
	}
	seen := timeline.InventorySeen{When: when, Items: []timeline.Item{}, Unreadable: unreadable}
	for _, found := range items {
		item := found.item
		item.Mentions = mentions(ids, found.texts)
		seen.Items = append(seen.Items, item)
	}
	seen.Items = append(seen.Items, withMentions(more, ids)...)
	sortItems(seen.Items)
	to.Record(timeline.Event{Actor: world.Observer, Subject: cluster, Payload: seen})
	return nil
}

// Belongings records what is in a place that is no cluster.
func Belongings(place, when string, ids []string, items []timeline.Item, to timeline.Recorder) {
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
}

func list(ctx context.Context, config *rest.Config) (items []foundItem, unreadable []string, err error) {
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("make the discovery client: %w", err)
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("make the metadata client: %w", err)
	}
	resources, err := disco.ServerPreferredResources()
	if len(resources) == 0 && err != nil {
		return nil, nil, fmt.Errorf("discover the resources: %w", err)
	}
	if groups := (&discovery.ErrGroupDiscoveryFailed{}); errors.As(err, &groups) {
		for group := range groups.Groups {
			unreadable = append(unreadable, "group "+group.String())
		}
	}
	var mu sync.Mutex
	var workers sync.WaitGroup
	asked := map[string]bool{}
	tickets := make(chan struct{}, listers)
	for _, resource := range listable(resources) {
		workers.Go(func() {
			tickets <- struct{}{}
			defer func() { <-tickets }()
			found, err := listOne(ctx, client, resource)
			mu.Lock()
			defer mu.Unlock()
			items = append(items, found...)
			asked[class(resource.GroupResource())] = true
			if err != nil {
				unreadable = append(unreadable, class(resource.GroupResource())+": "+err.Error())
			}
		})
	}
	workers.Wait()
	unreadable = append(unreadable, unasked(resources, asked)...)
	slices.Sort(unreadable)
	return items, unreadable, nil
}

// unasked are resources that the server lists, and that nobody has asked for.
func unasked(served []*metav1.APIResourceList, asked map[string]bool) (all []string) {
	for _, group := range served {
		name, _, grouped := strings.Cut(group.GroupVersion, "/")
		for _, resource := range group.APIResources {
			id := schema.GroupResource{Resource: resource.Name}
			if grouped {
				id.Group = name
			}
			answers := virtual[resource.Name+"."+id.Group]
			if slices.Contains(resource.Verbs, "list") && !answers && !asked[class(id)] {
				all = append(all, class(id)+": nobody has listed them")
			}
		}
	}
	return all
}

func listable(all []*metav1.APIResourceList) []schema.GroupVersionResource {
	var found []schema.GroupVersionResource
	for _, group := range all {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			continue // an API server never says so
		}
		for _, resource := range group.APIResources {
			if slices.Contains(resource.Verbs, "list") && !virtual[resource.Name+"."+version.Group] {
				found = append(found, version.WithResource(resource.Name))
			}
		}
	}
	return found
}

// virtual resources are answers about something else, not objects.
var virtual = map[string]bool{"componentstatuses.": true, "nodes.metrics.k8s.io": true, "pods.metrics.k8s.io": true}

func listOne(ctx context.Context, client metadata.Interface, resource schema.GroupVersionResource) ([]foundItem, error) {
	var found []foundItem
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := client.Resource(resource).List(ctx, options)
		if err != nil {
			return found, err
		}
		for i := range page.Items {
			found = append(found, describeItem(resource.GroupResource(), &page.Items[i]))
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return found, nil
		}
	}
}

func describeItem(resource schema.GroupResource, object *metav1.PartialObjectMetadata) foundItem {
	found := foundItem{
		item:  timeline.Item{Class: class(resource), Namespace: object.Namespace, Name: object.Name, UID: string(object.UID)},
		texts: []string{object.Namespace, object.Name}, version: object.ResourceVersion, annotations: object.Annotations, labels: object.Labels,
	}
	if owner := metav1.GetControllerOf(object); owner != nil {
		found.item.Owner = string(owner.UID)
	}
	for _, texts := range []map[string]string{object.Labels, object.Annotations} {
		for _, text := range texts {
			found.texts = append(found.texts, text)
		}
	}
	return found
}

func class(resource schema.GroupResource) string { return resource.String() }
