package diagnosis

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Finding is something that does not come up: a container of an actor, or an object that an extension does not bring to
// its end.
type Finding struct {
	Owner   world.PodOwner
	Cluster string
	State   State
	// What is wrong, in one line.
	What string
	// Log has the last lines of the container's log, LogUnread why they could not be read.
	Log       []string
	LogUnread string
	// Cause is what a third-party extension lacks; nil where its log does not say it.
	Cause *Cause

	object bool // it is about an object that waits; the containers may be well
	// unanswered is how long the object has waited without any answer; 0 if there was one.
	unanswered time.Duration
	pod        *corev1.Pod // nil for an object
	container  string      // empty where the pod has none yet
	logged     bool        // the container has run, so that there is a log
}

// String is the finding for people: one line, the lines of the log, and whose fault it is.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s%s: %s", f.who(), f.verb(), f.where(), f.What)
	switch {
	case len(f.Log) > 0:
		b.WriteString("\nits log ends with:")
		for _, line := range f.Log {
			b.WriteString("\n  | " + line)
		}
	case f.LogUnread != "":
		b.WriteString("\nits log could not be read: " + f.LogUnread)
	case f.logged:
		b.WriteString("\nits log is empty")
	}
	b.WriteString("\n" + f.blame())
	return b.String()
}

func (f Finding) who() string {
	switch {
	case f.Owner.Extension != "":
		return fmt.Sprintf("the extension %s", f.Owner.Extension)
	case f.Owner.Shoot != "":
		return fmt.Sprintf("the control plane of shoot %s", f.Owner.Shoot)
	case f.Owner.Actor == "":
		return "an extension that nobody has brought"
	}
	return "the actor " + f.Owner.Actor
}

func (f Finding) verb() string {
	switch {
	case f.State == Silent:
		return "never answered"
	case f.State == Failing:
		return "goes on failing"
	case f.object:
		return "is not done"
	case f.State == Unstartable:
		return "could not be started"
	case f.State == Crashing:
		return "never came up"
	}
	return "is not up"
}

func (f Finding) where() string {
	if f.Cluster == landscape.Garden {
		return " in the garden"
	}
	return " on seed " + f.Cluster
}

// blame says whether it is the set-up that is wrong or an extension that is to be judged: neither is a verdict on a
// promise.
func (f Finding) blame() string {
	switch {
	case f.Owner.Extension == "":
		return "This is an error of the set-up, not a finding about a third-party extension."
	case f.Cause != nil:
		return fmt.Sprintf("This is an error of the set-up. In the file of the extension %s, spec.%s: %s.",
			f.Owner.Extension, f.Cause.Field, f.Cause.Remedy)
	case f.State == Unstartable:
		return fmt.Sprintf("This is an error of the set-up: check image, command and binary in the file of the extension %s.",
			f.Owner.Extension)
	case f.State.Hopeless():
		return fmt.Sprintf("This is a finding about the extension %s: the set-up has started it, and it does not work.",
			f.Owner.Extension)
	}
	return "If it stays so, this is a finding about the extension " + f.Owner.Extension + "."
}

// NeverUpError is why it makes no sense to wait any longer.
type NeverUpError struct{ Findings []Finding }

var _ error = &NeverUpError{}

func (e *NeverUpError) Error() string { return Describe(e.Findings) }

// mostFindings are described one by one.
const mostFindings = 4

// Describe findings, the first few of them.
func Describe(findings []Finding) string {
	var parts []string
	for _, f := range findings[:min(len(findings), mostFindings)] {
		parts = append(parts, f.String())
	}
	if more := len(findings) - mostFindings; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more do not come up", more))
	}
	return strings.Join(parts, "\n")
}
