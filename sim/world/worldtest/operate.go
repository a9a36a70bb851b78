package worldtest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// operate moves control planes where the Shoots' specs say, until ctx is done.
func (w *World) operate(ctx context.Context) {
	var paths []string
	for ctx.Err() == nil {
		for _, path := range paths {
			if w.Bug == NeverRests {
				w.update(path, object{"status": object{"observedGeneration": time.Now().UnixMilli()}})
			}
		}
		store := w.garden.store
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
			w.reconcile(ctx, path)
		}
		w.cleanUp(paths)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (w *World) read(path string) (*gardencorev1beta1.Shoot, bool) {
	o, found := w.garden.store.get(path)
	content, _ := json.Marshal(o)
	shoot := &gardencorev1beta1.Shoot{}
	return shoot, found && json.Unmarshal(content, shoot) == nil
}

func (w *World) reconcile(ctx context.Context, path string) {
	shoot, found := w.read(path)
	if !found {
		return
	}
	from, to := text(shoot.Status.SeedName), text(shoot.Spec.SeedName)
	sleeping := shoot.Spec.Hibernation != nil && shoot.Spec.Hibernation.Enabled != nil && *shoot.Spec.Hibernation.Enabled
	switch {
	case from == "":
		w.createShoot(path, shoot, to)
	case from != to:
		w.migrate(ctx, path, shoot, from, to)
	case sleeping != shoot.Status.IsHibernated:
		w.hibernate(path, shoot, sleeping)
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (w *World) report(path, seed string, kind, state string, progress int, hibernated bool) {
	w.update(path, object{"status": object{
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

func (w *World) update(path string, patch object) {
	if o, found := w.garden.store.get(path); found {
		merge(o, patch)
		w.garden.store.put(path, o)
	}
}

func (w *World) createShoot(path string, shoot *gardencorev1beta1.Shoot, seed string) {
	w.report(path, "", "Create", "Processing", 10, false)
	store := newCluster()
	define(store)
	if len(shoot.Spec.Provider.Workers) > 0 {
		for i := range shoot.Spec.Provider.Workers[0].Minimum {
			name := fmt.Sprintf("node-%d", i)
			register(store, name)
			w.call(shoot.Name, "create", "machines", name, 1)
		}
	}
	w.start(shoot.Name, seed, 1, store)
	w.report(path, seed, "Create", "Succeeded", 100, false)
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
func (w *World) start(shoot, seed string, epoch int64, store *Store) {
	server := newServer(store, withBuiltIn(events, pods, nodes, leases, runtimes)...)
	path := "/api/v1/namespaces/" + technicalID(shoot)
	w.seeds[seed].store.put(path, object{"kind": "Namespace", "apiVersion": "v1", "metadata": object{
		"name": technicalID(shoot), "labels": object{"gardener.cloud/role": "shoot"},
	}})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.planes[shoot] = append(w.planes[shoot], &plane{seed: seed, epoch: epoch, server: server, serving: true})
	if name := w.names[shoot]; name != nil {
		name.mu.Lock()
		name.store, name.down = store, false
		name.mu.Unlock()
		return
	}
	w.names[shoot] = newServer(store, withBuiltIn(events, pods, nodes, leases, runtimes)...)
}

// migrate stops the source, copies its store and starts the destination.
func (w *World) migrate(ctx context.Context, path string, shoot *gardencorev1beta1.Shoot, from, to string) {
	name := shoot.Name
	w.report(path, from, "Migrate", "Processing", 50, shoot.Status.IsHibernated)
	if w.Bug == NeverEnds {
		<-ctx.Done()
		return
	}
	w.mu.Lock()
	old := w.planes[name][len(w.planes[name])-1]
	public := w.names[name]
	old.serving = w.Bug == TwoOwners
	w.mu.Unlock()
	public.setDown(true)
	old.server.setDown(w.Bug != TwoOwners)
	plane := "/api/v1/namespaces/" + technicalID(name)
	if w.Bug == LeavesConfig {
		w.seeds[from].store.put(plane+"/configmaps/acme", object{"kind": "ConfigMap", "apiVersion": "v1", "metadata": object{
			"name": "acme", "namespace": technicalID(name),
			"managedFields": []object{{"manager": "acme", "operation": "Update"}},
		}})
	}
	reads := w.seeds[from].readsOf(plane)
	w.report(path, from, "Migrate", "Succeeded", 100, shoot.Status.IsHibernated)
	select {
	case <-ctx.Done():
		return
	case <-time.After(w.Outage):
	}
	w.report(path, to, "Restore", "Processing", 50, shoot.Status.IsHibernated)
	store := old.server.store.copyTo(w.bump(), w.losses())
	if w.Bug == RecreatesCloud {
		w.call(name, "create", "routers", "r-2", old.epoch+1)
	}
	w.start(name, to, old.epoch+1, store)
	if w.Bug == ReplacesNodes {
		store.put("/api/v1/nodes/node-0", nil)
		register(store, "node-0")
	}
	if w.Bug == ReplacesObjects {
		define(store)
	}
	w.leave(ctx, name, from, reads)
	w.report(path, to, "Restore", "Succeeded", 100, shoot.Status.IsHibernated)
}

func (w *World) bump() int64 {
	if w.Bug == NoRevisionBump {
		return -100
	}
	return 1_000_000
}

func (w *World) losses() int {
	if w.Bug == LosesWrites {
		return 3
	}
	return 0
}

// leave a seed, once somebody has read the namespace again.
func (w *World) leave(ctx context.Context, shoot, seed string, reads int) {
	plane := "/api/v1/namespaces/" + technicalID(shoot)
	ctx, cancel := context.WithTimeout(ctx, w.Kept)
	defer cancel()
	for w.seeds[seed].readsOf(plane) == reads && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	w.seeds[seed].store.put(plane, nil)
	if w.Bug == LeavesConfig {
		w.seeds[seed].store.put(plane+"/configmaps/acme", nil)
	}
	if w.Bug == LeavesOrphan {
		w.seeds[seed].store.put("/apis/rbac.authorization.k8s.io/v1/clusterroles/extension-left", object{
			"kind": "ClusterRole", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": object{"name": "extension-left"},
		})
	}
}

func (w *World) hibernate(path string, shoot *gardencorev1beta1.Shoot, asleep bool) {
	w.mu.Lock()
	current := w.planes[shoot.Name][len(w.planes[shoot.Name])-1]
	public := w.names[shoot.Name]
	w.mu.Unlock()
	seed := text(shoot.Status.SeedName)
	w.report(path, seed, "Reconcile", "Processing", 50, shoot.Status.IsHibernated)
	public.setDown(asleep)
	current.server.setDown(asleep)
	w.report(path, seed, "Reconcile", "Succeeded", 100, asleep)
}

// cleanUp forgets control planes of shoots that are gone.
func (w *World) cleanUp(paths []string) {
	there := map[string]bool{}
	for _, path := range paths {
		there[path[strings.LastIndex(path, "/")+1:]] = true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for shoot, planes := range w.planes {
		if there[shoot] {
			continue
		}
		for _, p := range planes {
			p.server.setDown(true)
			w.seeds[p.seed].store.put("/api/v1/namespaces/"+technicalID(shoot), nil)
		}
		w.names[shoot].setDown(true)
		delete(w.planes, shoot)
		delete(w.names, shoot)
	}
}
