package verdict_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// answer to the question whether a promise or a goal was kept.
type answer string

const (
	kept    answer = "kept"
	missed  answer = "broken"
	unknown answer = "unknown"
)

// answersOf a record by promise, and by goal as "measure ≤ bound".
type answersOf map[string]answer

// TestEvidence_TakenAway_NeitherProvesNorAccuses takes evidence away from recorded runs. No promise and no goal may
// then be kept that is not kept by the whole record, and none may be broken that the whole record does not show to be.
func TestEvidence_TakenAway_NeitherProvesNorAccuses(t *testing.T) {
	t.Parallel()
	table := &evidenceTable{cells: map[string]map[string]map[answer]int{}}
	t.Run("runs", func(t *testing.T) {
		for _, file := range recordedRuns(t) {
			t.Run(nameOfRun(file), func(t *testing.T) {
				t.Parallel()
				// Heartbeats show that something is missing. Promises and measures must notice it by themselves, too.
				whole := withoutHeartbeat(readRecord(t, file))
				for _, goals := range []struct {
					name           string
					factor, margin float64
					lessenings     func([]timeline.Event) map[string]lessened
				}{
					{"goals within reach", 1.5, 0.5, lessenings},
					{"goals out of reach", 0.5, 0, lessenings},
					{"cut off", 0.5, 0, cutOff}, // nothing is kept then, whatever the goals
				} {
					t.Run(goals.name, func(t *testing.T) {
						t.Parallel()
						checkEvidence(t, withEverything(t, whole, goals.factor, goals.margin), goals.lessenings, table)
					})
				}
			})
		}
	})
	t.Run("probes", func(t *testing.T) {
		t.Cleanup(func() {
			if len(table.cells["a probe that dies"]) == 0 {
				t.Error("no record has heartbeats, so that no probe died")
			}
		})
		for _, file := range recordedRuns(t) {
			t.Run(nameOfRun(file), func(t *testing.T) {
				t.Parallel()
				whole := readRecord(t, file)
				checkEvidence(t, withEverything(t, whole, 1.5, 0.5), deaths, table) // within reach
				checkEvidence(t, withEverything(t, whole, 0.5, 0), deaths, table)   // out of reach
			})
		}
	})
	table.write(t)
}

// deaths of probes, each in the middle of what it saw. A record without heartbeats cannot know of them.
func deaths(whole []timeline.Event) map[string]lessened {
	all := map[string]lessened{}
	for _, probe := range probesOf(whole) {
		all[probe+" dies"] = lessened{"a probe that dies", dies(whole, probe)}
	}
	return all
}

