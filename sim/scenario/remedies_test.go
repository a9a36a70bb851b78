package scenario_test

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/scenario"
)

// moreMistakes are those that have a list of values as their remedy and are not among the others.
var moreMistakes = map[string]struct{ old, new, want string }{
	"an unknown kind of file":      {"kind: Scenario", "kind: Scenery", ""},
	"an unknown seed of a shoot":   {"name: alpha, seed: a", "name: alpha, seed: z", ""},
	"an unknown purpose":           {"workers: 3", "workers: 3, purpose: fun", ""},
	"an unknown Kubernetes":        {"workers: 3", "workers: 3, kubernetes: 0.0.1", ""},
	"an unknown image":             {"workers: 3", "workers: 3, image: 0.0.1", ""},
	"an unknown update strategy":   {"workers: 3", "workers: 3, updateStrategy: Magic", ""},
	"an unknown oracle beside one": {"[SingleWriter]", "[SingleWriter, Z]", ""},
	"an unknown crash of a sweep":  {"\n  always:", sweepOf("{fault: z, upTo: 1}"), ""},
	"another crash of a sweep":     {"\n  always:", sweepOf("{fault: bang, upTo: 1}, {fault: z, upTo: 1}"), ""},
	"creation of an unknown shoot": {"create: {shoot: later}", "create: {shoot: z}", ""},
	"a refused move of nobody":     {"migrate: {shoot: alpha, to: b}", "migrate: {shoot: z, to: b, refused: true}", ""},
	"a refused move to nowhere": {"migrate: {shoot: alpha, to: b}", "migrate: {shoot: alpha, to: z, refused: true}",
		""},
	"a patch of an unknown cloud": afterHeal("patch: {cloudProfile: z, merge: {metadata: {labels: {a: b}}}}"),
	"a load on nobody":            afterHeal("load: {shoot: z, writesPerSecond: 1}"),
	"the deletion of nobody":      afterHeal("delete: {shoot: z}"),
	"nobody sleeps":               afterHeal("hibernate: {shoot: z}"),
	"nobody wakes":                afterHeal("wake: {shoot: z}"),
	"a patch of nobody":           afterHeal("patch: {shoot: z, merge: {metadata: {labels: {a: b}}}}"),
	"a window of nobody":          afterHeal("reschedule: {shoot: z, endsIn: 1h, lasts: 1h}"),
	"nodes of nobody":             afterHeal("select: {shoot: z, nodes: 1}"),
	"an object of nobody": afterHeal(
		"apply: {shoot: z, object: {apiVersion: v1, kind: ConfigMap, metadata: {name: m, namespace: default}}}"),
	"an object of nobody goes": afterHeal(
		"remove: {shoot: z, object: {apiVersion: v1, kind: ConfigMap, metadata: {name: m, namespace: default}}}"),
	"the heal of another fault": {"- heal: cut",
		"- fault: {name: x, wipeEtcd: {shoot: alpha}}\n  - heal: cut\n  - heal: z", ""},
	"an unknown code of the cloud": {cutOfRight, "cloudError: {kinds: [networks], code: Z}", ""},
	"a backup of nobody":           {cutOfRight, "damageBackup: {shoot: z}", ""},
	"an unknown kind of backup":    {cutOfRight, "damageBackup: {shoot: alpha, last: Z}", ""},
	"an object in an unknown place": {cutOfRight,
		"growObject: {cluster: z, apiVersion: v1, kind: Secret, name: x, size: 1Mi}", ""},
	"an unknown actor of requests":  {cutOfRight, "crash: {actor: z, target: garden}", ""},
	"an unknown target of requests": {cutOfRight, "crash: {actor: gardenlet-a, target: z}", ""},
	"an unknown actor in a trigger": {"{name: cut, cut:",
		"{name: cut, when: {request: {actor: z, target: garden, kind: Shoot}}, cut:", ""},
	"an unknown target in a trigger": {"{name: cut, cut:",
		"{name: cut, when: {request: {actor: gardenlet-a, target: z, kind: Shoot}}, cut:", ""},
	"an unknown direction": {cutOfRight, "cut: {actor: gardenlet-a, target: garden, direction: Z}", ""},
	"an unknown moment":    {cutOfRight, "crash: {actor: gardenlet-a, target: garden, kind: Shoot, at: Z}", ""},
	"an unknown action on pods": {cutOfRight,
		chaosOf("PodChaos", "action: z, mode: one, selector: {}, containerNames: [c]"), ""},
	"an unknown action on links": {cutOfRight, chaosOf("NetworkChaos", "action: z, mode: one, selector: {}"), ""},
	"an unknown mode": {cutOfRight,
		chaosOf("PodChaos", `action: pod-kill, mode: z, value: "1", selector: {}`), ""},
	"an unknown mode on links": {cutOfRight,
		chaosOf("NetworkChaos", `action: partition, mode: z, value: "1", selector: {}`), ""},
	"an unknown mode on servers": {cutOfRight,
		chaosOf("HTTPChaos", `port: 6443, target: Request, abort: true, mode: z, value: "1", selector: {}`), ""},
	"an unknown way of links": {cutOfRight,
		chaosOf("NetworkChaos", `action: partition, direction: z, mode: one, selector: {}`), ""},
}

func afterHeal(step string) struct{ old, new, want string } {
	return struct{ old, new, want string }{"- heal: cut", "- heal: cut\n  - " + step, ""}
}

