package oracle_test

import (
	"fmt"
	"testing"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// thing is an object of a look, with its class; "" for a class without an object.
type thing struct {
	class string
	timeline.ObjectSeen
}

func configMap(uid, says string) thing {
	return thing{"configmaps", timeline.ObjectSeen{Namespace: "default", Name: "c", UID: uid, Says: says}}
}

func none(class string) thing { return thing{class: class} }

var kinds = map[string]string{
	"configmaps": "ConfigMap", "nodes": "Node", "pods": "Pod", "namespaces": "Namespace", "secrets": "Secret",
	definitions: "CustomResourceDefinition", "grants.acme.test": "Grant",
	"deployments.apps": "Deployment",
}

// objects are a look at the shoot, whose store was restored so many times.
func objects(restored int, things ...thing) timeline.Event {
	return onlyObjects(restored, append(inEveryCluster(), things...)...)
}

// onlyObjects are a look that shows nothing else.
func onlyObjects(restored int, things ...thing) timeline.Event {
	seen := timeline.ObjectsSeen{Version: int64(restored)*1_000_000_000 + 5}
	at := map[string]int{}
	for _, one := range things {
		i, known := at[one.class]
		if !known {
			i = len(seen.Resources)
			at[one.class] = i
			seen.Resources = append(seen.Resources, timeline.ResourceSeen{Class: one.class, Kind: kinds[one.class]})
		}
		if one.Name != "" {
			seen.Resources[i].Objects = append(seen.Resources[i].Objects, one.ObjectSeen)
		}
	}
	return by("observer", "alpha", seen)
}

func unreadable(e timeline.Event, what string) timeline.Event {
	p := e.Payload.(timeline.ObjectsSeen)
	p.Unreadable = []string{what}
	e.Payload = p
	return e
}

func changes(verb string, ref timeline.ObjectRef) timeline.Event {
	return of("alpha", timeline.StepStarted{Verb: verb, Object: &ref})
}

func done(verb string) timeline.Event {
	return of("", timeline.StepEnded{Verb: verb, Outcome: timeline.StepDone})
}

// Observations of the shoot alpha, which moves from seed a to b, and back.
var (
	created = seen(shoot("a", "a", "Create", "Succeeded"))
	leaving = seen(shoot("b", "a", "Migrate", "Processing"))
	there   = seen(shoot("b", "b", "Restore", "Succeeded"))
	turning = seen(shoot("a", "b", "Migrate", "Processing"))
	back    = seen(shoot("a", "a", "Restore", "Succeeded"))
	gone    = seen(timeline.ShootSeen{Absent: true})

	settling = of("", timeline.Settling{})
	fire     = of("fire", timeline.FaultInjected{})
	healed   = of("fire", timeline.FaultHealed{})
)

// moved is a history in which the shoot has these objects at first and in the end; between, a move.
func moved(before, after timeline.Event, between ...timeline.Event) []timeline.Event {
	events := append([]timeline.Event{created, before, backedUp()}, between...)
	return history(append(events, leaving, there, settling, after)...)
}

// Objects of a look.
var (
	c            = configMap("u", "1")
	absent       = none("configmaps")
	noDefinition = none(definitions)
	noGrant      = none("grants.acme.test")
)

const definitions = "customresourcedefinitions.apiextensions.k8s.io"

func definition(uid string) thing {
	return thing{definitions, timeline.ObjectSeen{Name: "grants.acme.test", UID: uid, Says: "d"}}
}

func grant(name string) thing {
	return thing{"grants.acme.test", timeline.ObjectSeen{Namespace: "default", Name: name, UID: name, Says: "g"}}
}

func aNode(uid, says string) thing {
	return thing{"nodes", timeline.ObjectSeen{Name: "n", UID: uid, Says: says}}
}

func aPod(uid string) thing {
	return thing{"pods", timeline.ObjectSeen{Namespace: "default", Name: "p", UID: uid, Says: "p", Node: "n"}}
}

func deployment(says string) thing {
	return thing{"deployments.apps", timeline.ObjectSeen{Namespace: "default", Name: "d", UID: "d", Says: says}}
}

// owned is a pod of the deployment.
func owned(uid string) thing {
	pod := timeline.ObjectSeen{Namespace: "default", Name: "of-d", UID: uid, Says: "p", Owners: []string{"d"}}
	return thing{"pods", pod}
}

// kept is a Secret that Gardener keeps in the shoot.
func kept(uid string) thing {
	secret := timeline.ObjectSeen{Namespace: "kube-system", Name: "s-" + uid, UID: uid, Says: "s", Managed: true}
	return thing{"secrets", secret}
}

func many(uid string) (all []thing) {
	for i := range 30 {
		all = append(all, thing{"configmaps", timeline.ObjectSeen{Name: fmt.Sprintf("c%02d", i), UID: uid}})
	}
	return all
}

func TestShootUntouched_Objects(t *testing.T) {
	t.Parallel()
	going := c
	going.Deleting = true
	check(t, oracle.ShootUntouched{}, map[string]row{
		"all stays": {events: moved(objects(0, c), objects(1, c))},
		"one more":  {events: moved(objects(0, absent), objects(1, c))},
		"it is gone": {
			events: moved(objects(0, c), objects(1, absent)),
			want:   "alpha: configmaps default/c is gone",
		},
		"it is made anew": {
			events: moved(objects(0, c), objects(1, configMap("v", "1"))),
			want:   "configmaps default/c was made anew (uid v, before u)",
		},
		"it is changed": {
			events: moved(objects(0, c), objects(1, configMap("u", "2"))),
			want:   "says something else than before the move",
		},
		"it is deleted": {
			events: moved(objects(0, c), objects(1, going)),
			want:   "configmaps default/c is being deleted",
		},
		"it was deleted": {events: moved(objects(0, going), objects(1, absent))},
		"a restore in place": {
			events: history(created, objects(0, c), backedUp(), settling, objects(1, absent)),
			want:   "is gone",
		},
		"no move": {
			events: history(created, objects(0, c), backedUp(), settling, objects(0, absent)),
			lacks:  "a shoot that moves",
		},
		"between moves": {events: history(created, objects(0, c), backedUp(), leaving, there, objects(1, c),
			done("expect"), objects(1, configMap("u", "2")),
			turning, back, settling, objects(2, configMap("u", "2")))},
		"in the second move": {events: history(created, objects(0, c), backedUp(), leaving, there, objects(1, c),
			turning, back, settling, objects(2, configMap("v", "1"))),
			want: "was made anew"},
	})
}

func TestShootUntouched_Dependents(t *testing.T) {
	t.Parallel()
	space := thing{"namespaces", timeline.ObjectSeen{Name: "users", UID: "n", Says: "n"}}
	inSpace := thing{"configmaps", timeline.ObjectSeen{Namespace: "users", Name: "c", UID: "u"}}
	check(t, oracle.ShootUntouched{}, map[string]row{
		"a definition with its objects": {events: moved(objects(0, definition("d"), grant("x"), grant("y")),
			objects(1, noDefinition)),
			want: "customresourcedefinitions.apiextensions.k8s.io grants.acme.test is gone, and with it 2 objects"},
		"a kind that came after the start, with users' objects": {
			events: history(created, objects(0, noDefinition), backedUp(), objects(0, definition("d"), grant("x")), leaving,
				there, settling, objects(1, noDefinition)),
			want: "customresourcedefinitions.apiextensions.k8s.io grants.acme.test is gone, and with it 1 objects",
		},
		"a kind that came after the start, whose objects are made anew": {
			events: history(created, objects(0, noDefinition), backedUp(), objects(0, definition("d"), grant("x")), leaving,
				there, settling, objects(1, definition("d"), thing{"grants.acme.test",
					timeline.ObjectSeen{Namespace: "default", Name: "x", UID: "other", Says: "g"}})),
			want: "grants.acme.test default/x was made anew (uid other, before x)",
		},
		"a kind that came after the start, and stays": {
			events: history(created, objects(0, noDefinition), backedUp(), objects(0, definition("d"), grant("x")), leaving,
				there, settling, objects(1, definition("d"), grant("x"))),
		},
		"a definition is made anew": {
			events: moved(objects(0, definition("d"), noGrant), objects(1, definition("e"), noGrant)),
			want:   "was made anew",
		},
		"a user's object of it": {
			events: moved(objects(0, definition("d"), grant("x")), objects(1, definition("d"), noGrant)),
			want:   "grants.acme.test default/x is gone",
		},
		"it is not served yet": {events: moved(objects(0, definition("d"), grant("x")), objects(1, definition("d"))),
			lacks: "grants.acme.test in alpha after its move"},
		"a namespace": {
			events: moved(objects(0, space, inSpace), objects(1)),
			want:   "namespaces users is gone, and with it 1 objects",
		},
		"many": {events: moved(objects(0, many("u")...), objects(1, many("u")...))},
		"a pod of a node that was gone before": {
			events: moved(objects(0, none("nodes"), aPod("p")), objects(1, none("nodes"), none("pods"))),
		},
		"another node": {
			events: moved(objects(0, aNode("u", "1"), aPod("p")), objects(1, aNode("v", "1"), none("pods"))),
		},
		"a changed node": {
			events: moved(objects(0, aNode("u", "1")), objects(1, aNode("u", "2"))),
			want:   "nodes n says something else",
		},
		"a pod of the same node": {
			events: moved(objects(0, aNode("u", "1"), aPod("p")), objects(1, aNode("u", "1"), aPod("q"))),
			want:   "pods default/p was made anew",
		},
		"what an owner has made": {
			events: moved(objects(0, deployment("1"), owned("x")), objects(1, deployment("2"), owned("y"))),
			want:   "deployments.apps default/d says something else",
		},
		"a job is over": {
			events: moved(
				objects(0, thing{"cronjobs.batch", timeline.ObjectSeen{Name: "d", UID: "d", Says: "1"}}, owned("x")),
				objects(1, thing{"cronjobs.batch", timeline.ObjectSeen{Name: "d", UID: "d", Says: "1"}}, none("pods"))),
		},
		"an owner that stays": {
			events: moved(objects(0, deployment("1"), owned("x")), objects(1, deployment("1"), owned("y"))),
			want:   "pods default/of-d was made anew",
		},
	})
}

func TestShootUntouched_ScenarioChanges(t *testing.T) {
	t.Parallel()
	ref := timeline.ObjectRef{Kind: "ConfigMap", Namespace: "default", Name: "c"}
	check(t, oracle.ShootUntouched{}, map[string]row{
		"applied": {
			events: moved(objects(0, c), objects(1, configMap("u", "2")), changes("apply", ref)),
		},
		"applied, and gone": {
			events: moved(objects(0, c), objects(1, absent), changes("apply", ref)),
			want:   "configmaps default/c is gone",
		},
		"applied and then removed": {
			events: moved(objects(0, c), objects(1, configMap("v", "1")), changes("remove", ref), changes("apply",
				ref)),
		},
		"applied just before, and gone": {
			events: moved(objects(0, absent), objects(1, absent), changes("apply", ref), objects(0, c)),
			want:   "configmaps default/c is gone",
		},
		"removed": {
			events: moved(objects(0, c), objects(1, absent), changes("remove", ref)),
		},
		"another one is removed": {
			events: moved(objects(0, c), objects(1, absent), changes("remove",
				timeline.ObjectRef{Kind: "Secret", Namespace: "default", Name: "c"})),
			want: "is gone",
		},
		"removed with its definition": {events: moved(objects(0, definition("d"), grant("x")), objects(1, noDefinition),
			changes("remove", timeline.ObjectRef{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition",
				Name: "grants.acme.test"}))},
		"applied, which changes what it owns": {events: moved(objects(0, deployment("1"), owned("x")), objects(1,
			deployment("2"), owned("y")),
			changes("apply", timeline.ObjectRef{Group: "apps", Kind: "Deployment", Namespace: "default", Name: "d"}))},
		"applied before": {
			events: moved(objects(0, c), objects(1, configMap("u", "3")), changes("apply", ref), done("expect"),
				objects(0, configMap("u", "2"))),
			want: "says something else",
		},
		"applied just before": {
			events: moved(objects(0, c), objects(1, configMap("u", "3")), changes("apply", ref), objects(0,
				configMap("u", "2"))),
		},
		"patched": {events: moved(objects(0, kept("u"), c), objects(1, kept("v"), c), step("patch"))},
		"patched, for users": {
			events: moved(objects(0, kept("u"), c), objects(1, kept("v"), absent), step("patch")),
			want:   "configmaps default/c is gone",
		},
		"patched in vain": {
			events: moved(objects(0, kept("u")), objects(1, kept("v")), of("alpha",
				timeline.StepStarted{Verb: "patch", Refused: true})),
			want: "secrets kube-system/s-u is gone",
		},
		"another is patched": {
			events: moved(objects(0, kept("u")), objects(1, kept("v")), of("beta",
				timeline.StepStarted{Verb: "patch"})),
			want: "is gone",
		},
		"selected": {
			events: moved(objects(0, aNode("u", "1"), aPod("p")), objects(1, aNode("u", "2"), none("pods")),
				step("select")),
		},
	})
}

// backedUp is a shoot that is ready, with all that it begins with in its backups.
func backedUp() timeline.Event {
	return of("alpha", timeline.ShootReady{TechnicalID: id, BackedUp: true})
}

func TestShootUntouched_Faults(t *testing.T) {
	t.Parallel()
	check(t, oracle.ShootUntouched{}, map[string]row{
		"lost, and was there at first": {
			events: moved(objects(0, c), objects(1, absent), fire),
			want:   "is gone",
		},
		"lost, and made later": {
			events: moved(objects(0, absent), objects(1, absent), done("wait"), objects(0, c),
				fire),
		},
		"lost after a planned move": {
			events: moved(objects(0, absent), objects(2, absent), objects(0, c), leaving,
				there, objects(1, c), fire),
			want: "is gone",
		},
		"a later change is lost": {
			events: moved(objects(0, c), objects(1, c), done("wait"), objects(0, configMap("u", "2")), fire),
		},
		"made later, the fault is over": {
			events: moved(objects(0, absent), objects(1, absent), fire, healed, objects(0, c)),
			want:   "is gone",
		},
		"lost, and nobody knows whether it was saved": {
			events: history(created, objects(0, c), steady(0), fire, leaving, there, settling, objects(1, absent)),
			lacks:  "which objects of alpha were in a backup before its move",
		},
		"seen too late to be saved": {
			events: history(created, backedUp(), objects(0, c), fire, leaving, there, settling, objects(1,
				absent)),
			lacks: "before anything happens to it",
		},
	})
}

func TestShootUntouched_Lives(t *testing.T) {
	t.Parallel()
	asleep, deleting := shoot("b", "b", "Restore", "Succeeded"), shoot("b", "b", "Delete", "Processing")
	asleep.WantsToSleep, asleep.Hibernated, deleting.Deleting = true, true, true
	check(t, oracle.ShootUntouched{}, map[string]row{
		"deleted": {
			events: moved(objects(0, c), objects(1, c), step("delete"), seen(deleting), gone),
			lacks:  "a shoot that moves",
		},
		"deleted in the end": {
			events: history(created, objects(0, c), backedUp(), leaving, there, objects(1, c), step("delete"),
				seen(deleting), objects(1, absent), gone, settling),
		},
		"deleted unseen": {
			events: history(created, objects(0, c), backedUp(), leaving, there, step("delete"), seen(deleting), gone),
			lacks:  "after its move, before it was deleted",
		},
		"created again": {
			events: history(created, objects(0, c), backedUp(), leaving, there, objects(1, c), step("delete"), gone,
				step("create"), created, objects(0, configMap("v", "1")), backedUp(), settling, objects(0,
					configMap("v", "1"))),
		},
		"created again, and nobody saw it go": {
			events: history(created, objects(0, c), backedUp(), leaving, there, objects(1, c), step("delete"),
				step("create"), objects(0, configMap("v", "1")), backedUp(), settling, objects(0, configMap("v", "1"))),
		},
		"it sleeps in the end": {
			events: history(created, objects(0, c), backedUp(), leaving, seen(asleep), settling),
			lacks:  "the objects of alpha after its move: it sleeps",
		},
		"the second life moves": {
			events: history(created, objects(0, c), backedUp(), step("delete"), step("create"),
				created, objects(0, configMap("v", "1")), backedUp(), leaving, there, settling, objects(1, absent)),
			want: "configmaps default/c is gone",
		},
	})
}

func TestShootUntouched_MissingEvidence(t *testing.T) {
	t.Parallel()
	check(t, oracle.ShootUntouched{}, map[string]row{
		"it is cut short": {
			events: history(created, objects(0, c), backedUp(), leaving, there, objects(1, c), step("delete")),
			lacks:  "the end of the scenario",
		},
		"no look before": {
			events: history(created, backedUp(), leaving, there, settling, objects(1, c)),
			lacks:  "the objects of alpha before anything happens to it",
		},
		"no look in the end": {
			events: history(created, objects(0, c), backedUp(), leaving, there, objects(1, c), seen(shoot("a", "b",
				"Migrate", "Processing")), back, settling),
			lacks: "the objects of alpha after it had settled",
		},
		"no Shoot": {
			events: history(objects(0, c), backedUp(), settling, objects(1, c)),
			lacks:  "the Shoot alpha in the garden",
		},
		"a class is not read": {
			events: moved(objects(0, c), unreadable(withoutClass(objects(1), "configmaps"), "configmaps: timeout")),
			lacks:  "configmaps: timeout in alpha",
		},
		"a group is not read": {
			events: moved(objects(0, c), withoutClass(objects(1), "configmaps")),
			lacks:  "configmaps in alpha after its move",
		},
		"it was not read first": {
			events: moved(unreadable(withoutClass(objects(0), "configmaps"), "configmaps: timeout"), objects(1, c)),
			lacks:  "configmaps: timeout in alpha",
		},
		"the definitions are not read": {events: moved(objects(0, definition("d"), grant("x")),
			withoutClass(objects(1), definitions)),
			lacks: "grants.acme.test in alpha after its move"},
		"all is there, and an object is not": {
			events: moved(objects(0, c), objects(1, absent)),
			want:   "is gone",
		},
	})
}

func TestShootUntouched_ManyViolations(t *testing.T) {
	t.Parallel()
	found := oracle.ShootUntouched{}.Judge(moved(objects(0, many("u")...), objects(1, many("v")...)))
	if len(found) != 21 || found[20].Message != "alpha: and 10 more objects are not as they were before the move" {
		t.Errorf("found %d, the last is %v", len(found), found[len(found)-1])
	}
}

// However a record is cut off, it proves nothing that the whole one does not prove.
func TestShootUntouched_CutOffRecords(t *testing.T) {
	t.Parallel()
	whole := history(created, objects(0, c), backedUp(), step("migrate"), leaving, there, objects(1, c),
		step("migrate"), turning, back, settling, objects(2, configMap("v", "1")))
	o := oracle.ShootUntouched{}
	for n := range whole {
		if found := o.Judge(whole[:n]); len(found) > 0 {
			t.Errorf("the first %d events: %v", n, found)
		}
		if len(o.Lacks(whole[:n])) == 0 {
			t.Errorf("the first %d events lack nothing", n)
		}
	}
	for n := range whole {
		part := append(append([]timeline.Event{}, whole[:n]...), whole[n+1:]...)
		if whole := o.Judge(part); len(whole) == 0 && len(o.Lacks(part)) == 0 {
			switch part := part; {
			case n == 3 || n == 7: // steps prove no move
			default:
				t.Errorf("without event %d there is no violation of %d, and nothing is lacking", n+1, len(part))
			}
		}
	}
}
