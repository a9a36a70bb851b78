package oracle_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

func time1(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func shoot(spec, status, operation, state string) timeline.ShootSeen {
	return timeline.ShootSeen{
		UID: "u", TechnicalID: id, ClusterIdentity: "c", SpecSeed: spec, StatusSeed: status,
		Operation: timeline.Operation{Type: operation, State: state, Progress: 50, Description: "Copying backups"},
	}
}

// marked is a shoot with fields that our types do not have.
func marked(seed, unmodelled string) timeline.ShootSeen {
	seen := shoot(seed, seed, "Reconcile", "Succeeded")
	seen.Unmodelled = unmodelled
	return seen
}

func seen(p timeline.ShootSeen) timeline.Event { return of("alpha", p) }

func call(verb, what string, epoch int64, outcome string) timeline.Event {
	return by("extensions-a", id, timeline.CloudCalled{Number: 7, Verb: verb, What: what, ID: "m-1", Name: "worker",
		Epoch: epoch, Outcome: outcome, Took: outcome == "OK"})
}

func TestCloudUntouched(t *testing.T) {
	t.Parallel()
	asleep := shoot("a", "a", "Reconcile", "Succeeded")
	asleep.WantsToSleep, asleep.Hibernated = true, true
	fallingAsleep := shoot("a", "a", "Reconcile", "Succeeded")
	fallingAsleep.WantsToSleep = true
	own := of("", timeline.RunStarted{Extensions: []string{"acme"}})
	forNobody := func(actor, verb, what string) timeline.Event {
		return by(actor, "", timeline.CloudCalled{Verb: verb, What: what, ID: "x-1", Outcome: "OK", Took: true})
	}
	aSeed := described(`{"seeds": [{"name": "alpha", "hostedBy": "b"}]}`)
	guest := func(spec, status string) timeline.Event {
		p := shoot(spec, status, "Reconcile", "Succeeded")
		p.TechnicalID = "shoot--p--beta"
		return of("beta", p)
	}
	claimed := func(verb, claim string) timeline.Event {
		p := timeline.CloudCalled{Verb: verb, What: "volumes", ID: "vol-1", Outcome: "OK", Took: true}
		if claim != "" {
			p.Values = []string{claim}
		}
		return by("control-planes-b", id, p)
	}
	check(t, oracle.CloudUntouched{}, map[string]row{
		"a third-party extension says not whose": {events: history(own, call("create", "machines", 1, "OK"),
			forNobody("acme-b", "create", "routers"), steady(3)),
			lacks: "for which shoot acme-b has made the cloud create routers: its calls say so with the scope of package " +
				"api/cloud"},
		"buckets are no shoot's": {events: history(own, call("create", "machines", 1, "OK"),
			forNobody("acme-b", "create", "buckets"), forNobody("harness", "create", "records"), steady(3))},
		"only names and backups": {events: history(call("create", "machines", 1, "OK"), steady(3), step("migrate"),
			call("put", "records", 2, "OK"), call("delete", "objects", 2, "OK"), call("update", "networks", 2, "OK"))},
		"a name is deleted": {events: history(call("create", "machines", 1, "OK"), steady(3), step("migrate"),
			call("delete", "records", 1, "OK")), want: "delete records"},
		"a machine is deleted": {events: history(call("create", "machines", 1, "OK"), steady(3), step("migrate"),
			call("delete", "machines", 1, "OK")),
			want: "extensions-a has made the cloud delete machines m-1 (worker) (ledger entry 7)"},
		"a router is created": {events: history(call("create", "machines", 1, "OK"), steady(3),
			call("create", "routers", 2, "OK")), want: "create routers"},
		"the end was not read": {events: history(call("create", "machines", 1, "OK"), steady(3), unreadLedger()),
			lacks: "the last entries of the cloud's ledger"},
		"a volume is deleted": {events: history(call("create", "machines", 1, "OK"), call("create", "volumes", 1, "OK"),
			steady(3), step("migrate"), call("delete", "volumes", 1, "OK")), want: "delete volumes"},
		"a volume of a guest that goes": {events: history(aSeed, call("create", "machines", 1, "OK"), guest("alpha", "alpha"),
			claimed("create", "PersistentVolumeClaim shoot--p--beta/data-etcd-main-0"), steady(3), guest("b", "alpha"),
			claimed("delete", ""))},
		"a volume of a guest that has gone": {events: history(aSeed, call("create", "machines", 1, "OK"),
			claimed("create", "PersistentVolumeClaim shoot--p--beta/data-etcd-main-0"), steady(3), guest("b", "b"),
			claimed("delete", ""))},
		"a volume of a guest that stays": {events: history(aSeed, call("create", "machines", 1, "OK"),
			claimed("create", "PersistentVolumeClaim shoot--p--beta/data-etcd-main-0"), steady(3), guest("alpha", "alpha"),
			claimed("delete", "")), want: "delete volumes"},
		"a volume of the seed itself": {events: history(aSeed, call("create", "machines", 1, "OK"),
			claimed("create", "PersistentVolumeClaim default/data"), steady(3), guest("b", "b"), claimed("delete", "")),
			want: "delete volumes"},
		"a machine of a seed": {events: history(described(`{"seeds": [{"name": "alpha", "hostedBy": "b"}]}`),
			call("create", "machines", 1, "OK"), steady(3), step("migrate"), call("delete", "machines", 1, "OK")),
			want: "delete machines"},
		"a refused one": {events: history(call("create", "machines", 1, "OK"), steady(3),
			call("delete", "machines", 1, "QuotaExceeded"))},
		"asked for by the scenario": {events: history(call("create", "machines", 1, "OK"), steady(3), step("hibernate"),
			call("delete", "machines", 1, "OK"), seen(asleep))},
		"before it was begun": {events: history(call("create", "machines", 1, "OK"), steady(3), step("hibernate"),
			seen(shoot("a", "a", "Reconcile", "Succeeded")), call("delete", "machines", 1, "OK"), seen(asleep))},
		"deleted": {events: history(call("create", "machines", 1, "OK"), steady(3), step("delete"),
			seen(shoot("a", "a", "Restore", "Succeeded")), call("delete", "machines", 1, "OK"))},
		"a deletion that is refused": {events: history(call("create", "machines", 1, "OK"), steady(3),
			of("alpha", timeline.StepStarted{Verb: "delete", Refused: true}), call("delete", "machines", 1, "OK")),
			want: "delete machines"},
		"not before it is done": {events: history(call("create", "machines", 1, "OK"), steady(3), step("hibernate"),
			seen(fallingAsleep), call("delete", "machines", 1, "OK"), seen(asleep))},
		"after it was done": {events: history(call("create", "machines", 1, "OK"), steady(3), step("hibernate"),
			call("delete", "machines", 1, "OK"), seen(asleep), call("delete", "networks", 1, "OK")), want: "delete networks"},
		"read after it was done": {events: history(call("create", "machines", 1, "OK"), steady(3), step("hibernate"),
			seen(asleep), by("extensions-a", id, timeline.CloudCalled{Verb: "delete", What: "machines", ID: "m-1", Epoch: 1,
				Outcome: "OK", Took: true, Made: seconds(3.5)}))},
		"an old owner calls": {events: history(call("create", "machines", 1, "OK"), steady(3),
			call("put", "records", 2, "OK"), call("put", "records", 1, "StaleEpoch")),
			want: "as owner of epoch 1, though epoch 2 has begun; the answer was StaleEpoch"},
		"the ledger was not read":     {events: history(steady(3)), lacks: "the cloud's ledger for alpha"},
		"a workerless shoot has none": {events: history(steady(0))},
	})
}

func node(name, uid, boot string) timeline.Event {
	return of("alpha", timeline.NodeSeen{Name: name, UID: uid, BootID: boot, ProviderID: "cloud://" + name, Ready: "True"})
}

func pod(p timeline.PodSeen) timeline.Event {
	p.Name = "w"
	return of("alpha", p)
}

// unseen is a last look that has failed.
func unseen(probe string) timeline.Event {
	return of("", timeline.Unseen{Probe: probe, Error: "refused", Final: true})
}

func TestNodesPreserved(t *testing.T) {
	t.Parallel()
	end := []timeline.Event{of("", timeline.Settling{}), data()}
	with := func(events ...timeline.Event) []timeline.Event { return history(append(events, end...)...) }
	running := timeline.PodSeen{UID: "p", Phase: "Running", Node: "n1"}
	another := of("alpha", timeline.PodSeen{Name: "v", UID: "q", Phase: "Running", Node: "n2"})
	check(t, oracle.NodesPreserved{}, map[string]row{
		"the same": {events: with(node("n1", "1", "b"), steady(1), pod(running), node("n1", "1", "b"))},
		"another object": {events: with(node("n1", "1", "b"), steady(1), node("n1", "2", "b")),
			want: "node n1 is another object"},
		"booted again": {events: with(node("n1", "1", "b"), steady(1), node("n1", "1", "c")),
			want: "node n1 has booted again"},
		"gone": {events: with(node("n1", "1", "b"), steady(1),
			of("alpha", timeline.NodeSeen{Name: "n1", Gone: true})), want: "node n1 is gone"},
		"one more": {events: with(node("n1", "1", "b"), steady(1), node("n2", "2", "b")),
			want: "node n2 is new"},
		"seen late": {events: with(steady(2), node("n1", "1", "b"), node("n2", "2", "b"), pod(running),
			another)},
		"seen only after waking": {events: with(node("n1", "1", "b"), pod(running), steady(1), step("wake"),
			seen(shoot("a", "a", "Reconcile", "Succeeded")), node("n9", "9", "z"),
			of("alpha", timeline.NodeSeen{Name: "n1", Gone: true}))},
		"another after waking": {events: with(steady(1), step("wake"), seen(shoot("a", "a", "Reconcile", "Succeeded")),
			node("n9", "9", "z"), node("n9", "8", "z")), want: "node n9 is another object"},
		"asked for": {events: with(node("n1", "1", "b"), pod(running), steady(1), step("hibernate"),
			of("alpha", timeline.NodeSeen{Name: "n1", Gone: true}))},
		"seen late to be gone": {events: with(call("create", "machines", 1, "OK"), node("m-1", "1", "b"), pod(running),
			call("delete", "machines", 1, "OK"), steady(1), of("alpha", timeline.NodeSeen{Name: "m-1", Gone: true}))},
		"its pod with it": {events: with(call("create", "machines", 1, "OK"), node("m-1", "1", "b"),
			pod(timeline.PodSeen{UID: "p", Phase: "Running", Node: "m-1"}), call("delete", "machines", 1, "OK"), steady(1),
			pod(timeline.PodSeen{Gone: true}), of("alpha", timeline.NodeSeen{Name: "m-1", Gone: true}))},
		"its pod collected late": {events: with(call("create", "machines", 1, "OK"), node("m-1", "1", "b"),
			pod(timeline.PodSeen{UID: "p", Phase: "Running", Node: "m-1"}), call("delete", "machines", 1, "OK"),
			steady(1), pod(timeline.PodSeen{UID: "p", Phase: "Failed", Node: "m-1"}),
			pod(timeline.PodSeen{UID: "p", Phase: "Failed", Node: "m-1", Deleting: true}),
			pod(timeline.PodSeen{Gone: true}))},
		"its node seen after the new one": {events: with(call("create", "machines", 1, "OK"), node("m-1", "1", "b"),
			pod(running), call("delete", "machines", 1, "OK"), steady(1), step("wake"),
			seen(shoot("a", "a", "Reconcile", "Succeeded")), node("n2", "2", "c"), node("m-1", "1", "b"))},
		"a pod of another collected": {events: with(call("create", "machines", 1, "OK"), node("m-1", "1", "b"),
			pod(timeline.PodSeen{UID: "p", Phase: "Running", Node: "n1"}), call("delete", "machines", 1, "OK"),
			steady(1), pod(timeline.PodSeen{UID: "p", Phase: "Failed", Node: "n1", Deleting: true})),
			want: "pod w is evicted or deleted"},
		"its machine deleted": {events: with(call("create", "machines", 1, "OK"), node("m-1", "1", "b"), steady(1),
			call("delete", "machines", 1, "OK"), of("alpha", timeline.NodeSeen{Name: "m-1", Gone: true})),
			want: "node m-1 is gone"},
		"replaced": {events: with(steady(1), pod(running), pod(timeline.PodSeen{UID: "q", Phase: "Running"})),
			want: "pod w was replaced"},
		"restarted": {events: with(steady(1), pod(running),
			pod(timeline.PodSeen{UID: "p", Phase: "Running", Restarts: 1})), want: "pod w was restarted"},
		"evicted": {events: with(steady(1), pod(running),
			pod(timeline.PodSeen{UID: "p", Phase: "Running", Deleting: true})), want: "pod w is evicted or deleted"},
		"pod gone": {events: with(steady(1), pod(running), pod(timeline.PodSeen{Gone: true})),
			want: "pod w is gone"},
		"failed": {events: with(steady(1), pod(running), pod(timeline.PodSeen{UID: "p", Phase: "Failed"})),
			want: "pod w is Failed"},
		"no pod was seen": {events: with(node("n1", "1", "b"), steady(1), node("n1", "1", "b")),
			lacks: "the workload of alpha: 0 pods running, on 1 nodes"},
		"a pod is missing": {events: with(steady(2), node("n1", "1", "b"), node("n2", "2", "b"), pod(running),
			pod(running)), lacks: "1 pods running, on 2 nodes"},
		"none is running": {events: with(node("n1", "1", "b"), steady(1),
			pod(timeline.PodSeen{UID: "p", Phase: "Pending"})), lacks: "0 pods running, on 1 nodes"},
		"a last look fails": {events: with(node("n1", "1", "b"), pod(running), steady(1), unseen("nodes of alpha")),
			lacks: "the last look at the nodes of alpha"},
		"one at the pods fails": {events: with(node("n1", "1", "b"), pod(running), steady(1), unseen("workload of alpha")),
			lacks: "the last look at the workload of alpha"},
		"of one that sleeps": {events: with(node("n1", "1", "b"), pod(running), steady(1),
			seen(timeline.ShootSeen{Hibernated: true}), unseen("nodes of alpha"), unseen("workload of alpha"))},
		"not seen at the end": {events: history(node("n1", "1", "b"), pod(running), steady(1)),
			lacks: "the nodes of alpha after it had settled"},
		"no nodes, no evidence": {events: history(steady(0))},
	})
}

// inventory of a seed, which shows what every cluster has.
func inventory(when string, items ...timeline.Item) timeline.Event {
	return of("a", timeline.InventorySeen{When: when, Items: append(builtIn(), items...)})
}

// builtIn are the things that every cluster has.
func builtIn() (items []timeline.Item) {
	for _, one := range inEveryCluster() {
		if one.Name != "" {
			items = append(items, timeline.Item{Class: one.class, Namespace: one.Namespace, Name: one.Name, UID: one.UID})
		}
	}
	for _, name := range []string{"istio-ingress", "garden", "acme"} {
		items = append(items, timeline.Item{Class: "namespaces", Name: name, UID: "u-" + name})
	}
	return items
}

// half of what an inventory shows.
func half(e timeline.Event) timeline.Event {
	seen := e.Payload.(timeline.InventorySeen)
	var items []timeline.Item
	for i, one := range seen.Items {
		if i%2 == 1 {
			items = append(items, one)
		}
	}
	seen.Items = items
	e.Payload = seen
	return e
}

func item(class, namespace, name string, mentions ...string) timeline.Item {
	return timeline.Item{Class: class, Namespace: namespace, Name: name, UID: "u-" + name, Mentions: mentions}
}

func TestNoOrphans(t *testing.T) {
	t.Parallel()
	ready := of("", timeline.LandscapeReady{Seeds: []string{"a"}})
	ofCloud := of("", timeline.LandscapeReady{Seeds: []string{"a"}, Cloud: true})
	certain := of("", timeline.LandscapeReady{Seeds: []string{"a"}, CertainOnSeed: []string{"secrets", "folder"}})
	extension := item("clusterroles.rbac.authorization.k8s.io", "", "extension-x")
	kubeSystem := item("namespaces", "", "kube-system")
	acme := item("namespaces", "", "extension-acme")
	otherSpace := item("namespaces", "", "extension-other")
	withAcme := of("", timeline.RunStarted{Extensions: []string{"acme"}})
	byGardenlet := item("clusterroles.rbac.authorization.k8s.io", "", "left")
	byGardenlet.Managers = []string{"gardenlet"}
	gateway := item("deployments.apps", "istio-ingress", "gateway")
	replica := timeline.Item{Class: "replicasets.apps", Namespace: "istio-ingress", Name: "gateway-2", UID: "r",
		Owner: "u-gateway"}
	gatewayPod := timeline.Item{Class: "pods", Namespace: "istio-ingress", Name: "gateway-2-x", UID: "x", Owner: "r"}
	onB, onA := seen(shoot("b", "b", "Restore", "Succeeded")), seen(shoot("a", "a", "Reconcile", "Succeeded"))
	other := of("a", timeline.InventorySeen{When: timeline.After, Items: builtIn(), Unreadable: []string{"secrets"}})
	inCloud := func(when string, buckets ...string) timeline.Event {
		items := []timeline.Item{}
		for _, bucket := range buckets {
			items = append(items, timeline.Item{Class: "object", Namespace: bucket, Name: id + "--x/1", Mentions: []string{id}})
		}
		return of("cloud", timeline.InventorySeen{When: when, Items: items})
	}
	volume := func(claim string) timeline.Item {
		return timeline.Item{Class: "folder", Namespace: "volumes", Name: "vol-1", Owner: claim, Mentions: []string{id}}
	}
	claim := timeline.Item{Class: "persistentvolumeclaims", Namespace: id, Name: "data", UID: "claim",
		Mentions: []string{id}}
	home := item("namespaces", "", id, id)
	otherClaim := claim
	otherClaim.UID = "another"
	itself := of("", timeline.LandscapeReady{Seeds: []string{"alpha"}})
	ofItself := func(when string, items ...timeline.Item) timeline.Event {
		return of("alpha", timeline.InventorySeen{When: when, Items: append(builtIn(), items...)})
	}
	folder := timeline.Item{Class: "folder", Namespace: "pods", Name: "x", Owner: "x"}
	atRest := history(ready, inventory("before", kubeSystem), inventory("after", kubeSystem))
	onTheWay := seen(shoot("b", "a", "Migrate", "Succeeded"))
	late := func(owner string, mentions ...string) timeline.Item {
		return timeline.Item{Class: "process", Name: "acme helper", UID: "7/1", Owner: owner, Mentions: mentions}
	}
	check(t, oracle.NoOrphans{}, map[string]row{
		"ProcessOfAnExtensionsPodStartsLate": {
			events: history(ready, inventory("before", kubeSystem, gateway), steady(0), onB,
				inventory("after", kubeSystem, gateway, replica, gatewayPod, late("x"))),
		},
		"ProcessOfAnExtensionsPodMentionsTheShoot": {
			events: history(ready, inventory("before", kubeSystem, gateway), steady(0), onB,
				inventory("after", kubeSystem, gateway, replica, gatewayPod, late("x", id))),
			want: "process acme helper of shoot--p--alpha is left on a",
		},
		"WhatAnExtensionMakesForItself": {
			events: history(withAcme, ready, inventory("before", kubeSystem, acme), steady(0), onB, inventory("after",
				kubeSystem, acme, item("secrets", "extension-acme", "ca-acme-webhook-2"),
				item("configmaps", "extension-acme", "settings"),
				item("leases.coordination.k8s.io", "extension-acme", "gardener-extension-heartbeat"),
				item("leases.coordination.k8s.io", "kube-system", "acme-leader-election"),
				item("mutatingwebhookconfigurations.admissionregistration.k8s.io", "", "gardener-extension-acme"),
				item("validatingwebhookconfigurations.admissionregistration.k8s.io", "", "acme"),
				item("clusterroles.rbac.authorization.k8s.io", "", "acme:controller"),
				item("clusterrolebindings.rbac.authorization.k8s.io", "", "acme:controller"))),
		},
		"ClusterRoleOfTheSeedItself": {
			events: history(withAcme, ready, inventory("before", kubeSystem, acme), steady(0), onB,
				inventory("after", kubeSystem, acme, byGardenlet)),
			want: "clusterroles.rbac.authorization.k8s.io left is left on a",
		},
		"SecretOfAnExtensionThatIsNotThere": {
			events: history(withAcme, ready, inventory("before", kubeSystem, otherSpace), steady(0), onB,
				inventory("after", kubeSystem, otherSpace, item("secrets", "extension-other", "ca"))),
			want: "secrets extension-other/ca is left on a",
		},
		"SecretOfAShootBesideAnExtension": {
			events: history(withAcme, ready, inventory("before", kubeSystem, acme), steady(0), onB,
				inventory("after", kubeSystem, acme, item("secrets", "extension-acme", "cached-token", id))),
			want: "secrets extension-acme/cached-token of shoot--p--alpha is left on a",
		},
		"ClusterRoleOfAShoot": {
			events: history(ready, inventory("before", kubeSystem), steady(0), onB, inventory("after", kubeSystem,
				item("clusterroles.rbac.authorization.k8s.io", "", "acme-"+id, id))),
			want: "clusterroles.rbac.authorization.k8s.io acme-shoot--p--alpha of shoot--p--alpha is left on a",
		},
		"ObjectOfNobodyInTheGarden": {
			events: history(ready, inventory("before", kubeSystem), steady(0), onB, inventory("after", kubeSystem,
				item("secrets", "garden", "left"))),
			want: "secrets garden/left is left on a",
		},
		"ProcessOfNoPod": {
			events: history(ready, inventory("before", kubeSystem, gateway), steady(0), onB,
				inventory("after", kubeSystem, gateway, replica, gatewayPod, late(""))),
			want: "process acme helper is left on a",
		},
		"ProcessOfAPodThatHasGone": {
			events: history(ready, inventory("before", kubeSystem, gateway), steady(0), onB,
				inventory("after", kubeSystem, gateway, replica, late("x"))),
			want: "process acme helper is left on a",
		},
		"ShootNotSeen": {
			events: history(ready, inventory("before", kubeSystem), steady(0),
				inventory("after", kubeSystem, item("namespaces", "", id, id))), lacks: "the Shoot alpha in the garden",
		},
		"NoShootSeen": {
			events: history(ready, inventory("before", kubeSystem),
				inventory("after", kubeSystem, item("clusterroles.rbac.authorization.k8s.io", "", "x"))), lacks: "any shoot",
		},
		"ClassNotSeenBefore": {
			events: history(ready,
				of("a", timeline.InventorySeen{When: timeline.Before, Items: builtIn(), Unreadable: []string{"secrets: too slow",
					"group acme.io/v1"}}),
				steady(0), onB, inventory("after", kubeSystem, item("secrets", "garden", "x"), item("vaults.acme.io", "", "y"))),
			lacks: "group acme.io/v1 on a before the scenario",
		},
		"a node of a seed that is the shoot": {events: history(itself, ofItself("before"), steady(0), onB,
			ofItself("after", item("nodes", "", id+"-x", id)))},
		"the workload of a seed that is the shoot": {events: history(itself, ofItself("before"), steady(0), onB,
			ofItself("after", item("namespaces", "", "transplant-load"), item("configmaps", "transplant-load", "7"),
				timeline.Item{Class: "pods", Namespace: "transplant-load", Name: "x", UID: "x"}, folder, late("x")))},
		"what nobody has, on a seed that is the shoot": {events: history(itself, ofItself("before"), steady(0), onB,
			ofItself("after", item("nodes", "", id+"-x", id), item("secrets", "garden", "left"))),
			want: "secrets garden/left is left on alpha"},
		"backups in one bucket": {events: append(slices.Clone(atRest), inCloud("before"), steady(0), onB,
			inCloud("after", "one"))},
		"backups in two buckets": {events: history(append(slices.Clone(atRest), inCloud("before"), steady(0), onB,
			inCloud("after", "two", "one"))...),
			want: "backups of shoot--p--alpha are left in a bucket it has left: they are in one and in two"},
		"in two while it is moved": {events: append(slices.Clone(atRest), inCloud("before"), steady(0), onTheWay,
			inCloud("after", "two", "one"))},
		"left there by another life": {events: append(slices.Clone(atRest), inCloud("before", "two"), steady(0), onB,
			inCloud("after", "two", "one"))},
		"clean": {events: history(ready, inventory("before", kubeSystem, gateway), steady(0), onB,
			inventory("after", kubeSystem, gateway, replica, gatewayPod))},
		"a folder of a pod": {events: history(ready, inventory("before", kubeSystem, gateway), steady(0), onB,
			inventory("after", kubeSystem, gateway, replica, gatewayPod, folder))},
		"a volume of a claim": {events: history(ready, inventory("before", kubeSystem, volume("claim"), claim, home),
			steady(0), onA,
			inventory("after", kubeSystem, volume("claim"), claim, home))},
		"a volume outlives its claim": {events: history(ready, inventory("before", kubeSystem, volume("claim"), claim, home),
			steady(0), onA, inventory("after", kubeSystem, volume("claim"), otherClaim, home)),
			want: "folder volumes/vol-1 of shoot--p--alpha is left on a"},
		"a new volume outlives its claim": {events: history(ready, inventory("before", kubeSystem, otherClaim, home),
			steady(0), onA, inventory("after", kubeSystem, volume("claim"), otherClaim, home)),
			want: "folder volumes/vol-1 of shoot--p--alpha is left on a"},
		"a volume whose claim nobody can read": {events: history(ready,
			inventory("before", kubeSystem, volume("claim"), claim, home),
			steady(0), onA, inventory("after", kubeSystem, volume("claim"), home))},
		"a folder outlives its pod": {events: history(ready, inventory("before", kubeSystem, gateway), steady(0), onA,
			inventory("after", kubeSystem, gateway, item("pods", "garden", "gardenlet"), folder)),
			want: "folder pods/x is left on a"},
		"pods were not seen": {events: history(ready, inventory("before", kubeSystem, gateway), steady(0), onA,
			inventory("after", kubeSystem, gateway, folder))},
		"it was there before": {events: history(ready, inventory("before", kubeSystem, folder), steady(0), onB,
			inventory("after", kubeSystem, folder))},
		"a namespace is left": {events: history(ready, inventory("before", kubeSystem), steady(0), onB,
			inventory("after", kubeSystem, item("namespaces", "", id, id))),
			want: "namespaces shoot--p--alpha of shoot--p--alpha is left on a"},
		"a process is left": {events: history(ready, inventory("before", kubeSystem), steady(0), onB,
			inventory("after", kubeSystem, item("process", "", "etcd 127.0.0.1", id))), want: "process etcd"},
		"it lives there": {events: history(ready, inventory("before", kubeSystem), steady(0), onA,
			inventory("after", kubeSystem, item("namespaces", "", id, id)))},
		"unnamed, cluster-scoped": {
			events: history(ready, inventory("before", kubeSystem), steady(0), onB,
				inventory("after", kubeSystem, item("clusterroles.rbac.authorization.k8s.io", "", "extension-x"))),
			want: "clusterroles.rbac.authorization.k8s.io extension-x is left on a",
		},
		"unnamed, but somebody lives there": {events: history(ready, inventory("before", kubeSystem), steady(0), onA,
			inventory("after", kubeSystem, item("clusterroles.rbac.authorization.k8s.io", "", "extension-x")))},
		"events expire": {events: history(ready, inventory("before", kubeSystem), steady(0), onB,
			inventory("after", kubeSystem, item("events", "default", "x", id)))},
		"an unnamed lease": {events: history(ready, inventory("before", kubeSystem), steady(0), onB,
			inventory("after", kubeSystem, item("leases.coordination.k8s.io", "garden", "gardenlet")))},
		"a lease of the shoot": {events: history(ready, inventory("before", kubeSystem), steady(0), onB,
			inventory("after", kubeSystem, item("leases.coordination.k8s.io", "garden", "x", id))),
			want: "leases.coordination.k8s.io garden/x"},
		"no inventory afterwards": {events: history(ready, inventory("before", kubeSystem), steady(0), onB),
			lacks: "the inventory of seed a after the scenario"},
		"the cloud was not seen before": {
			events: history(ofCloud, inventory("before"), steady(0), onB, inventory("after"), inCloud("after")),
			lacks:  "the inventory of the cloud before the scenario",
		},
		"the cloud was not seen after": {
			events: history(ofCloud, inventory("before"), inCloud("before"), steady(0), onB, inventory("after")),
			lacks:  "the inventory of the cloud after the scenario",
		},
		"the last look failed": {
			events: history(ready, inventory("before"), steady(0), onB, inventory("after"), unseen("inventory")),
			lacks:  "all of the last inventory",
		},
		"half was seen before": {
			events: history(ready, half(inventory("before", extension)), steady(0), onB, inventory("after", extension)),
			lacks:  "on a before the scenario, where it must be",
		},
		"half was seen after": {
			events: history(ready, inventory("before"), steady(0), onA, half(inventory("after",
				item("pods", "garden", "gardenlet"), folder))),
			lacks: "on a after the scenario, where it must be",
		},
		"a class was not seen before": {
			events: history(certain, inventory("before"), steady(0), onB, inventory("after", item("secrets", "garden", "x"))),
			lacks:  "any secrets on a before the scenario, where it must be",
		},
		"a namespace was not seen": {
			events: history(ready, inventory("before", item("secrets", "vault", "x")), steady(0), onB,
				inventory("after", item("namespaces", "", "vault"), item("secrets", "vault", "x"))),
			lacks: "namespaces vault on a before the scenario, where it must be",
		},
		"a part could not be read": {events: history(ready, inventory("before", kubeSystem), steady(0), onB, other),
			lacks: "secrets on a after the scenario"},
	})
}

// What certainly is there and does not show has not been looked at; who sees nothing of the one shoot sees nothing of
// others.
func TestNoOrphans_InventoryWithoutWhatMustBeThere_IsLacked(t *testing.T) {
	t.Parallel()
	ready := of("", timeline.LandscapeReady{Seeds: []string{"a"}, CertainOnSeed: []string{"secrets"},
		CertainInCloud: []string{"record"}})
	look := func(place, when string, items ...timeline.Item) timeline.Event {
		if place == "a" {
			items = append(builtIn(), append(items, item("secrets", "garden", "x"), item("namespaces", "", id, id))...)
		}
		return of(place, timeline.InventorySeen{When: when, Items: items})
	}
	secret, record := item("secrets", id, "s", id), item("record", "A", "api", id)
	at := seen(shoot("a", "a", "Reconcile", "Succeeded"))
	asleep := shoot("a", "a", "Reconcile", "Succeeded")
	asleep.WantsToSleep, asleep.Hibernated = true, true
	for name, c := range map[string]struct {
		events []timeline.Event
		want   string
	}{
		"all is seen": {history(ready, look("a", timeline.Before), steady(0), at, look("a", timeline.After, secret),
			look("cloud", timeline.After, record)), ""},
		"no secrets": {history(ready, look("a", timeline.Before), steady(0), at, look("a", timeline.After),
			look("cloud", timeline.After, record)), "any secrets of " + id + " on a"},
		"no cloud": {history(ready, look("a", timeline.Before), steady(0), at, look("a", timeline.After, secret)),
			"any record of " + id + " on cloud"},
		"one sleeps": {history(ready, look("a", timeline.Before), steady(0), seen(asleep), look("a", timeline.After)), ""},
		"seen before": {history(ready, look("a", timeline.Before, secret), steady(0), at, look("a", timeline.After),
			look("cloud", timeline.After, record)), "any secrets"},
		"nothing said": {history(of("", timeline.LandscapeReady{Seeds: []string{"a"}}), look("a", timeline.Before), steady(0),
			at, look("a", timeline.After)), ""},
	} {
		if lacks := strings.Join(oracle.NoOrphans{}.Lacks(c.events), "; "); c.want == "" && lacks != "" ||
			!strings.Contains(lacks, c.want) {
			t.Errorf("%s: lacks %q, want %q", name, lacks, c.want)
		}
	}
}

func authority(epoch int64, digest string) timeline.Event {
	return by("observer", "alpha", timeline.EpochSeen{Seed: "a", Epoch: epoch, Authority: digest})
}

// published is the authority that the Shoot of this UID has published.
func published(uid, digest string) timeline.Event {
	return by("observer", "alpha", timeline.EpochSeen{Seed: "a", Epoch: 1, Authority: digest, ShootUID: uid})
}

func TestMigrationEnds(t *testing.T) {
	t.Parallel()
	another := shoot("b", "b", "Restore", "Succeeded")
	another.ClusterIdentity = "d"
	deleting := shoot("b", "a", "Delete", "Processing")
	deleting.Deleting = true
	check(t, oracle.MigrationEnds{}, map[string]row{
		"there and well": {events: history(steady(0), seen(shoot("a", "a", "Create", "Succeeded")),
			seen(shoot("b", "a", "Migrate", "Processing")), seen(shoot("b", "b", "Restore", "Succeeded")))},
		"cut short": {events: history(steady(0), seen(shoot("b", "a", "Migrate", "Processing")),
			by("operator", "", timeline.RunEnded{Error: "the run was interrupted"}))},
		"the record is cut": {events: history(steady(0), seen(shoot("b", "a", "Migrate", "Processing")))},
		"still migrating": {events: history(steady(0), seen(shoot("b", "a", "Migrate", "Processing")),
			of("", timeline.RunEnded{})),
			want: `the migration that began at 2s has not ended: bound to "b", running on "a", Migrate Processing 50% ` +
				`(Copying backups)`},
		"restore failed": {events: history(steady(0), seen(shoot("b", "a", "Migrate", "Succeeded")),
			seen(shoot("b", "b", "Restore", "Error")), of("", timeline.RunEnded{})), want: "Restore Error"},
		"stopped between": {events: history(steady(0), seen(shoot("b", "a", "Migrate", "Succeeded")),
			seen(shoot("b", "b", "Migrate", "Succeeded")), of("", timeline.RunEnded{})), want: "Migrate Succeeded"},
		"not migrated": {events: history(steady(0), seen(shoot("a", "a", "Create", "Succeeded")))},
		"same authority": {events: history(steady(0), authority(1, "x"), authority(1, ""), authority(2, "x"),
			seen(shoot("b", "b", "Restore", "Succeeded")))},
		"another authority": {events: history(steady(0), authority(1, "x"), authority(2, "y"),
			seen(shoot("b", "b", "Restore", "Succeeded"))), want: "the certificate authority changes from x to y"},
		"another shoot's own": {events: history(steady(0), authority(1, "x"), seen(timeline.ShootSeen{Absent: true}),
			authority(1, "y"), seen(shoot("b", "b", "Restore", "Succeeded")))},
		"the deleted one's access is still there": {events: history(steady(0), published("u1", "x"),
			seen(timeline.ShootSeen{Absent: true}), published("u1", "x"),
			seen(shoot("a", "a", "Create", "Processing")), published("u1", "x"), published("u2", "y"),
			seen(shoot("a", "a", "Create", "Succeeded")))},
		"the new one's authority changes": {events: history(steady(0), published("u1", "x"),
			seen(timeline.ShootSeen{Absent: true}), published("u1", "x"),
			published("u2", "y"), published("u2", "z"), seen(shoot("a", "a", "Create", "Succeeded"))),
			want: "the certificate authority changes from y to z"},
		"the authority of one Shoot changes": {events: history(steady(0), published("u1", "x"), published("u1", "y"),
			seen(shoot("b", "b", "Restore", "Succeeded"))), want: "from x to y"},
		"another identity": {events: history(steady(0), seen(shoot("b", "a", "Migrate", "Processing")),
			seen(another)), want: `the cluster identity changes from "c" to "d"`},
		"with all its fields": {events: history(steady(0), seen(marked("a", "kept")),
			seen(marked("b", "kept")))},
		"a field is lost": {events: history(steady(0), seen(marked("a", "kept")), seen(marked("b", ""))),
			want: `what a newer Gardener knows of its spec changes from "kept" to ""`},
		"without fields of a newer Gardener": {events: history(steady(0), seen(marked("a", "")), seen(marked("b", "")))},
		"deleted on the way": {events: history(steady(0), seen(shoot("b", "a", "Migrate", "Processing")),
			seen(deleting))},
		"gone": {events: history(steady(0), seen(shoot("b", "a", "Migrate", "Processing")),
			seen(timeline.ShootSeen{Absent: true}))},
	})
}
