package worldtest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// gardenlet does the work of those of all seeds of a world.
type gardenlet struct{ of *World }

// operate moves control planes where the Shoots' specs say, until ctx is done.
func (g gardenlet) operate(ctx context.Context) {
	var paths []string
	for ctx.Err() == nil {
		for _, path := range paths {
			if g.of.Bug == NeverRests {
				g.update(path, object{"status": object{"observedGeneration": time.Now().UnixMilli()}})
			}
		}
		store := g.of.garden.store
		store.mu.Lock()
		paths = nil
		for path := range store.objects {
			if strings.Contains(path, "/shoots/") {
				paths = append(paths, path)
			}
		}
		changed := store.changed
		store.mu.Unlock()
		for _, path := range paths {
			g.reconcile(ctx, path)
		}
		g.cleanUp(paths)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (g gardenlet) read(path string) (*gardencorev1beta1.Shoot, bool) {
	stored, found := g.of.garden.store.get(path)
	content, _ := json.Marshal(stored)
	shoot := &gardencorev1beta1.Shoot{}
	return shoot, found && json.Unmarshal(content, shoot) == nil
}

func (g gardenlet) reconcile(ctx context.Context, path string) {
	shoot, found := g.read(path)
	if !found {
		return
	}
	from, to := text(shoot.Status.SeedName), text(shoot.Spec.SeedName)
	sleeping := shoot.Spec.Hibernation != nil && shoot.Spec.Hibernation.Enabled != nil && *shoot.Spec.Hibernation.Enabled
	switch {
	case from == "":
		g.createShoot(path, shoot, to)
	case from != to:
		g.migrate(ctx, path, shoot, from, to)
	case sleeping != shoot.Status.IsHibernated:
		g.hibernate(path, shoot, sleeping)
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (g gardenlet) report(path, seed string, kind, state string, progress int, hibernated bool) {
	g.update(path, object{"status": object{
		"seedName": seed, "technicalID": technicalID(path[strings.LastIndex(path, "/")+1:]), "uid": "u",
		"clusterIdentity": "c",
		"hibernated":      hibernated, "conditions": conditions(state), "gardener": object{"id": "", "name": "",
			"version": ""},
		"lastOperation": object{"type": kind, "state": state, "progress": progress, "description": kind + " " + state,
			"lastUpdateTime": time.Now().UTC().Format(time.RFC3339)},
	}})
}

// conditions of a shoot: nothing is known to be well while somebody works on it.
func conditions(state string) []object {
	status := "Progressing"
	if state == "Succeeded" {
		status = "True"
	}
	var all []object
	for _, kind := range []string{"APIServerAvailable", "ControlPlaneHealthy", "EveryNodeReady",
		"SystemComponentsHealthy"} {
		all = append(all, object{"type": kind, "status": status})
	}
	return all
}

func (g gardenlet) update(path string, patch object) {
	if old, found := g.of.garden.store.get(path); found {
		merge(old, patch)
		g.of.garden.store.put(path, old)
	}
}

func (g gardenlet) createShoot(path string, shoot *gardencorev1beta1.Shoot, seed string) {
	g.report(path, "", "Create", "Processing", 10, false)
	store := newCluster()
	define(store)
	if len(shoot.Spec.Provider.Workers) > 0 {
		for i := range shoot.Spec.Provider.Workers[0].Minimum {
			name := fmt.Sprintf("node-%d", i)
			register(store, name)
			g.of.ledger.add(shoot.Name, "create", "machines", name, 1)
		}
	}
	g.start(shoot.Name, seed, 1, store)
	g.report(path, seed, "Create", "Succeeded", 100, false)
}

// define an object in a shoot that is nobody's but its user's.
func define(store *Store) {
	store.put("/apis/node.k8s.io/v1/runtimeclasses/of-a-user", object{
		"kind": "RuntimeClass", "apiVersion": "node.k8s.io/v1", "metadata": object{"name": "of-a-user"}, "handler": "own",
	})
}

func register(store *Store, name string) {
	node := store.put("/api/v1/nodes/"+name, object{
		"kind": "Node", "apiVersion": "v1", "metadata": object{"name": name}, "spec": object{"providerID": "cloud://" + name},
		"status": object{"conditions": []object{{"type": "Ready", "status": "True"}}, "nodeInfo": object{"bootID": "boot"}},
	})
	store.put("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"+name, object{
		"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": object{
			"name": name, "namespace": "kube-node-lease",
			"ownerReferences": []any{object{"apiVersion": "v1", "kind": "Node", "name": name, "uid": metaOf(node)["uid"]}},
		},
		"spec": object{"renewTime": time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")},
	})
}

// start a control plane, and let the public name lead to it.
func (g gardenlet) start(shoot, seed string, epoch int64, store *Store) {
	server := newServer(store, withBuiltIn(events, pods, nodes, leases, runtimes)...)
	path := "/api/v1/namespaces/" + technicalID(shoot)
	g.of.seeds[seed].store.put(path, object{"kind": "Namespace", "apiVersion": "v1", "metadata": object{
		"name": technicalID(shoot), "labels": object{"gardener.cloud/role": "shoot"},
	}})
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	g.of.planes[shoot] = append(g.of.planes[shoot], &plane{seed: seed, epoch: epoch, server: server, serving: true})
	if name := g.of.names[shoot]; name != nil {
		name.mu.Lock()
		name.store, name.down = store, false
		name.mu.Unlock()
		return
	}
	g.of.names[shoot] = newServer(store, withBuiltIn(events, pods, nodes, leases, runtimes)...)
}

// migrate stops the source, copies its store and starts the destination.
func (g gardenlet) migrate(ctx context.Context, path string, shoot *gardencorev1beta1.Shoot, from, to string) {
	name := shoot.Name
	g.report(path, from, "Migrate", "Processing", 50, shoot.Status.IsHibernated)
	if g.of.Bug == NeverEnds {
		<-ctx.Done()
		return
	}
	g.of.mu.Lock()
	old := g.of.planes[name][len(g.of.planes[name])-1]
	public := g.of.names[name]
	old.serving = g.of.Bug == TwoOwners
	g.of.mu.Unlock()
	public.setDown(true)
	old.server.setDown(g.of.Bug != TwoOwners)
	plane := "/api/v1/namespaces/" + technicalID(name)
	if g.of.Bug == LeavesConfig {
		g.of.seeds[from].store.put(plane+"/configmaps/acme", object{"kind": "ConfigMap", "apiVersion": "v1",
			"metadata": object{"name": "acme", "namespace": technicalID(name),
				"managedFields": []object{{"manager": "acme", "operation": "Update"}}},
		})
	}
	reads := g.of.seeds[from].readsOf(plane)
	g.report(path, from, "Migrate", "Succeeded", 100, shoot.Status.IsHibernated)
	select {
	case <-ctx.Done():
		return
	case <-time.After(g.of.Outage):
	}
	g.report(path, to, "Restore", "Processing", 50, shoot.Status.IsHibernated)
	store := old.server.store.copyTo(g.of.Bug.bump(), g.of.Bug.losses())
	if g.of.Bug == RecreatesCloud {
		g.of.ledger.add(name, "create", "routers", "r-2", old.epoch+1)
	}
	g.start(name, to, old.epoch+1, store)
	if g.of.Bug == ReplacesNodes {
		store.put("/api/v1/nodes/node-0", nil)
		register(store, "node-0")
	}
	if g.of.Bug == ReplacesObjects {
		define(store)
	}
	g.leave(ctx, name, from, reads)
	g.report(path, to, "Restore", "Succeeded", 100, shoot.Status.IsHibernated)
}

func (b Bug) bump() int64 {
	if b == NoRevisionBump {
		return -100
	}
	return 1_000_000
}

func (b Bug) losses() int {
	if b == LosesWrites {
		return 3
	}
	return 0
}

// leave a seed, once somebody has read the namespace again.
func (g gardenlet) leave(ctx context.Context, shoot, seed string, reads int) {
	plane := "/api/v1/namespaces/" + technicalID(shoot)
	ctx, cancel := context.WithTimeout(ctx, g.of.Kept)
	defer cancel()
	for g.of.seeds[seed].readsOf(plane) == reads && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	g.of.seeds[seed].store.put(plane, nil)
	if g.of.Bug == LeavesConfig {
		g.of.seeds[seed].store.put(plane+"/configmaps/acme", nil)
	}
	if g.of.Bug == LeavesOrphan {
		g.of.seeds[seed].store.put("/apis/rbac.authorization.k8s.io/v1/clusterroles/extension-left", object{
			"kind": "ClusterRole", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": object{"name": "extension-left"},
		})
	}
}

func (g gardenlet) hibernate(path string, shoot *gardencorev1beta1.Shoot, asleep bool) {
	g.of.mu.Lock()
	current := g.of.planes[shoot.Name][len(g.of.planes[shoot.Name])-1]
	public := g.of.names[shoot.Name]
	g.of.mu.Unlock()
	seed := text(shoot.Status.SeedName)
	g.report(path, seed, "Reconcile", "Processing", 50, shoot.Status.IsHibernated)
	public.setDown(asleep)
	current.server.setDown(asleep)
	g.report(path, seed, "Reconcile", "Succeeded", 100, asleep)
}

// cleanUp forgets control planes of shoots that are gone.
func (g gardenlet) cleanUp(paths []string) {
	there := map[string]bool{}
	for _, path := range paths {
		there[path[strings.LastIndex(path, "/")+1:]] = true
	}
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	for shoot, planes := range g.of.planes {
		if there[shoot] {
			continue
		}
		for _, p := range planes {
			p.server.setDown(true)
			g.of.seeds[p.seed].store.put("/api/v1/namespaces/"+technicalID(shoot), nil)
		}
		g.of.names[shoot].setDown(true)
		delete(g.of.planes, shoot)
		delete(g.of.names, shoot)
	}
}
