package oracle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// ShootUntouched promises that a change of seed leaves everything in the shoot as it is: every object of every resource
// is there, is the same object, and says what it said, unless the scenario itself has changed it
// (docs/specification/migration.md#spec-2-14, docs/contract.md#spec-3-10).
//
// What lies in the RPO window of a fault may be lost: where a fault is at work, only that counts which was there when
// the scenario began. Nodes may be replaced, and what is bound to them with them: that is for NodesPreserved and
// NoLostMachine. The load's own ConfigMaps are for NoLostWrite. A shoot that is a seed is left out: its gardenlet
// changes what lies in it all the time.
type ShootUntouched struct{}

var _ Oracle = ShootUntouched{}

// Name of the promise.
func (ShootUntouched) Name() string { return "ShootUntouched" }

// Lacks a move, looks before and after each, or a part of them.
func (ShootUntouched) Lacks(events []timeline.Event) []string {
	var lacks []string
	moves := 0
	for _, shoot := range ordinaryShoots(events) {
		w := walkObjects(events, shoot)
		moves += len(w.passages)
		lacks = append(lacks, w.lacks()...)
	}
	if moves == 0 {
		lacks = append(lacks, "a shoot that moves, with a look at its objects before and after")
	}
	if _, _, ended := timeline.First[timeline.Settling](events); !ended {
		lacks = append(lacks, "the end of the scenario")
	}
	return lacks
}

// Judge each look after a move by the one before it.
func (o ShootUntouched) Judge(events []timeline.Event) []Violation {
	f := findings{oracle: o.Name()}
	for _, shoot := range ordinaryShoots(events) {
		for _, p := range walkObjects(events, shoot).passages {
			p.judge(&f, shoot)
		}
	}
	return f.sorted()
}

const (
	definitionsClass = "customresourcedefinitions.apiextensions.k8s.io"
	namespacesClass  = "namespaces"
	nodesClass       = "nodes"
	podsClass        = "pods"
	cronJobsClass    = "cronjobs.batch"
)

// objectKey distinguishes the objects of a shoot.
type objectKey struct{ class, namespace, name string }

func (k objectKey) String() string {
	return k.class + " " + strings.TrimPrefix(k.namespace+"/"+k.name, "/")
}

// objectLook is one look at the objects of a shoot.
type objectLook struct {
	event      timeline.Event
	generation int64
	unreadable []string
	kinds      map[string]string // of the classes that were read
	objects    map[objectKey]timeline.ObjectSeen
	byUID      map[string]objectKey
	// saved is what each object said when it was last known to be in a backup.
	saved map[objectKey]timeline.ObjectSeen
	// backedUp says that anything was ever known to be in a backup, be it that there was nothing to save.
	backedUp bool
	// due are nodes and pods that must be in it, with their UIDs, and open those of them that were not seen since.
	due  map[objectKey]string
	open map[objectKey]bool
}

func objectLookOf(e timeline.Event, p timeline.ObjectsSeen) *objectLook {
	l := &objectLook{
		event: e, generation: Generation(p.Version), unreadable: p.Unreadable,
		kinds: map[string]string{}, objects: map[objectKey]timeline.ObjectSeen{}, byUID: map[string]objectKey{},
		saved: map[objectKey]timeline.ObjectSeen{},
	}
	for _, resource := range p.Resources {
		l.kinds[resource.Class] = resource.Kind
		for _, object := range resource.Objects {
			key := objectKey{resource.Class, object.Namespace, object.Name}
			l.objects[key], l.byUID[object.UID] = object, key
		}
	}
	return l
}

// same says that an object is still there.
func (l *objectLook) same(key objectKey, object timeline.ObjectSeen) bool {
	now, there := l.objects[key]
	return there && now.UID == object.UID
}

// passage of a shoot from one look to the next, with a move in between.
type passage struct {
	before, after *objectLook
	// lossy says that a fault was at work.
	lossy bool
	done  asked
}

// unread are the classes that were read before the move and not after it, though nobody has removed their definition.
func (p passage) unread() []string { return p.before.more(p.after) }

// unreadBefore are the classes that were read after the move and not before it, though nobody has made their
// definition meanwhile, nor updated the shoot, which may bring others.
func (p passage) unreadBefore() []string {
	return slices.DeleteFunc(p.after.more(p.before), func(class string) bool {
		_, defined := p.after.objects[objectKey{class: definitionsClass, name: class}]
		return p.done.updated && !defined
	})
}

// more are the classes that were read in one look and not in the other, unless their definition is not there in the
// other.
func (l *objectLook) more(other *objectLook) []string {
	var classes []string
	for class := range l.kinds {
		definition := objectKey{class: definitionsClass, name: class}
		_, defined := l.objects[definition]
		_, still := other.objects[definition]
		_, known := other.kinds[definitionsClass]
		if _, read := other.kinds[class]; !read && !(defined && known && !still) {
			classes = append(classes, class)
		}
	}
	slices.Sort(classes)
	return classes
}

