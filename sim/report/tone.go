package report

import "github.com/transplant-sim/transplant/sim/timeline"

var outcomes = map[timeline.Outcome]Tone{timeline.Acknowledged: Good, timeline.Failed: Bad, timeline.Unknown: Unclear}

// toneOf an event by itself.
func toneOf(e timeline.Event) Tone {
	switch p := e.Payload.(type) {
	case timeline.Write:
		return outcomes[p.Outcome]
	case timeline.Read:
		return outcomes[p.Outcome]
	case timeline.Reached:
		return outcomes[p.Outcome]
	case timeline.StepEnded:
		switch p.Outcome {
		case timeline.StepDone:
			return Good
		case timeline.StepUnknown:
			return Unclear
		}
		return Bad
	case timeline.FaultInjected:
		return Bad
	case timeline.FaultAwaited:
		return Unclear
	case timeline.FaultHealed:
		if p.Error != "" {
			return Bad
		}
		return Good
	case timeline.Settled:
		if !p.Converged {
			return Bad
		}
		return Good
	case timeline.RunEnded:
		if p.Error != "" {
			return Bad
		}
	case timeline.Unseen, timeline.ActorEnded: // the faults beside it show whether it was to end
		return Unclear
	case timeline.ShootSeen:
		return operationTone(p.Operation)
	case timeline.SeedSeen:
		if p.Absent || p.Gardenlet("Unknown") {
			return Bad
		}
	case timeline.CloudCalled:
		if !p.Took && p.Outcome != "OK" && p.Outcome != "Replayed" {
			return Bad
		}
	case timeline.EpochSeen:
		return guardTone(p.State)
	case timeline.NodeSeen:
		return nodeTone(p)
	case timeline.ExtensionSeen:
		if p.Gone {
			return Bad
		}
	case timeline.ExtensionStateSeen:
		return operationTone(p.Operation)
	case timeline.PodSeen:
		if p.Gone || p.Deleting || p.Phase != "Running" {
			return Unclear
		}
	}
	return Plain
}

func operationTone(o timeline.Operation) Tone {
	switch o.State {
	case "Succeeded":
		return Good
	case "Error", "Failed", "Aborted":
		return Bad
	case "Processing", "Pending":
		return Busy
	}
	return Plain
}

// guardTone of a state of the guard (docs/ownership.md#spec-9-2). One that lets nothing pass does its duty, which is
// neither good nor bad.
func guardTone(state string) Tone {
	if state == "Serving" {
		return Good
	}
	return Plain
}

func nodeTone(n timeline.NodeSeen) Tone {
	switch {
	case n.Gone || n.Ready == "False":
		return Bad
	case n.Ready == "True":
		return Good
	}
	return Unclear
}
