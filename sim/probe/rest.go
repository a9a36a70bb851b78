package probe

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/sim/world"
)

// Versions are the objects of clusters, each with what changes when somebody writes it.
type Versions map[string]string

// heartbeats are classes that are written all the time without meaning anything: that an object is there counts, and what
// its annotations say, which is the owner where the lease is a claim of ownership (SPEC 9.1).
var heartbeats = map[string]bool{"leases.coordination.k8s.io": true, "nodes": true}

// leader is where a heartbeat stands that is no Lease, as old libraries write it into Endpoints and ConfigMaps.
const leader = "control-plane.alpha.kubernetes.io/leader"

// passing are classes that tell of something else and expire by themselves.
var passing = map[string]bool{"events": true, "events.events.k8s.io": true}

// Add the versions of every object of every type that a cluster serves, but for those in the namespaces to be left out.
func (v Versions) Add(ctx context.Context, cluster string, config *rest.Config, leaveOut ...string) error {
	items, unreadable, err := list(ctx, world.Unlimited(config))
	if err != nil {
		return err
	}
	if len(unreadable) > 0 {
		return fmt.Errorf("list every type: %s", strings.Join(unreadable, "; "))
	}
	for _, found := range items {
		item := found.item
		if passing[item.Class] || slices.Contains(leaveOut, item.Namespace) {
			continue
		}
		version := "resource version " + found.version
		if _, elects := found.annotations[leader]; elects || heartbeats[item.Class] {
			delete(found.annotations, leader)
			version = fmt.Sprintf("uid %s %v", item.UID, found.annotations)
		}
		v[fmt.Sprintf("%s: %s %s", cluster, item.Class, path.Join(item.Namespace, item.Name))] = version
	}
	return nil
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