// probesOf a record that the engine has said something of, but for those that look at what no promise is about.
func probesOf(whole []timeline.Event) []string {
	found := map[string]bool{}
	for e := range timeline.Of[timeline.Looked](whole) {
		if kindsOf(e.Subject) != nil {
			found[e.Subject] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// kindsOf the events that a probe records.
func kindsOf(probe string) []timeline.Payload {
	shoot := probe[strings.LastIndex(probe, " ")+1:]
	return map[string][]timeline.Payload{
		timeline.StateOfSeeds:          {timeline.SeedSeen{}},
		timeline.CloudLedger:           {timeline.CloudCalled{}},
		timeline.StateOf(shoot):        {timeline.ShootSeen{}},
		timeline.EpochsOf(shoot):       {timeline.EpochSeen{}},
		timeline.NodesOf(shoot):        {timeline.NodeSeen{}},
		timeline.WorkloadOf(shoot):     {timeline.PodSeen{}},
		timeline.ReachabilityOf(shoot): {timeline.Reached{}},
		timeline.RevisionsOf(shoot):    {timeline.VersionsSeen{}},
		timeline.ReaderOf(shoot):       {timeline.Read{}},
		timeline.CachedReaderOf(shoot): {timeline.CachedRead{}},
	}[probe]
}

// dies has one probe see nothing more after the middle of its looks, and the engine say nothing more of it.
func dies(whole []timeline.Event, probe string) []timeline.Event {
	late := lateHalf(whole, probe)
	gone := map[timeline.Kind]int{}
	left := keep(whole, func(e timeline.Event) bool {
		if late(e) {
			gone[e.Payload.Kind()]++
		}
		return !late(e)
	})
	for i, e := range left {
		if ended, is := e.Payload.(timeline.RunEnded); is {
			ended.Recorded = maps.Clone(ended.Recorded)
			for kind, n := range gone {
				ended.Recorded[kind] -= n
			}
			left[i].Payload = ended
		}
	}
	return left
}

// lateHalf says of an event whether a probe has seen it after the middle of its looks, or is such a look.
func lateHalf(whole []timeline.Event, probe string) func(timeline.Event) bool {
	kinds, shoot := map[timeline.Kind]bool{timeline.Looked{}.Kind(): true}, ""
	for _, payload := range kindsOf(probe) {
		kinds[payload.Kind()] = true
	}
	if strings.Contains(probe, " of ") && probe != timeline.StateOfSeeds {
		shoot = probe[strings.LastIndex(probe, " ")+1:]
	}
	var looks []timeline.Event
	for e := range timeline.Of[timeline.Looked](whole) {
		if e.Subject == probe {
			looks = append(looks, e)
		}
	}
	middle := looks[len(looks)/2].At
	return func(e timeline.Event) bool {
		kind := e.Payload.Kind()
		itself := e.Subject == probe || kind != timeline.Looked{}.Kind() && (shoot == "" || e.Subject == shoot)
		return e.At > middle && kinds[kind] && itself
	}
}

func checkEvidence(
	t *testing.T, whole []timeline.Event, lessenings func([]timeline.Event) map[string]lessened, table *evidenceTable,
) {
	t.Helper()
	full, verdictOfFull := judged(t, whole)
	if verdictOfFull == verdict.Error {
		t.Fatalf("the whole record is %s: it shows nothing", verdictOfFull)
	}
	for name, lessened := range lessenings(whole) {
		got, v := judged(t, lessened.events)
		if v == verdict.Passed && verdictOfFull != verdict.Passed {
			t.Errorf("%s: the verdict is Passed, and %s by the whole record", name, verdictOfFull)
		}
		for _, promise := range slices.Sorted(maps.Keys(got)) {
			table.add(promise, lessened.kind, got[promise])
			switch {
			case got[promise] == kept && full[promise] != kept:
				t.Errorf("%s: %s is kept, and %s by the whole record", name, promise, full[promise])
			case got[promise] == missed && full[promise] != missed:
				t.Errorf("%s: %s is broken, and %s by the whole record", name, promise, full[promise])
			}
		}
	}
}

// lessened is a record from which something was taken away.
type lessened struct {
	kind   string // of what was taken away
	events []timeline.Event
}

// lessenings of a record, by a name that says what was taken away.
func lessenings(whole []timeline.Event) map[string]lessened {
	all := map[string]lessened{}
	all["no events"] = lessened{"no events", keep(whole, isEngine)}
	fault, _, any := timeline.First[timeline.FaultInjected](whole)
	if !any { // then what asks for a change stands for it
		fault, _, any = firstChange(whole)
	}
	if any {
		all["only after the fault"] = lessened{"only after the fault", keep(whole, func(e timeline.Event) bool {
			return e.Kind == timeline.RunStarted{}.Kind() || e.Seq >= fault.Seq
		})}
	}
	for _, source := range sourcesOf(whole) {
		all["without "+source] = lessened{"no " + source, keep(whole, func(e timeline.Event) bool {
			return sourceOf(e) != source
		})}
		all[source+" recorded late"] = lessened{"a source recorded late", later(whole, source)}
	}
	all["the cloud's clock is late"] = lessened{"the cloud's clock late", lateClock(whole)}
	return all
}

// lateClock makes the times of the cloud earlier: it is the only source that records times of its own clock.
func lateClock(whole []timeline.Event) []timeline.Event {
	wrong := slices.Clone(whole)
	for i, e := range wrong {
		if call, is := e.Payload.(timeline.CloudCalled); is {
			call.Made = max(0, call.Made-timeline.Moment(lateness))
			wrong[i].Payload = call
		}
	}
	return wrong
}

// allCuts is set where a record is to be cut off at each of its events. That takes minutes; else some are enough.
const allCuts = "TRANSPLANT_CUT_EVERYWHERE"

// someCuts is how many of them are enough.
const someCuts = 60

// cutOff has the record end before each of its events, but for the many of one source that follow each other.
func cutOff(whole []timeline.Event) map[string]lessened {
	var at []int
	for i := 1; i < len(whole); i++ {
		if sourceOf(whole[i]) != sourceOf(whole[i-1]) || !isBulk(whole[i]) {
			at = append(at, i)
		}
	}
	every := max(1, len(at)/someCuts)
	if os.Getenv(allCuts) != "" {
		every = 1
	}
	all := map[string]lessened{}
	for i := 0; i < len(at); i += every {
		all[fmt.Sprintf("cut off before event %d", at[i]+1)] = lessened{"cut off", slices.Clone(whole[:at[i]])}
	}
	return all
}

func isBulk(e timeline.Event) bool {
	switch e.Payload.(type) {
	case timeline.Write, timeline.Reached, timeline.Read, timeline.VersionsSeen:
		return true
	}
	return false
}

func firstChange(whole []timeline.Event) (timeline.Event, timeline.StepStarted, bool) {
	for e, step := range timeline.Of[timeline.StepStarted](whole) {
		if step.Verb != "load" && step.Verb != "expect" {
			return e, step, true
		}
	}
	return timeline.Event{}, timeline.StepStarted{}, false
}

// isEngine says whether the engine has recorded the event about itself: no probe does.
func isEngine(e timeline.Event) bool { return sourceOf(e) == "" }

// sourceOf an event is who has seen it; empty for the engine.
func sourceOf(e timeline.Event) string {
	switch p := e.Payload.(type) {
	case timeline.RunStarted, timeline.LandscapeReady, timeline.ShootReady, timeline.StepStarted, timeline.StepEnded,
		timeline.FaultAwaited,
		timeline.FaultInjected, timeline.FaultHealed, timeline.Settling, timeline.Settled, timeline.RunEnded, timeline.Note,
		timeline.Unseen:
		return ""
	case timeline.Write:
		return "Write of " + e.Actor
	case timeline.InventorySeen:
		return "InventorySeen " + p.When
	}
	return string(e.Kind)
}

func sourcesOf(whole []timeline.Event) []string {
	found := map[string]bool{}
	for _, e := range whole {
		found[sourceOf(e)] = true
	}
	delete(found, "")
	return slices.Sorted(maps.Keys(found))
}

// keep some events, numbered anew: who is to notice that others are missing has to notice by what they say.
func keep(whole []timeline.Event, which func(timeline.Event) bool) []timeline.Event {
	var left []timeline.Event
	for _, e := range whole {
		if which(e) {
			e.Seq = len(left) + 1
			left = append(left, e)
		}
	}
	return left
}

// withoutHeartbeat is a record of a version whose probes did not record that they looked.
func withoutHeartbeat(events []timeline.Event) []timeline.Event {
	events = keep(events, func(e timeline.Event) bool {
		_, is := e.Payload.(timeline.Looked)
		return !is
	})
	for i, e := range events {
		if started, is := e.Payload.(timeline.RunStarted); is {
			started.Heartbeat = 0
			events[i].Payload = started
		}
	}
	return events
}

// lateness of what is recorded late.
const lateness = 3 * time.Second

// later has the events of one source recorded late, as by a process that gets no processor time. What it says of when
// things happened stays. Nothing is later than the end.
func later(whole []timeline.Event, source string) []timeline.Event {
	last := whole[len(whole)-1]
	late := slices.Clone(whole[:len(whole)-1])
	for i := range late {
		if sourceOf(late[i]) == source {
			late[i].At = min(late[i].At+lateness, last.At)
		}
	}
	slices.SortStableFunc(late, func(a, b timeline.Event) int { return cmp.Compare(a.At, b.At) })
	late = append(late, last)
	for i := range late {
		late[i].Seq = i + 1
	}
	return late
}

// withEverything has the run make every promise there is, and gives a goal to all that it has measured: the measured
// value times a factor, and a margin in seconds.
func withEverything(t *testing.T, events []timeline.Event, factor, margin float64) []timeline.Event {
	t.Helper()
	definition := scenarioOf(t, events)
	definition.Spec.Always = nil
	for _, name := range oracle.Names() {
		if name != (oracle.Linearizable{}).Name() { // it lacks what NoLostWrite lacks, and searches for seconds
			definition.Spec.Always = append(definition.Spec.Always, scenario.Oracle(name))
		}
	}
	m := measure.Of(events)
	bound := func(measured *float64) *scenario.Bound {
		if measured == nil {
			return nil
		}
		seconds := *measured*factor + margin
		return &scenario.Bound{Max: metav1.Duration{Duration: time.Duration(seconds * float64(time.Second))}}
	}
	count := func(measured *int) *scenario.Count {
		if measured == nil {
			return nil
		}
		return &scenario.Count{Max: int(float64(*measured) * factor)}
	}
	definition.Spec.Measure = scenario.Measure{
		APIDowntime: bound(m.APIDowntimeSeconds), RTO: bound(m.RTOSeconds), RPO: bound(m.RPOSeconds),
		LostWrites: count(m.LostWrites), RestoresAtOnce: count(m.RestoresAtOnce),
	}
	return withScenario(t, events, definition)
}

func scenarioOf(t *testing.T, events []timeline.Event) *scenario.Scenario {
	t.Helper()
	_, started, found := timeline.First[timeline.RunStarted](events)
	if !found {
		t.Fatal("the record has no start")
	}
	definition := &scenario.Scenario{}
	if err := json.Unmarshal(started.Definition, definition); err != nil {
		t.Fatal(err)
	}
	return definition
}

func withScenario(t *testing.T, events []timeline.Event, definition *scenario.Scenario) []timeline.Event {
	t.Helper()
	content, err := json.Marshal(definition)
	if err != nil {
		t.Fatal(err)
	}
	events = slices.Clone(events)
	for i, e := range events {
		if started, is := e.Payload.(timeline.RunStarted); is {
			started.Definition = content
			events[i].Payload = started
		}
	}
	return events
}

// judged is what is said of each promise, and of each goal.
func judged(t *testing.T, events []timeline.Event) (answersOf, verdict.Verdict) {
	t.Helper()
	r, err := verdict.Judge(events)
	if err != nil {
		t.Fatal(err)
	}
	found := answersOf{}
	for _, p := range verdict.PromisesOf(r, events) {
		switch {
		case p.Name == verdict.Goal:
		case p.Violations > 0:
			found[p.Name] = missed
		case len(p.Unseen) > 0:
			found[p.Name] = unknown
		default:
			found[p.Name] = kept
		}
	}
	for _, o := range r.Objectives {
		name := fmt.Sprintf("%s ≤ %g", o.Measure, o.Max)
		switch {
		case o.Missed():
			found[name] = missed
		case o.Measured == nil || len(o.Unseen) > 0:
			found[name] = unknown
		default:
			found[name] = kept
		}
	}
	return found, r.Verdict
}

// moreRuns is set to a folder in which the folders of other runs are, such as out/catalogue.
const moreRuns = "TRANSPLANT_RECORDED_RUNS"

func recordedRuns(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "runs", "*.jsonl.gz"))
	if more := os.Getenv(moreRuns); more != "" {
		files, err = filepath.Glob(filepath.Join(more, "*", timeline.FileName))
	}
	if err != nil || len(files) == 0 {
		t.Fatalf("the recorded runs: %v %v", files, err)
	}
	return files
}

// nameOfRun is the name of its file, or of the folder in which all runs' files have the same name.
func nameOfRun(file string) string {
	if filepath.Base(file) == timeline.FileName {
		return filepath.Base(filepath.Dir(file))
	}
	return strings.TrimSuffix(filepath.Base(file), ".jsonl.gz")
}

func readRecord(t *testing.T, file string) []timeline.Event {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var in io.Reader = bytes.NewReader(content)
	if filepath.Ext(file) == ".gz" {
		if in, err = gzip.NewReader(in); err != nil {
			t.Fatal(err)
		}
	}
	record, err := timeline.Decode(in)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return record.Events
}

// evidenceTable counts the answers by promise or goal, and by what was taken away.
type evidenceTable struct {
	mu    sync.Mutex
	cells map[string]map[string]map[answer]int
}

func (e *evidenceTable) add(promise, without string, a answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	promise, _, _ = strings.Cut(promise, " ≤")
	if e.cells[without] == nil {
		e.cells[without] = map[string]map[answer]int{}
	}
	if e.cells[without][promise] == nil {
		e.cells[without][promise] = map[answer]int{}
	}
	e.cells[without][promise][a]++
}

func (e *evidenceTable) write(t *testing.T) {
	t.Helper()
	var out strings.Builder
	fmt.Fprintln(&out, "| taken away | promise or goal | kept | broken | unknown |\n|---|---|---|---|---|")
	for _, without := range slices.Sorted(maps.Keys(e.cells)) {
		for _, promise := range slices.Sorted(maps.Keys(e.cells[without])) {
			c := e.cells[without][promise]
			fmt.Fprintf(&out, "| %s | %s | %d | %d | %d |\n", without, promise, c[kept], c[missed], c[unknown])
		}
	}
	file := filepath.Join(t.ArtifactDir(), "evidence.md")
	if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
