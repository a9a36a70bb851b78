package chaosmesh

import (
	"slices"
	"strings"
)

// Support is what there is for one action of a kind: links and processes, which every backend has, and Chaos Mesh
// itself, where it is installed. All that depends on who can do what is made of these: the checks, their messages, what
// an experiment needs, and docs/chaos-mesh.md.
type Support struct {
	Kind string
	// Action is empty for a kind that has none.
	Action string
	// Own is what links or processes do; empty where they can do nothing.
	Own string
	// Cannot is why they can do nothing.
	Cannot string
	// Mesh is how it is known that Chaos Mesh has hit a pod; empty for what is not left to it.
	Mesh string
	// Never is why no backend can do it; empty where one can.
	Never string
}

const (
	byRecords = "its records say so"
	// byRecordsOfPorts are those of ports that no link leads to.
	byRecordsOfPorts = "its records say so; port 6443 is left to links"

	byKnock = "connections from within the pod's network, to its target or else to its node, are not answered, or are " +
		"answered late"
	// sentLater is what TCP makes of a lost packet.
	sentLater = "packets of 1,448 bytes are lost by chance, and TCP sends each again: its bytes, and all behind them, " +
		"are late by 200 ms, by 600 ms if it is lost twice, and so on"
	noDisks = "volumes are folders of one machine"
	outside = "it harms machines outside of a landscape's clusters"
)

// Supports are all actions of all kinds that harm something, in the order of the documentation.
func Supports() []Support {
	return slices.Concat(onPods(), onNetworks(), onRequests(),
		meshOnly("StressChaos", "all pods share the processors and the memory of one machine: stress would not stay in the "+
			"pod", "cpu", "memory"),
		meshOnly("TimeChaos", "all processes have the clock of one machine, and a Go program takes no other", ""),
		bySeries("Schedule", "give its experiment as a fault, for each time at which it is to begin"),
		bySeries("Workflow", "give its templates as the steps of the scenario"),
		meshOnly("IOChaos", noDisks, "latency", "fault", "attrOverride", "mistake"), meshOnly("BlockChaos", noDisks, "delay"),
		meshOnly("JVMChaos", "no pod of a landscape runs Java", "latency", "return", "exception", "stress", "gc", "ruleData",
			"mysql"),
		[]Support{
			{Kind: "DNSChaos", Never: "Chaos Mesh is installed without its DNS server"},
			{Kind: "KernelChaos", Never: "Chaos Mesh is installed without what it loads into the kernel of this machine"},
			{Kind: "AWSChaos", Never: outside}, {Kind: "AzureChaos", Never: outside}, {Kind: "GCPChaos", Never: outside},
			{Kind: "PhysicalMachineChaos", Never: outside},
		},
	)
}

func onPods() []Support {
	return []Support{
		{Kind: "PodChaos", Action: "pod-kill", Own: "the pod is deleted", Mesh: "the pod is deleted"},
		{
			Kind: "PodChaos", Action: "container-kill", Own: "the processes of the named containers are killed",
			Mesh: "the named containers have been started again",
		},
		{
			Kind: "PodChaos", Action: "pod-failure", Own: "the processes of the pod are killed, and kept from doing " +
				"anything when they are started again, until the heal",
			Mesh: "its containers run another image",
		},
	}
}

func onNetworks() []Support {
	rows := []Support{
		{Action: "partition", Own: "nothing passes; with `partitionBehavior: reject` new connections are refused"},
		{
			Action: "delay", Own: "bytes are late by `latency`, give or take `jitter`; what is reordered is not delayed, but " +
				"waits for what is before it, as TCP has it",
		},
		{Action: "loss", Own: sentLater},
		{
			Action: "duplicate", Own: "packets of 1,448 bytes are sent twice by chance; TCP drops the second one, so that it " +
				"only takes room: in the bytes that the link counts, and in a `rate`, without which it is refused",
		},
		{Action: "corrupt", Own: "as with loss, because the receiver drops what is corrupt"},
		{
			Action: "bandwidth", Own: "no more bytes pass than `rate` allows, but for a burst of `buffer`, which passes at " +
				"once, or at `peakrate`",
		},
		{Action: "netem", Own: "all that is given of `delay`, `loss`, `duplicate`, `corrupt` and `rate`"},
	}
	for i := range rows {
		rows[i].Kind = "NetworkChaos"
		if rows[i].Action != "duplicate" && rows[i].Action != "bandwidth" { // which a probe of ours does not see
			rows[i].Mesh = byKnock
		}
	}
	return rows
}

func onRequests() []Support {
	return []Support{
		{Kind: "HTTPChaos", Action: "abort", Own: "the client's connection is closed", Mesh: byRecordsOfPorts},
		{Kind: "HTTPChaos", Action: "delay", Own: "the request, or the answer, waits", Mesh: byRecordsOfPorts},
		{
			Kind: "HTTPChaos", Action: "replace", Own: "parts of the request, or of the answer, are replaced",
			Mesh: byRecordsOfPorts,
		},
		{
			Kind: "HTTPChaos", Action: "patch", Own: "headers and queries are added, and a body that is JSON is merged",
			Mesh: byRecordsOfPorts,
		},
	}
}

func meshOnly(kind, cannot string, actions ...string) (all []Support) {
	for _, action := range actions {
		all = append(all, Support{Kind: kind, Action: action, Cannot: cannot, Mesh: byRecords})
	}
	return all
}

func bySeries(kind, cannot string) []Support {
	return []Support{{Kind: kind, Cannot: cannot, Mesh: "the records of what it begins say so"}}
}

// Kinds are the kinds of Chaos Mesh that a backend can carry out, in alphabetical order.
func Kinds() []string {
	var kinds []string
	for _, s := range Supports() {
		if s.Never == "" {
			kinds = append(kinds, s.Kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// supportOf an action; false for one that the kind does not have.
func supportOf(kind, action string) (Support, bool) {
	all := Supports()
	if i := slices.IndexFunc(all, func(s Support) bool { return s.Kind == kind && s.Action == action }); i >= 0 {
		return all[i], true
	}
	return Support{}, false
}

// actionsOf a kind, for a sentence.
func actionsOf(kind string) string {
	var actions []string
	for _, s := range Supports() {
		if s.Kind == kind {
			actions = append(actions, s.Action)
		}
	}
	return alternatives(actions)
}

// alternatives of which one is right, for a sentence.
func alternatives(all []string) string {
	if len(all) == 1 {
		return all[0]
	}
	return strings.Join(all[:len(all)-1], ", ") + " or " + all[len(all)-1]
}