// sweepOf are crashes of two faults: bang, and boom, which says by itself when it comes.
func sweepOf(items string) string {
	return "\n  - fault: {name: bang, crash: {actor: gardenlet-a, target: garden}}\n  - heal: bang" +
		"\n  - fault: {name: boom, crash: {actor: gardenlet-b, target: garden, nth: 3}}" +
		"\n  - fault: {name: bing, crash: {actor: gardenlet-b, target: b}}\n  sweep: [" + items + "]\n  always:"
}

func chaosOf(kind, spec string) string {
	return "chaos: {cluster: a, object: {apiVersion: chaos-mesh.org/v1alpha1, kind: " + kind +
		", metadata: {name: x}, spec: {" + spec + "}}}"
}

// listings are the ways in which a mistake lists what would be right, with the wrong value and the list.
var listings = []*regexp.Regexp{
	regexp.MustCompile(`Unsupported value: ("(?:[^"\\]|\\.)*"): supported values: (.*)`),
	regexp.MustCompile(`(?:is|Invalid value:) ("(?:[^"\\]|\\.)*")[;:].*\bmust be(?: one of)? ([\w-]+(?:(?: or |, )` +
		`[\w-]+)+)$`),
}

// betweenValues stands between two values of a list.
var betweenValues = regexp.MustCompile(` or |, `)

// inCall is the name in a condition such as shoot('alpha'), which the list is of.
var inCall = regexp.MustCompile(`^\w+\('(.*)'\)$`)

// listed is the wrong value of a mistake, and the values that its remedy lists; none if it lists none.
func listed(t *testing.T, mistake scenario.Mistake) (wrong string, right []string) {
	t.Helper()
	for _, form := range listings {
		match := form.FindStringSubmatch(mistake.Message)
		if match == nil {
			continue
		}
		wrong, err := strconv.Unquote(match[1])
		if err != nil {
			t.Fatal(err)
		}
		if name := inCall.FindStringSubmatch(wrong); name != nil {
			wrong = name[1]
		}
		for _, value := range betweenValues.Split(match[2], -1) {
			right = append(right, strings.Trim(value, `"`))
		}
		return wrong, right
	}
	return "", nil
}

// TestRemedies_ListedValues_AreAccepted tries every value that a remedy lists, at the place of the wrong one: who
// follows the advice must not be refused for it.
func TestRemedies_ListedValues_AreAccepted(t *testing.T) {
	t.Parallel()
	tried := map[string]int{} // by field, without indices
	parse := func(text string) error {
		_, err := scenario.Parse("f", []byte(text))
		return err
	}
	for _, table := range []map[string]struct{ old, new, want string }{mistakes, moreMistakes} {
		for name, c := range table {
			for field, values := range tryRemedies(t, name, strings.Replace(right, c.old, c.new, 1), parse) {
				tried[regexp.MustCompile(`\[\d+\]`).ReplaceAllString(field, "")] += values
			}
		}
	}
	if len(tried) < 44 {
		t.Errorf("values of only %d fields were tried: %v", len(tried), tried)
	}
}

// TestRemedies_OfExtensions does the same with files about extensions.
func TestRemedies_OfExtensions(t *testing.T) {
	t.Parallel()
	parse := func(text string) error {
		_, err := scenario.ParseExtension(extensionFile(t, text))
		return err
	}
	for name, c := range map[string]struct{ old, new, field string }{
		"another version": {"v1alpha1", "v9", "apiVersion"},
		"another kind":    {"ExtensionDeployment", "Deployment", "kind"},
		"no kind":         {"{kind: Network,", "{kind: Z,", "spec.resources[1].kind"},
	} {
		if tried := tryRemedies(t, name, strings.Replace(vault, c.old, c.new, 1), parse); tried[c.field] == 0 {
			t.Errorf("%s: no remedy of %s was tried: %v", name, c.field, tried)
		}
	}
}

// tryRemedies corrects a text with each value that a mistake in it lists, and counts them by field.
func tryRemedies(t *testing.T, name, text string, parse func(string) error) map[string]int {
	t.Helper()
	tried := map[string]int{}
	found := scenario.Mistakes{}
	if err := parse(text); !errors.As(err, &found) {
		t.Fatalf("%s: %v, want mistakes", name, err)
	}
	for _, mistake := range found {
		wrong, values := listed(t, mistake)
		for _, value := range values {
			tried[mistake.Field]++
			err, again := parse(replaceAt(t, text, mistake, wrong, value)), scenario.Mistakes{}
			if errors.As(err, &again) && slices.ContainsFunc(again,
				func(m scenario.Mistake) bool { return m.Field == mistake.Field }) {
				t.Errorf("%s: %q was advised, and is refused:\n%v\nbefore:\n%v", name, value, err, mistake)
			}
		}
	}
	return tried
}

// replaceAt puts another value in the place of a mistake.
func replaceAt(t *testing.T, text string, mistake scenario.Mistake, wrong, value string) string {
	t.Helper()
	lines := strings.SplitAfter(text, "\n")
	start := 0
	for _, line := range lines[:mistake.Line-1] {
		start += len(line)
	}
	place := wrong
	if wrong == "" {
		place = `""`
	}
	at := strings.Index(text[start+max(mistake.Column-1, 0):], place)
	if at >= 0 {
		at += max(mistake.Column-1, 0)
	} else if at = strings.Index(text[start:], place); at < 0 { // the name of a field stands before its value
		t.Fatalf("%v: %q is not at its place", mistake, place)
	}
	return text[:start+at] + value + text[start+at+len(place):]
}