// judge the objects one by one. What goes with another object is reported with that one.
func (p passage) judge(f *findings, shoot string) {
	if len(p.before.missing())+len(p.after.missing()) > 0 {
		return // what one of them does not show may have been there
	}
	problems, with := map[objectKey]string{}, map[objectKey]int{}
	unread := p.unread()
	for key, object := range p.before.objects {
		if slices.Contains(unread, key.class) || p.isExempt(key, object) {
			continue
		}
		problem := p.problem(key, object)
		if problem == "" || p.follows(object, map[string]bool{}) {
			continue
		}
		if container, gone := p.lostContainer(key); gone {
			with[container]++
		} else {
			problems[key] = problem
		}
	}
	byName := func(a, b objectKey) int { return cmp.Compare(a.String(), b.String()) }
	keys := slices.SortedFunc(maps.Keys(problems), byName)
	for i, key := range keys {
		if i == mostLosses {
			f.add(p.after.event.At, p.proof(),
				"%s: and %d more objects are not as they were before the move", shoot, len(keys)-i)
			return
		}
		text := problems[key]
		if n := with[key]; n > 0 {
			text += fmt.Sprintf(", and with it %d objects", n)
		}
		f.add(p.after.event.At, p.proof(), "%s: %s %s", shoot, key, text)
	}
}

func (p passage) proof() []int { return proof(p.before.event.Seq, p.after.event.Seq) }

// problem of an object that must be as it was; empty for none.
func (p passage) problem(key objectKey, was timeline.ObjectSeen) string {
	saved, isSaved := p.before.saved[key]
	now, there := p.after.objects[key]
	switch {
	case was.Deleting, p.lossy && !isSaved:
		return ""
	case key.class == nodesClass && (!there || now.UID != was.UID || p.done.updated):
		return ""
	case !there:
		return "is gone"
	case now.UID != was.UID:
		return fmt.Sprintf("was made anew (uid %s, before %s)", now.UID, was.UID)
	case now.Deleting:
		return "is being deleted"
	case now.Says != was.Says && !(p.lossy && saved.Says != was.Says) && !p.isAmong(p.done.applied, key):
		return "says something else than before the move"
	}
	return ""
}

// isExempt says that the scenario itself decides whether an object is there.
func (p passage) isExempt(key objectKey, object timeline.ObjectSeen) bool {
	if p.done.updated && (object.Managed || object.Node != "") {
		return true
	}
	return p.isAmong(p.done.removed, append(containersOf(key), key)...)
}

// isAmong says whether a step is about one of the objects.
func (p passage) isAmong(refs []timeline.ObjectRef, keys ...objectKey) bool {
	return slices.ContainsFunc(refs, func(ref timeline.ObjectRef) bool {
		class, known := p.classOf(ref)
		return known && slices.Contains(keys, objectKey{class, ref.Namespace, ref.Name})
	})
}

// classOf the object that a step is about.
func (p passage) classOf(ref timeline.ObjectRef) (string, bool) {
	for class, kind := range p.before.kinds {
		if _, group, _ := strings.Cut(class, "."); kind == ref.Kind && group == ref.Group {
			return class, true
		}
	}
	return "", false
}

// containersOf an object are those without which it cannot be: its namespace, and the definition of its kind.
func containersOf(key objectKey) []objectKey {
	containers := []objectKey{{class: definitionsClass, name: key.class}}
	if key.namespace != "" {
		containers = append(containers, objectKey{class: namespacesClass, name: key.namespace})
	}
	return containers
}

// lostContainer is the container of an object that is gone.
func (p passage) lostContainer(key objectKey) (objectKey, bool) {
	for _, container := range containersOf(key) {
		_, was := p.before.objects[container]
		_, is := p.after.objects[container]
		if _, read := p.after.kinds[container.class]; was && read && !is {
			return container, true
		}
	}
	return objectKey{}, false
}

// follows says that an object depends on one that is not what it was, so that it had to go or to change with it: an
// owner, or its node. What is bound to a node that was gone before already is garbage, which Kubernetes collects in its
// own time.
func (p passage) follows(object timeline.ObjectSeen, seen map[string]bool) bool {
	if object.Node != "" {
		node := objectKey{class: nodesClass, name: object.Node}
		was, known := p.before.objects[node]
		if _, read := p.before.kinds[nodesClass]; read && !(known && p.after.same(node, was)) {
			return true
		}
	}
	for _, uid := range object.Owners {
		key, known := p.before.byUID[uid]
		if !known || seen[uid] {
			continue
		}
		seen[uid] = true
		owner := p.before.objects[key]
		if key.class == cronJobsClass { // it makes and removes jobs by the clock
			return true
		}
		if now := p.after.objects[key]; now.UID != uid || now.Says != owner.Says || p.follows(owner, seen) {
			return true
		}
	}
	return false
}
