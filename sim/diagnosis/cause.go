package diagnosis

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/sim/logs"
)

// Cause is what a third-party extension lacks by the words of its log, and what to change in its file.
type Cause struct {
	// Field of the extension's file.
	Field string
	// Remedy in one sentence.
	Remedy string

	port         int    // that is in use
	version      string // API group and version that are not served
	kind         string // of it, if the program says which
	mayPassAlone bool   // a program that says it may end for another reason
}

// symptom is how programs report one sort of cause. The expression is matched against each line.
type symptom struct {
	said  *regexp.Regexp
	cause func(match []string) Cause
}

// symptoms in the order in which they are looked for: what says most comes first.
var symptoms = []symptom{
	{regexp.MustCompile(`no matches for kind \\*"(\w+)\\*" in version \\*"([\w./-]+?)\\*"`), func(match []string) Cause {
		return notServed(match[1], match[2])
	}},
	{regexp.MustCompile(`unable to retrieve the complete list of server APIs: ([\w.-]+/v\w+): (?:no matches|the server)`),
		func(match []string) Cause { return notServed("", match[1]) }},
	{regexp.MustCompile(`listen \w+ \S*?:(\d+): bind: (?i:address already in use)`), func(match []string) Cause {
		return portInUse(match[1])
	}},
	{regexp.MustCompile(`listen \w+ \S*?:(\d+): bind: permission denied`), func(match []string) Cause {
		return Cause{Field: "args", Remedy: "port " + match[1] + " is for root alone, and no extension runs as root: " +
			"let it listen at a port above 1023"}
	}},
	{regexp.MustCompile(`(?i:address already in use)`), func([]string) Cause { return portInUse("") }},
	{regexp.MustCompile(`error while loading shared libraries: ([^:\s]+)`), func(match []string) Cause {
		return Cause{Field: "binary", Remedy: "the library " + match[1] + " is not there: build a static program " +
			"(CGO_ENABLED=0), or install the library"}
	}},
	{regexp.MustCompile(
		`(?:unknown (?:shorthand )?flag|flag provided but not defined|unrecognized arguments?): (.+)`),
		func(match []string) Cause {
			return Cause{Field: "args", Remedy: "the program does not know the flag " + unquoted(match[1]) +
				": take it out of args"}
		}},
	{regexp.MustCompile(`required flag\(s\) (.+) not set|flag (\S+) is required|(\S+) (?:flag )?must be set`),
		func(match []string) Cause {
			flag := unquoted(match[1] + match[2] + match[3])
			return Cause{Field: "args", Remedy: "the program needs " + flag + ": add it"}
		}},
	{regexp.MustCompile(`(?:open|stat|read|lstat) (/[^\s:"\\]+): no such file or directory`), missingFile},
	{regexp.MustCompile(`No such file or directory: '(/[^']+)'`), missingFile},
	{regexp.MustCompile(`cannot (\w+) resource \\*"([\w/.-]+?)\\*" in API group \\*"([\w.-]*?)\\*"`),
		func(match []string) Cause {
			return Cause{Field: "rules", mayPassAlone: true, Remedy: fmt.Sprintf(
				`it may not %s %s: add {apiGroups: [%q], resources: [%s], verbs: [%s]}`, match[1], match[2], match[3], match[2],
				match[1])}
		}},
}

// notServed is the cause of a kind, or of all kinds of a group, that a program asks for.
func notServed(kind, version string) Cause {
	what := "the kind " + kind + " of " + version
	if kind == "" {
		what = "any kind of " + version
	}
	return Cause{Field: "manifests", kind: kind, version: version, Remedy: "no seed serves " + what +
		": add the YAML file of its CustomResourceDefinition"}
}

func missingFile(match []string) Cause {
	return Cause{Field: "files", Remedy: fmt.Sprintf("there is no file %s in its pod: add {path: %s, from: YOUR-FILE}",
		match[1], match[1])}
}

func portInUse(port string) Cause {
	number, _ := strconv.Atoi(port) // none if the program does not name it
	what, example := "its port", "PORT"
	if number > 0 {
		what, example = "port "+port, port
	}
	return Cause{Field: "args", port: number, Remedy: what + " is in use: all pods of the embedded backend share the " +
		"ports of this machine; let the program listen at the address of its pod alone, $(POD_IP):" + example}
}

func unquoted(text string) string { return strings.Trim(strings.TrimSpace(text), `"'\`) }

// causeIn the lines of a log, the newest of the one that says most.
func causeIn(lines []string) (Cause, bool) {
	for _, symptom := range symptoms {
		for _, line := range slices.Backward(lines) {
			if match := symptom.said.FindStringSubmatch(line); match != nil {
				return symptom.cause(match), true
			}
		}
	}
	return Cause{}, false
}

// unservedPatience is how long an object may wait for an extension that runs and has asked for a kind that its seed
// does not serve. Without such an object it may be the kind of another cluster, such as the shoot, and programs that
// bring their own definitions ask for these a moment too early.
const unservedPatience = 8 * time.Second

// addCause finds what a container of a third-party extension lacks that has ended. If it has ended twice for a known
// cause, it is not worth waiting for.
func (c *Clinic) addCause(ctx context.Context, f *Finding, one Container) {
	if f.Owner.Extension == "" || one.Running || one.Ended == nil || f.State == Fine {
		return
	}
	cause, known := c.causeOf(ctx, f.pod, one.Name)
	if !known {
		return
	}
	f.Cause = &cause
	if !f.State.Hopeless() && one.Restarts >= 1 && one.Ended.At.Sub(one.Ended.Began) < shortRun && !cause.mayPassAlone {
		f.State = Crashing
	}
}

// causeOf what a container does not do, by the end of its log. A kind that the seed serves is none.
func (c *Clinic) causeOf(ctx context.Context, pod *corev1.Pod, container string) (Cause, bool) {
	lines, _ := logs.Tail(ctx, c.API, pod, container, logs.Last) // there may be none
	cause, known := causeIn(lines)
	return cause, known && (cause.version == "" || !c.isServed(ctx, cause))
}

// isServed says whether the seed serves what a cause is about. If that is not known, it says so, too.
func (c *Clinic) isServed(ctx context.Context, of Cause) bool {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	served := &metav1.APIResourceList{}
	err := c.API.Discovery().RESTClient().Get().AbsPath("/apis", of.version).Do(ctx).Into(served)
	if err != nil {
		return !apierrors.IsNotFound(err)
	}
	return of.kind == "" ||
		slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Kind == of.kind })
}

// condemnUnserved gives an extension up that leaves an object without any answer and has asked for a kind that the seed
// does not serve.
func (c *Clinic) condemnUnserved(ctx context.Context, f *Finding) {
	if f.State.Hopeless() || f.unanswered < unservedPatience || f.Owner.Extension == "" {
		return
	}
	if c.addLogOfOwner(ctx, f); f.Cause != nil && f.Cause.version != "" {
		f.State = Silent
	}
}
