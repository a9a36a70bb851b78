package explain

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// known is a case whose answer the field's own implementation gave.
type known struct {
	id   string
	in   json.RawMessage
	want map[string]any
}

// knownCases reads the cases of a compressed file.
func knownCases(t *testing.T, path string) []known {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	var cases []known
	for line := range bytes.Lines(content) {
		var c struct {
			In   json.RawMessage
			Want map[string]any
		}
		var id struct{ ID string }
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(c.In, &id); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, known{id: id.ID, in: c.In, want: c.Want})
	}
	return cases
}

// ask asks a topic all cases in one run, and gives the answers.
func ask(t *testing.T, topic string, cases []known) []map[string]any {
	t.Helper()
	var in, out bytes.Buffer
	for _, c := range cases {
		in.Write(append(slices.Clone(c.in), '\n'))
	}
	command := NewCommand()
	command.SetArgs([]string{topic, "--jsonl"})
	command.SetIn(&in)
	command.SetOut(&out)
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
	var answers []map[string]any
	for line := range bytes.Lines(out.Bytes()) {
		var answer map[string]any
		if err := json.Unmarshal(line, &answer); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, answer)
	}
	if len(answers) != len(cases) {
		t.Fatalf("%d answers to %d questions", len(answers), len(cases))
	}
	return answers
}

// compare holds the answers to what is known: the fields that are known, other than those the answer has beside them.
func compare(t *testing.T, topic, path string, count int, tidy func(map[string]any)) {
	t.Helper()
	cases := knownCases(t, path)
	if len(cases) != count {
		t.Errorf("%d cases, want %d", len(cases), count)
	}
	for i, answer := range ask(t, topic, cases) {
		c := cases[i]
		if answer["id"] != c.id {
			t.Errorf("answer %v to question %s", answer["id"], c.id)
		}
		got := map[string]any{}
		for field := range c.want {
			value, answered := answer[field]
			if !answered {
				t.Errorf("%s: no field %q in the answer %v", c.id, field, answer)
			}
			got[field] = value
		}
		if tidy != nil {
			tidy(got)
			tidy(c.want)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.id, diff)
		}
	}
}

func TestOracleErrors(t *testing.T) {
	t.Parallel()
	compare(t, "errors", "../../../controllers/errorcodes/testdata/errors.jsonl.gz", 2, nil)
}

func TestOracleStatus(t *testing.T) {
	t.Parallel()
	compare(t, "status", "../../../controllers/care/testdata/status.jsonl.gz", 134, nil)
}

func TestOracleTolerations(t *testing.T) {
	t.Parallel()
	compare(t, "tolerations", "../../../controllers/placement/testdata/tolerations.jsonl.gz", 76, nil)
}

func TestOracleWebhooks(t *testing.T) {
	t.Parallel()
	compare(t, "webhooks", "../../../controllers/care/webhooks/testdata/webhooks.jsonl.gz", 343, func(answer map[string]any) {
		delete(answer["constraint"].(map[string]any), "message") // beside what is known
		tidyWebhooks(answer)
	})
}

// tidyWebhooks makes sets of selectors' expressions and forgets what the warning says.
func tidyWebhooks(value any) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			tidyWebhooks(item)
		}
	case map[string]any:
		if text, ok := value["gardener.cloud/warning"].(string); ok && text != "" {
			value["gardener.cloud/warning"] = "<any text>"
		}
		if expressions, ok := value["matchExpressions"].([]any); ok {
			value["matchExpressions"] = set(expressions)
		}
		for _, item := range value {
			tidyWebhooks(item)
		}
	}
}

func set(items []any) []any {
	slices.SortFunc(items, func(a, b any) int { return strings.Compare(encoded(a), encoded(b)) })
	return slices.CompactFunc(items, func(a, b any) bool { return encoded(a) == encoded(b) })
}

func encoded(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return string(text)
}
