package wording

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// Sentence describes any event in one line, whatever was before it. It leaves out subject and actor, which stand beside
// it.
func Sentence(e timeline.Event) string {
	switch p := e.Payload.(type) {
	case timeline.RunStarted:
		return fmt.Sprintf("%s runs on %s, random seed %d", p.Scenario, p.Backend, p.RandomSeed)
	case timeline.LandscapeReady:
		return "landscape ready: garden and " + strings.Join(p.Seeds, ", ")
	case timeline.ShootReady:
		return fmt.Sprintf("ready as %s: %d nodes, %d objects", p.TechnicalID, p.Nodes, p.Objects)
	case timeline.StepStarted:
		return fmt.Sprintf("step %d: %s", p.Index+1, p.Text)
	case timeline.StepEnded:
		return trail(fmt.Sprintf("step %d %s: %s", p.Index+1, strings.ToLower(string(p.Outcome)), p.Text), p.Message)
	case timeline.FaultAwaited:
		return fmt.Sprintf("%s waits for %s", p.Fault, p.When)
	case timeline.FaultInjected:
		return p.Fault + " begins"
	case timeline.FaultHealed:
		return trail(fmt.Sprintf("%s ends; it hit %s", p.Fault, Times(p.Hits)), p.Error)
	case timeline.Settling:
		return "the steps are over: wait until everything has settled"
	case timeline.Settled:
		if p.Converged {
			return "everything has settled"
		}
		return "not settled in time: " + unsettled(p)
	case timeline.RunEnded:
		return trail("the run has ended", p.Error)
	case timeline.Note:
		return p.Text
	case timeline.Unseen:
		if p.Final {
			return fmt.Sprintf("cannot see %s, at the last look: %s", p.Probe, p.Error)
		}
		return fmt.Sprintf("cannot see %s: %s", p.Probe, p.Error)
	}
	if text := watchSentence(e.Payload); text != "" {
		return text
	}
	if text := trafficSentence(e.Payload); text != "" {
		return text
	}
	return worldSentence(e.Payload)
}

// watchSentence describes looks, and what was seen to be true.
func watchSentence(payload timeline.Payload) string {
	switch p := payload.(type) {
	case timeline.Looked:
		text := fmt.Sprintf("looked %s", Times(p.Looks))
		switch {
		case p.Final:
			text = fmt.Sprintf("has looked for the last time, %s", Times(p.Looks))
		case p.Ended:
			text += ", and ends"
		case p.Follows:
			text += ", and follows"
		}
		if p.Failed > 0 {
			text += fmt.Sprintf("; failed %s", Times(p.Failed))
		}
		return text
	case timeline.Observed:
		return "observed, for " + cut(p.That, 80)
	case timeline.ConditionMet:
		return trail(trail("met", p.Saw), p.Unknown)
	}
	return ""
}

// trail adds what there is to add.
func trail(text, more string) string {
	if more == "" {
		return text
	}
	return text + ": " + more
}

func took(sent, answered timeline.Moment) string {
	return time.Duration(answered - sent).Round(100 * time.Microsecond).String()
}

