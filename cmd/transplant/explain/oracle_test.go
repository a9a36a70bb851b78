package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/controllers/maintenance/oracletest"
)

// oracles are the topics with known answers, and where these are kept.
var oracles = map[string]string{
	"maintenance": "../../../controllers/maintenance/testdata/maintenance.jsonl.gz",
	"rollout":     "../../../controllers/rollout/testdata/rollout.jsonl.gz",
	"window":      "../../../controllers/maintenance/window/testdata/window.jsonl.gz",
}

// deviations are the cases that we answer otherwise (docs/deviations.md), by topic.
var deviations = map[string]string{
	"maintenance": "../../../controllers/maintenance/testdata/deviations.json",
	"rollout":     "../../../controllers/rollout/testdata/deviations.json",
}

type oracleCase = oracletest.Case[json.RawMessage, any]

// TestOracleLines asks all questions in one go, as a program would.
func TestOracleLines(t *testing.T) {
	t.Parallel()
	for topic, path := range oracles {
		t.Run(topic, func(t *testing.T) {
			t.Parallel()
			cases := oracletest.Read[json.RawMessage, any](t, path)
			ours := readDeviations(t, topic)
			answers := askLines(t, topic, cases)
			for i, c := range cases {
				id := answers[i]["id"].(string)
				want, deviates := ours[id]
				if !deviates {
					want = c.Want
				}
				if diff := missing("", want, answers[i]); diff != "" {
					t.Errorf("%s %s: %s", topic, id, diff)
				}
				if len(c.Spec) > 0 && !deviates {
					var spec any
					if err := json.Unmarshal(c.Spec, &spec); err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(spec, answers[i]["spec"]); diff != "" {
						t.Errorf("%s %s: specification (-want +got):\n%s", topic, id, diff)
					}
				}
			}
		})
	}
}

// askLines is the answers to all questions, in order.
func askLines(t testing.TB, topic string, cases []oracleCase) []map[string]any {
	t.Helper()
	var answers bytes.Buffer
	askAs(t, topic, linesOf(t, cases), &answers)
	var all []map[string]any
	for line := range strings.Lines(answers.String()) {
		var answer map[string]any
		if err := json.Unmarshal([]byte(line), &answer); err != nil {
			t.Fatal(err)
		}
		all = append(all, answer)
	}
	if len(all) != len(cases) {
		t.Fatalf("%d answers to %d questions", len(all), len(cases))
	}
	return all
}

// linesOf are the questions of cases, one a line.
func linesOf(t testing.TB, cases []oracleCase) []byte {
	t.Helper()
	var questions bytes.Buffer
	for _, c := range cases {
		if err := json.Compact(&questions, c.In); err != nil {
			t.Fatal(err)
		}
		questions.WriteByte('\n')
	}
	return questions.Bytes()
}

// askAs asks as a program does.
func askAs(t testing.TB, topic string, questions []byte, answers io.Writer) {
	t.Helper()
	command := NewCommand()
	command.SetArgs([]string{topic, "--jsonl"})
	command.SetIn(bytes.NewReader(questions))
	command.SetOut(answers)
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func readDeviations(t *testing.T, topic string) map[string]any {
	t.Helper()
	path, found := deviations[topic]
	if !found {
		return nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var answers map[string]any
	if err := json.Unmarshal(content, &answers); err != nil {
		t.Fatal(err)
	}
	return answers
}

// missing is the first thing that is wanted and not got; what is got besides is welcome.
func missing(path string, want, got any) string {
	object, isObject := want.(map[string]any)
	if !isObject {
		if want == "<any text>" && got != nil && got != "" || cmp.Equal(want, got) {
			return ""
		}
		return fmt.Sprintf("%s is %v, want %v", path, got, want)
	}
	others, isObject := got.(map[string]any)
	if !isObject {
		return fmt.Sprintf("%s is %v, want %v", path, got, want)
	}
	for key, value := range object {
		if diff := missing(path+"."+key, value, others[key]); diff != "" {
			return diff
		}
	}
	return ""
}

// manyCases are 2,000 questions about maintenance, the known ones again and again.
func manyCases(t testing.TB) []oracleCase {
	t.Helper()
	known := oracletest.Read[json.RawMessage, any](t, oracles["maintenance"])
	var cases []oracleCase
	for len(cases) < 2000 {
		cases = append(cases, known[:min(len(known), 2000-len(cases))]...)
	}
	return cases
}

// BenchmarkMaintenance answers 2,000 questions a time.
func BenchmarkMaintenance(b *testing.B) {
	cases := manyCases(b)
	questions := linesOf(b, cases)
	for b.Loop() {
		askAs(b, "maintenance", questions, io.Discard)
	}
	b.ReportMetric(float64(len(cases)), "cases/op")
}

// TestMaintenanceOfManyCases holds what the benchmark prints, without a clock: the work for a question, counted in
// bytes that are allocated, is a small multiple of the work of reading it, and is not more for 2,000 than for 200. It
// runs while no other test does, as theirs would be counted too.
func TestMaintenanceOfManyCases(t *testing.T) {
	cases := manyCases(t)
	few, many := linesOf(t, cases[:200]), linesOf(t, cases)
	work := func(do func()) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	ask := func(questions []byte) float64 {
		return work(func() { askAs(t, "maintenance", questions, io.Discard) }) / float64(len(questions))
	}
	ask(few) // what is made once
	perByte, perByteOfMany := ask(few), ask(many)
	reading := work(func() {
		for line := range bytes.Lines(many) {
			var question maintenanceQuestion
			if err := json.Unmarshal(line, &question); err != nil {
				t.Fatal(err)
			}
		}
	}) / float64(len(many))
	t.Logf("bytes allocated for each byte that is asked: %.1f for 200 questions, %.1f for 2,000, %.1f to read them",
		perByte, perByteOfMany, reading)
	if perByteOfMany > 1.2*perByte {
		t.Errorf("the work for a question grows with their number: %.1f for 200, %.1f for 2,000", perByte, perByteOfMany)
	}
	// It is 14 times, by which 2,000 questions take a good second; at twice as much they are well below five.
	if perByteOfMany > 28*reading {
		t.Errorf("the work for a question is %.1f times that of reading it", perByteOfMany/reading)
	}
}
