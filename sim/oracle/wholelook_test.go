package oracle_test

import (
	"slices"
	"testing"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// inEveryCluster are in every cluster.
func inEveryCluster() []thing {
	one := func(class, namespace, name string) thing {
		return thing{class, timeline.ObjectSeen{Namespace: namespace, Name: name, UID: class + "/" + namespace + "/" + name}}
	}
	return []thing{
		none(definitions),
		one("namespaces", "", "default"), one("namespaces", "", "kube-system"),
		one("serviceaccounts", "default", "default"), one("serviceaccounts", "kube-system", "default"),
		one("configmaps", "kube-system", "kube-root-ca.crt"), one("services", "default", "kubernetes"),
		one("clusterroles.rbac.authorization.k8s.io", "", "cluster-admin"),
		one("clusterrolebindings.rbac.authorization.k8s.io", "", "cluster-admin"),
		one("roles.rbac.authorization.k8s.io", "kube-system", "extension-apiserver-authentication-reader"),
		one("rolebindings.rbac.authorization.k8s.io", "kube-system", "system::leader-locking-kube-controller-manager"),
		one("apiservices.apiregistration.k8s.io", "", "v1."), one("flowschemas.flowcontrol.apiserver.k8s.io", "", "exempt"),
		one("prioritylevelconfigurations.flowcontrol.apiserver.k8s.io", "", "exempt"),
		one("priorityclasses.scheduling.k8s.io", "", "system-node-critical"),
	}
}

// emptied is a look that shows nothing of a class.
func emptied(e timeline.Event, class string) timeline.Event {
	seen := e.Payload.(timeline.ObjectsSeen)
	seen.Resources = slices.Clone(seen.Resources)
	for i := range seen.Resources {
		if seen.Resources[i].Class == class {
			seen.Resources[i].Objects = nil
		}
	}
	e.Payload = seen
	return e
}

// withoutClass is a look that does not even show the class.
func withoutClass(e timeline.Event, class string) timeline.Event {
	seen := e.Payload.(timeline.ObjectsSeen)
	seen.Resources = slices.DeleteFunc(slices.Clone(seen.Resources),
		func(r timeline.ResourceSeen) bool { return r.Class == class })
	e.Payload = seen
	return e
}

// A look that is not whole proves nothing, and accuses nobody.
func TestShootUntouched_LookThatIsNotWhole_IsLacked(t *testing.T) {
	t.Parallel()
	n := node("n", "u", "b")
	p := of("alpha", timeline.PodSeen{Name: "p", UID: "p", Phase: "Running"})
	noNode := of("alpha", timeline.NodeSeen{Name: "n", Gone: true})
	full := func(restored int) timeline.Event { return objects(restored, c, aNode("u", "1"), aPod("p")) }
	vault := thing{"secrets", timeline.ObjectSeen{Namespace: "vault", Name: "s", UID: "s"}}
	rows := map[string]row{
		"Whole": {events: moved(full(0), full(1))},
		"NothingInAnyLook": {
			events: moved(onlyObjects(0), onlyObjects(1)),
			lacks:  "namespaces kube-system in alpha, where it must be, by event 2",
		},
		"NothingBefore": {events: moved(onlyObjects(0), full(1)), lacks: "by event 2"},
		"NothingAfter": {
			events: moved(full(0), onlyObjects(1)),
			lacks:  "serviceaccounts default/default in alpha, where it must be, by event 7",
		},
		"NothingInBetween": {events: moved(full(0), full(1), onlyObjects(0)), lacks: "by event 4"},
		"ClassOnlyBefore":  {events: moved(full(0), withoutClass(full(1), "configmaps")), lacks: "configmaps"},
		"ClassOnlyAfter": {
			events: moved(objects(0), objects(1, none("secrets"))),
			lacks:  "secrets in alpha before its move",
		},
		"DefinitionCame": {events: moved(objects(0), objects(1, definition("d"), grant("x")))},
		"DefinitionWasThere": {
			events: moved(objects(0, definition("d")), objects(1, definition("d"), grant("x"))),
			lacks:  "grants.acme.test in alpha before its move",
		},
		"ClassOfAnUpdate": {
			events: moved(objects(0), objects(1, none("secrets")), step("patch")),
		},
		"NamespaceUnseen": {events: moved(objects(0, vault), objects(1, vault)), lacks: "namespaces vault in alpha"},
		"NodeUnseen": {
			events: moved(objects(0, none("nodes")), objects(1, none("nodes")), n),
			lacks:  "nodes n in alpha, where it must be, by event 8",
		},
		"PodUnseen": {
			events: moved(objects(0, none("pods")), objects(1, none("pods")), p),
			lacks:  "pods p in alpha, where it must be",
		},
		"NodeOfAnotherUID": {
			events: moved(objects(0, aNode("v", "1")), objects(1, aNode("v", "1")), n),
			lacks:  "nodes n in alpha",
		},
		"NodeHasGone": {events: moved(objects(0, none("nodes")), objects(1, none("nodes")), n, noNode)},
		"NodeGoesAtTheLook": {
			events: append(moved(objects(0, none("nodes")), objects(1, none("nodes")), n), history(noNode)...),
		},
		"NodesUnseenInTheEnd": {
			events: append(moved(objects(0, none("nodes")), objects(1, none("nodes")), n), history(unseen("nodes of alpha"))...),
		},
		"UnreadableClass": {
			events: moved(full(0), unreadable(withoutClass(full(1), "services"), "services: refused")),
			lacks:  "services: refused in alpha",
		},
		"AnObjectIsGone": {
			events: moved(full(0), objects(1, aNode("u", "1"), aPod("p"))),
			want:   "configmaps default/c is gone",
		},
	}
	for _, one := range inEveryCluster() {
		if one.class == "configmaps" {
			continue // of which there are others
		}
		rows["AlwaysWithout_"+one.class] = row{
			events: moved(withoutClass(full(0), one.class), withoutClass(full(1), one.class)), lacks: one.class,
		}
		if one.Name != "" {
			rows["NothingOf_"+one.class] = row{
				events: moved(emptied(full(0), one.class), emptied(full(1), one.class)), lacks: one.class,
			}
			rows["NothingAfterOf_"+one.class] = row{events: moved(full(0), emptied(full(1), one.class)), lacks: one.class}
		}
	}
	check(t, oracle.ShootUntouched{}, rows)
}