func trafficSentence(payload timeline.Payload) string {
	switch p := payload.(type) {
	case timeline.Write:
		text := fmt.Sprintf("write %d: %s %s, %s in %s", p.Number, p.Verb, p.Key, strings.ToLower(string(p.Outcome)),
			took(p.Sent, p.Answered))
		if p.ResourceVersion > 0 {
			text += fmt.Sprintf(", revision %d", p.ResourceVersion)
		}
		if p.Status > 0 {
			text += fmt.Sprintf(", HTTP %d", p.Status)
		}
		return trail(text, p.Error)
	case timeline.Read:
		text := fmt.Sprintf("read %s, %s in %s", p.Key, strings.ToLower(string(p.Outcome)), took(p.Sent, p.Answered))
		if p.ResourceVersion > 0 {
			text += fmt.Sprintf(", holds %d at revision %d", p.Number, p.ResourceVersion)
		}
		return trail(text, p.Error)
	case timeline.CachedRead:
		text := fmt.Sprintf("read at the first address, %s in %s", strings.ToLower(string(p.Outcome)),
			took(p.Sent, p.Answered))
		if p.ResourceVersion > 0 {
			text += fmt.Sprintf(", in memory up to revision %d", p.ResourceVersion)
		}
		return trail(text, p.Error)
	case timeline.Reached:
		if p.Outcome == timeline.Acknowledged {
			return "the API answers in " + took(p.Sent, p.Answered)
		}
		return trail(fmt.Sprintf("the API does not answer (%s, after %s)", strings.ToLower(string(p.Outcome)),
			took(p.Sent, p.Answered)), p.Error)
	case timeline.VersionsSeen:
		text := fmt.Sprintf("%s by %s: ", p.Resource, p.Source)
		if p.Gone {
			text += "asked to start over, then "
		}
		if len(p.Versions) == 0 {
			return text + "no versions"
		}
		return text + fmt.Sprintf("%d versions, %d to %d", len(p.Versions), p.Versions[0], p.Versions[len(p.Versions)-1])
	case timeline.DataSeen:
		return fmt.Sprintf("the data at the end: %d keys at revision %d", len(p.Keys), p.Version)
	case timeline.DataCounted:
		return fmt.Sprintf("a user counts %d keys at the end", p.Keys)
	}
	return ""
}

func worldSentence(payload timeline.Payload) string {
	switch p := payload.(type) {
	case timeline.ShootSeen:
		return shootSentence(p)
	case timeline.SeedSeen:
		return seedSentence(p)
	case timeline.EpochSeen:
		return fmt.Sprintf("epoch %d on seed %s is %s, %s left, revision %d", p.Epoch, p.Seed, p.State,
			time.Duration(p.Remaining).Round(time.Millisecond), p.Revision)
	case timeline.NodeSeen:
		if p.Gone {
			return fmt.Sprintf("node %s is gone", p.Name)
		}
		return fmt.Sprintf("node %s: ready %s, boot %.8s", p.Name, p.Ready, p.BootID)
	case timeline.PodSeen:
		if p.Gone {
			return fmt.Sprintf("pod %s is gone", p.Name)
		}
		text := fmt.Sprintf("pod %s on %s: %s, %d restarts", p.Name, p.Node, p.Phase, p.Restarts)
		if p.Deleting {
			text += ", being deleted"
		}
		return text
	case timeline.ObjectsSeen:
		return objectsSentence(p)
	case timeline.ExtensionSeen:
		if p.Gone {
			return fmt.Sprintf("%s, of an extension, is gone", p.Name)
		}
		return fmt.Sprintf("%s, of an extension: %.8s", p.Name, p.Holds)
	case timeline.ExtensionStateSeen:
		return stateSentence(p)
	case timeline.CloudCalled:
		return cloudSentence(p)
	case timeline.InventorySeen:
		return inventorySentence(p)
	case timeline.ActorEnded:
		return endSentence(p)
	case timeline.CostSeen:
		requests := int64(0)
		for _, n := range p.Requests {
			requests += n
		}
		return fmt.Sprintf("the landscape has cost %d requests and %s of processor time", requests,
			time.Duration(p.CPU).Round(10*time.Millisecond))
	}
	return rawSentence(payload)
}

// rawSentence shows what has no words of its own as it stands in the file.
func rawSentence(payload timeline.Payload) string {
	content, err := json.Marshal(payload)
	if err != nil {
		return string(payload.Kind())
	}
	return Short(string(payload.Kind()) + " " + string(content))
}

func shootSentence(p timeline.ShootSeen) string {
	if p.Absent {
		return "there is no such Shoot"
	}
	parts := []string{fmt.Sprintf("bound to %s, on %s", orNone(p.SpecSeed), orNone(p.StatusSeed))}
	if o := p.Operation; o.Type != "" {
		parts = append(parts, trail(fmt.Sprintf("%s %s %d%%", o.Type, o.State, o.Progress), o.Description))
	}
	for _, is := range []struct {
		so   bool
		text string
	}{{p.WantsToSleep, "wants to sleep"}, {p.Hibernated, "hibernated"}, {p.Deleting, "being deleted"}} {
		if is.so {
			parts = append(parts, is.text)
		}
	}
	parts = append(parts, notTrue(p.Conditions)...)
	for _, problem := range p.Errors {
		parts = append(parts, "error: "+problem)
	}
	return strings.Join(parts, "; ")
}

