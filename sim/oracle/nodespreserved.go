package oracle

import (
	"fmt"
	"path"
	"slices"

	"github.com/transplant-sim/transplant/sim/state"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// NodesPreserved promises that a change of seed does not affect the nodes: the same nodes with the same UIDs, none
// rebooted, and no pod of the workload restarted, evicted or replaced.
type NodesPreserved struct{}

var _ Oracle = NodesPreserved{}

// Name of the promise.
func (NodesPreserved) Name() string { return "NodesPreserved" }

// Lacks the workload, which has a pod on each node, or a look at nodes and workload after the last operation.
func (NodesPreserved) Lacks(events []timeline.Event) []string {
	var lacks []string
	last := state.Of(events).Shoots
	if anyLeaves(events) { // perhaps with their machines, which the ledger shows
		lacks = append(lacks, ledgerGaps(events)...)
	}
	for _, shoot := range shootsOf(events) {
		nodes := steadyNodes(events, shoot)
		if running := podsSeenRunning(events, shoot); running < nodes {
			lacks = append(lacks, fmt.Sprintf("the workload of %s: %d pods running, on %d nodes", shoot, running, nodes))
		}
		if nodes == 0 || last[shoot].Absent || last[shoot].Deleting || last[shoot].Hibernated {
			continue
		}
		if !nodesSeenAtTheEnd(events, shoot) {
			lacks = append(lacks, "the nodes of "+shoot+" after it had settled")
		}
		for _, probe := range []string{timeline.NodesOf(shoot), timeline.WorkloadOf(shoot)} {
			if blindAtEnd(events, probe) {
				lacks = append(lacks, "the last look at the "+probe)
			}
		}
	}
	return lacks
}

// podsSeenRunning is how many pods of the workload were seen running. They are there before the shoot is called steady.
func podsSeenRunning(events []timeline.Event, shoot string) int {
	running := map[string]bool{}
	for _, p := range timeline.About[timeline.PodSeen](events, shoot) {
		if p.Phase == "Running" {
			running[p.Name] = true
		}
	}
	return len(running)
}

// nodesSeenAtTheEnd: the final look at the shoot's data proves that its API server answered the observer at the end;
// a renewed lease shows the same. Nodes and workload are looked at after it, and who then sees nothing says so.
func nodesSeenAtTheEnd(events []timeline.Event, shoot string) bool {
	settling := false
	for _, e := range events {
		switch e.Payload.(type) {
		case timeline.Settling:
			settling = true
		case timeline.NodeSeen, timeline.DataSeen:
			if settling && e.Subject == shoot {
				return true
			}
		}
	}
	return false
}

// Judge nodes and workload of each shoot.
func (o NodesPreserved) Judge(events []timeline.Event) []Violation {
	f, gaps := findings{oracle: o.Name()}, len(ledgerGaps(events)) > 0
	for _, shoot := range shootsOf(events) {
		peace := calm{shoot: shoot}
		nodes := map[string]nodeSeen{}
		machines := map[string]string{} // of nodes, also of those that are gone
		pods := map[string]podSeen{}
		expected := steadyNodes(events, shoot)
		ended := machinesEnded(events, shoot)
		quiet := false
		for _, e := range events {
			was := quiet
			quiet = peace.take(e)
			if was && !quiet { // what comes after is another set of nodes
				clear(nodes)
				clear(pods)
			}
			if e.Subject != shoot {
				continue
			}
			switch p := e.Payload.(type) {
			case timeline.NodeSeen:
				before, known := nodes[p.Name]
				if !p.Gone {
					machines[p.Name] = path.Base(p.ProviderID)
				}
				if quiet && !ended[machines[p.Name]] && !(p.Gone && gaps) {
					judgeNode(&f, e, p, before, known, len(nodes) >= expected)
				}
				if nodes[p.Name] = (nodeSeen{p, e.Seq}); p.Gone {
					delete(nodes, p.Name)
				}
			case timeline.PodSeen:
				before, known := pods[p.Name]
				if quiet && known && !ended[machines[before.Node]] && !(leaves(p) && gaps) {
					judgePod(&f, e, p, before)
				}
				if pods[p.Name] = (podSeen{p, e.Seq}); p.Gone {
					delete(pods, p.Name)
				}
			}
		}
	}
	return f.sorted()
}

// nodeSeen and podSeen are what was seen last, and the event that records it.
type (
	nodeSeen struct {
		timeline.NodeSeen
		seq int
	}
	podSeen struct {
		timeline.PodSeen
		seq int
	}
)

// anyLeaves says that a node or a pod of the workload has gone, or is about to.
func anyLeaves(events []timeline.Event) bool {
	return slices.ContainsFunc(events, func(e timeline.Event) bool {
		node, isNode := e.Payload.(timeline.NodeSeen)
		pod, isPod := e.Payload.(timeline.PodSeen)
		return isNode && node.Gone || isPod && leaves(pod)
	})
}

// leaves says that a pod has gone, or is about to: whoever collects a pod of a node that is no more marks it as failed,
// then deletes it.
func leaves(pod timeline.PodSeen) bool { return pod.Gone || pod.Deleting || pod.Phase == "Failed" }

// machinesEnded are the ids of machines that were deleted while their shoot was not calm. What becomes of their nodes
// and pods is no harm, and may be seen much later: nobody sees them while the shoot is hibernated, and the cluster's
// controllers collect them some minutes after it has woken up.
func machinesEnded(events []timeline.Event, shoot string) map[string]bool {
	disturbances := disturbancesOf(events, shoot)
	ids := technicalIDs(events)
	ended := map[string]bool{}
	for e, p := range timeline.Of[timeline.CloudCalled](events) {
		if ids[e.Subject] == shoot && p.Took && p.Verb == "delete" && p.What == "machines" && disturbances.at(p.Made) {
			ended[p.ID] = true
		}
	}
	return ended
}

func judgeNode(f *findings, e timeline.Event, now timeline.NodeSeen, before nodeSeen, known, complete bool) {
	switch {
	case !known && complete && !now.Gone:
		f.add(e.At, proof(before.seq, e.Seq), "%s: node %s is new", e.Subject, now.Name)
	case !known:
	case now.Gone:
		f.add(e.At, proof(before.seq, e.Seq), "%s: node %s is gone", e.Subject, now.Name)
	case now.UID != before.UID:
		f.add(e.At, proof(before.seq, e.Seq), "%s: node %s is another object (uid %s, before %s)", e.Subject, now.Name,
			now.UID, before.UID)
	case now.BootID != before.BootID && before.BootID != "":
		f.add(e.At, proof(before.seq, e.Seq), "%s: node %s has booted again", e.Subject, now.Name)
	case now.ProviderID != before.ProviderID && before.ProviderID != "":
		f.add(e.At, proof(before.seq, e.Seq), "%s: node %s is another machine (%s, before %s)", e.Subject, now.Name,
			now.ProviderID, before.ProviderID)
	}
}

func judgePod(f *findings, e timeline.Event, now timeline.PodSeen, before podSeen) {
	switch {
	case now.Gone:
		f.add(e.At, proof(before.seq, e.Seq), "%s: pod %s is gone", e.Subject, now.Name)
	case now.UID != before.UID:
		f.add(e.At, proof(before.seq, e.Seq), "%s: pod %s was replaced", e.Subject, now.Name)
	case now.Restarts > before.Restarts:
		f.add(e.At, proof(before.seq, e.Seq), "%s: pod %s was restarted", e.Subject, now.Name)
	case now.Deleting && !before.Deleting:
		f.add(e.At, proof(before.seq, e.Seq), "%s: pod %s is evicted or deleted", e.Subject, now.Name)
	case before.Phase == "Running" && now.Phase != "Running":
		f.add(e.At, proof(before.seq, e.Seq), "%s: pod %s is %s, it was running", e.Subject, now.Name, now.Phase)
	}
}
