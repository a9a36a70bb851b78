package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
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
var deviations = map[string]string{"maintenance": "../../../controllers/maintenance/testdata/deviations.json"}

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
	var questions, answers bytes.Buffer
	for _, c := range cases {
		if err := json.Compact(&questions, c.In); err != nil {
			t.Fatal(err)
		}
		questions.WriteByte('\n')
	}
	command := NewCommand()
	command.SetArgs([]string{topic, "--jsonl"})
	command.SetIn(&questions)
	command.SetOut(&answers)
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
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

// BenchmarkMaintenance answers 2,000 questions a time.
func BenchmarkMaintenance(b *testing.B) {
	known := oracletest.Read[json.RawMessage, any](b, oracles["maintenance"])
	var cases []oracleCase
	for len(cases) < 2000 {
		cases = append(cases, known[:min(len(known), 2000-len(cases))]...)
	}
	for b.Loop() {
		askLines(b, "maintenance", cases)
	}
	b.ReportMetric(float64(len(cases)), "cases/op")
}
