package trend

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/verdict"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestWhatIsAppendedIsRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "history.jsonl")
	r := &verdict.Report{
		Scenario: "tale", Backend: "small", RandomSeed: 7, Verdict: verdict.Failed, WallSeconds: 61.5,
		Measures: measure.Measures{RTOSeconds: new(23.7), LostWrites: new(2), Phases: map[string]float64{"restore": 8.5}},
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := Append(file, Of(r, noon)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	records, err := Read(in, file)
	if err != nil || len(records) != 20 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	want := Record{
		Time: noon, Scenario: "tale", Backend: "small", RandomSeed: 7, Verdict: verdict.Failed, WallSeconds: 61.5,
		Measures: map[string]float64{"rtoSeconds": 23.7, "lostWrites": 2}, Phases: map[string]float64{"restore": 8.5},
	}
	for i := range records {
		if diff := cmp.Diff(want, records[i]); diff != "" {
			t.Fatalf("record %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestLinesThatAreNoRecords(t *testing.T) {
	t.Parallel()
	good := `{"scenario":"tale","verdict":"Passed"}` + "\n"
	for name, c := range map[string]struct{ text, want string }{
		"torn": {good + `{"scenario":"ta`,
			"h.jsonl:2: unexpected end of JSON input; each line must be a record that run --history has written"},
		"another file":   {"# a scenario\n", "h.jsonl:1: invalid character '#'"},
		"another object": {good + "\n" + `{"name":"x"}`, "h.jsonl:3: scenario and verdict must be set"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Read(strings.NewReader(c.text), "h.jsonl"); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	steady := []float64{20, 22, 21, 21, 21}
	for name, c := range map[string]struct {
		earlier []float64
		newest  float64
		gone    bool // the newest has no such measure
		last    int
		want    Trend
	}{
		"as ever": {earlier: steady, newest: 22, want: Trend{Earlier: 5, Median: new(21.0), Limit: new(25.2)}},
		"at the limit": {earlier: []float64{10, 10, 10}, newest: 12, want: Trend{Earlier: 3, Median: new(10.0),
			Limit: new(12.0)}},
		"worse": {earlier: steady, newest: 25.3, want: Trend{Earlier: 5, Median: new(21.0), Limit: new(25.2),
			Worse: true}},
		"better": {earlier: steady, newest: 2, want: Trend{Earlier: 5, Median: new(21.0), Limit: new(25.2)}},
		"it scatters": {earlier: []float64{10, 14, 18, 22, 26}, newest: 30, want: Trend{Earlier: 5, Median: new(18.0),
			Limit: new(18 + 3*1.4826*4)}},
		"one was wild": {earlier: []float64{20, 20, 20, 90}, newest: 30, want: Trend{Earlier: 4, Median: new(20.0),
			Limit: new(24.0), Worse: true}},
		"too few": {earlier: []float64{1, 1}, newest: 100, want: Trend{Earlier: 2}},
		"few are asked for": {earlier: []float64{1, 20}, newest: 25, last: 1, want: Trend{Earlier: 1, Median: new(20.0),
			Limit: new(24.0), Worse: true}},
		"never came back": {earlier: steady, gone: true, want: Trend{Earlier: 5, Median: new(21.0), Limit: new(25.2),
			Worse: true}},
		"only the last": {earlier: []float64{1, 1, 1, 1, 20, 20, 20}, newest: 21, last: 3,
			want: Trend{Earlier: 3, Median: new(20.0), Limit: new(24.0)}},
		"an even number": {earlier: []float64{10, 20, 10, 20}, newest: 40, want: Trend{Earlier: 4, Median: new(15.0),
			Limit: new(15 + 3*1.4826*5), Worse: true}},
		"nothing is lost": {earlier: []float64{0, 0, 0}, newest: 0, want: Trend{Earlier: 3, Median: new(0.0),
			Limit: new(0.0)}},
		"something is lost": {earlier: []float64{0, 0, 0}, newest: 0.1, want: Trend{Earlier: 3, Median: new(0.0),
			Limit: new(0.0), Worse: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var records []Record
			for _, v := range append(c.earlier, c.newest) {
				records = append(records, Record{Scenario: "tale", Backend: "small", Verdict: verdict.Passed,
					Measures: map[string]float64{"rpoSeconds": v}})
			}
			c.want.Scenario, c.want.Backend, c.want.Measure, c.want.Newest = "tale", "small", "rpoSeconds", &c.newest
			if c.gone {
				delete(records[len(records)-1].Measures, "rpoSeconds")
				c.want.Newest = nil
			}
			if c.last == 0 {
				c.last = 10
			}
			near := cmp.Comparer(func(a, b float64) bool { return max(a-b, b-a) < 1e-9 })
			if diff := cmp.Diff([]Trend{c.want}, Compare(records, Options{Last: c.last, Tolerance: 0.2}), near); diff != "" {
				t.Errorf("trends (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKindsOfRunsAreComparedByThemselves(t *testing.T) {
	t.Parallel()
	run := func(scenario, backend string, v verdict.Verdict, rto float64) Record {
		return Record{Scenario: scenario, Backend: backend, Verdict: v, Measures: map[string]float64{"rtoSeconds": rto,
			"lostWrites": rto}}
	}
	records := []Record{
		run("tale", "small", verdict.Passed, 10), run("tale", "large", verdict.Passed, 99),
		run("other", "small", verdict.Passed, 99),
		run("tale", "small", verdict.Failed, 10), run("tale", "small", verdict.Passed, 10),
		run("tale", "small", verdict.Error, 0.1),
		run("tale", "small", verdict.Passed, 11), run("tale", "small", verdict.Error, 500),
		run("tale", "small", verdict.Inconclusive, 500),
	}
	var got []string
	for _, t := range Compare(records, Options{Last: 10, Tolerance: 0.2}) {
		got = append(got, t.Scenario+" "+t.Backend+" "+t.Measure)
		if t.Scenario == "tale" && t.Backend == "small" && (*t.Newest != 11 || t.Earlier != 3 || *t.Median != 10) {
			got = append(got, "mixed up")
		}
	}
	if diff := cmp.Diff([]string{"tale small rtoSeconds", "tale large rtoSeconds", "other small rtoSeconds"},
		got); diff != "" {
		t.Errorf("trends (-want +got):\n%s", diff)
	}
}
