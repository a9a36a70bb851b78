package inventory

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/sim/world"
)

// Versions are the objects of clusters, each with what changes when somebody writes it.
type Versions map[string]string

// heartbeats are classes that are written all the time without meaning anything: that an object is there counts, and
// what its labels and annotations say, which is the owner where the lease is a claim of ownership
// (docs/ownership.md#spec-9-1). Of nodes counts what is wanted of them too.
var heartbeats = map[string]bool{leasesClass: true, nodesClass: true}

const nodesClass = "nodes"

// leader is where a heartbeat stands that is no Lease, as old libraries write it into Endpoints and ConfigMaps.
const leader = "control-plane.alpha.kubernetes.io/leader"

// passing are classes that describe something else and expire by themselves.
var passing = map[string]bool{"events": true, "events.events.k8s.io": true}

// Add the versions of every object of every type that a cluster serves, but for those in the namespaces to be left out.
func (v Versions) Add(ctx context.Context, cluster string, config *rest.Config, leaveOut ...string) error {
	items, unreadable, err := list(ctx, world.Unlimited(config), metav1.NamespaceAll)
	if err != nil {
		return err
	}
	if len(unreadable) > 0 {
		return fmt.Errorf("list every type: %s", strings.Join(unreadable, "; "))
	}
	return v.add(ctx, cluster, config, items, leaveOut...)
}

// add the versions of what was listed.
func (v Versions) add(ctx context.Context, cluster string, config *rest.Config, items []foundItem,
	leaveOut ...string) error {
	specs, err := nodeSpecs(ctx, config, items)
	if err != nil {
		return err
	}
	for _, found := range items {
		item := found.item
		if passing[item.Class] || slices.Contains(leaveOut, item.Namespace) {
			continue
		}
		version := "resource version " + found.version
		if _, elects := found.annotations[leader]; elects || heartbeats[item.Class] {
			delete(found.annotations, leader)
			version = fmt.Sprintf("uid %s %v %v%s", item.UID, found.labels, found.annotations, specs[item.UID])
		}
		v[fmt.Sprintf("%s: %s %s", cluster, item.Class, path.Join(item.Namespace, item.Name))] = version
	}
	return nil
}

// nodeSpecs are the specs of a cluster's nodes, by UID: what takes pods off them is in no metadata.
func nodeSpecs(ctx context.Context, config *rest.Config, items []foundItem) (map[string]string, error) {
	if !slices.ContainsFunc(items, func(found foundItem) bool { return found.item.Class == nodesClass }) {
		return map[string]string{}, nil
	}
	client, err := kubernetes.NewForConfig(world.Unlimited(config))
	if err != nil {
		return nil, fmt.Errorf("make a client for nodes: %w", err)
	}
	specs := map[string]string{}
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := client.CoreV1().Nodes().List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list the nodes: %w", err)
		}
		for i := range page.Items {
			content, err := json.Marshal(page.Items[i].Spec)
			if err != nil {
				return nil, fmt.Errorf("marshal the spec of node %q: %w", page.Items[i].Name, err)
			}
			specs[string(page.Items[i].UID)] = " " + string(content)
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return specs, nil
		}
	}
}

// Moved says what is not as it was when v was taken, in order.
func (v Versions) Moved(now Versions) []string {
	var moved []string
	for _, object := range slices.Sorted(maps.Keys(now)) {
		was, known := v[object]
		switch {
		case !known:
			moved = append(moved, object+" is new")
		case was != now[object]:
			moved = append(moved, fmt.Sprintf("%s has changed (%s, before %s)", object, now[object], was))
		}
	}
	for _, object := range slices.Sorted(maps.Keys(v)) {
		if _, there := now[object]; !there {
			moved = append(moved, object+" has gone")
		}
	}
	return moved
}