func notTrue(conditions []timeline.ConditionIs) []string {
	var parts []string
	for _, c := range conditions {
		if c.Status != "True" {
			parts = append(parts, trail(c.Type+" is "+c.Status, c.Why()))
		}
	}
	return parts
}

func seedSentence(p timeline.SeedSeen) string {
	if p.Absent {
		return "there is no such Seed any more"
	}
	var parts []string
	if p.Deleting {
		parts = append(parts, "being deleted")
	}
	if len(p.Conditions) == 0 {
		parts = append(parts, "has no conditions yet")
	}
	if parts = append(parts, notTrue(p.Conditions)...); len(parts) == 0 {
		return "every condition is True"
	}
	return strings.Join(parts, "; ")
}

func orNone(seed string) string {
	if seed == "" {
		return "no seed"
	}
	return seed
}

func stateSentence(p timeline.ExtensionStateSeen) string {
	text := fmt.Sprintf("%s on seed %s", p.Object, p.Seed)
	if p.Gone {
		return text + " is gone"
	}
	state := "none"
	if p.Holds != "" {
		state = p.Holds[:min(8, len(p.Holds))]
	}
	if p.Operation.Type != "" {
		text += fmt.Sprintf(": %s %s", p.Operation.Type, p.Operation.State)
	}
	if p.Asked != "" {
		text += ", asked to " + p.Asked
	}
	if p.Error != "" {
		text += " (" + Short(p.Error) + ")"
	}
	if p.Uncompared {
		return text
	}
	return text + ", status.state " + state
}

func cloudSentence(p timeline.CloudCalled) string {
	name := cmp.Or(p.Name, p.ID)
	text := fmt.Sprintf("%s %s %s: %s", p.Verb, p.What, name, p.Outcome)
	if p.Epoch > 0 {
		text += fmt.Sprintf(", as epoch %d", p.Epoch)
	}
	if p.Fault != "" {
		text += ", fault " + p.Fault
	}
	return text
}

// endSentence has the last line of the log: the others stand beside it where there is room.
func endSentence(p timeline.ActorEnded) string {
	text := fmt.Sprintf("%s of %s has ended in %s with exit code %d", p.Container, p.Who, p.Cluster, p.ExitCode)
	if p.Signal > 0 {
		text += fmt.Sprintf(", by signal %d", p.Signal)
	}
	if p.Reason != "" && p.Reason != "Error" && p.Reason != "Completed" {
		text += " (" + p.Reason + ")"
	}
	text += fmt.Sprintf(", %d restarts", p.Restarts)
	if len(p.Log) > 0 {
		text += ", its log ends with: " + p.Log[len(p.Log)-1]
	}
	return text
}

func inventorySentence(p timeline.InventorySeen) string {
	mentions := 0
	for _, item := range p.Items {
		if len(item.Mentions) > 0 {
			mentions++
		}
	}
	text := fmt.Sprintf("everything %s the run: %d things, %d of them of shoots", p.When, len(p.Items), mentions)
	if p.When == timeline.Left {
		text = fmt.Sprintf("control-plane namespace of %s after its source has released it: %d objects", p.Shoot,
			len(p.Items))
	}
	if len(p.Unreadable) > 0 {
		text += "; unreadable: " + strings.Join(p.Unreadable, ", ")
	}
	return text
}

func objectsSentence(p timeline.ObjectsSeen) string {
	objects := 0
	for _, resource := range p.Resources {
		objects += len(resource.Objects)
	}
	text := fmt.Sprintf("everything in the shoot: %d objects of %d resources", objects, len(p.Resources))
	if len(p.Unreadable) > 0 {
		text += "; unreadable: " + strings.Join(p.Unreadable, ", ")
	}
	return text
}

// unsettled says what had not settled, and what could not be checked.
func unsettled(p timeline.Settled) string {
	parts := p.Waiting
	if len(p.Unknown) > 0 {
		parts = append(slices.Clone(parts), "not known: "+strings.Join(p.Unknown, "; "))
	}
	return strings.Join(parts, "; ")
}
