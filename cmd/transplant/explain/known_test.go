package explain

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/controllers/maintenance/oracletest"
)

// compare holds the answers of a topic to what is known. Other than TestOracleLines it lets tidy make both comparable.
func compare(t *testing.T, topic, path string, count int, tidy func(map[string]any)) {
	t.Helper()
	cases := oracletest.Read[json.RawMessage, any](t, path)
	if len(cases) != count {
		t.Errorf("%d cases, want %d", len(cases), count)
	}
	for i, answer := range askLines(t, topic, cases) {
		var question struct{ ID string }
		if err := json.Unmarshal(cases[i].In, &question); err != nil {
			t.Fatal(err)
		}
		if answer["id"] != question.ID {
			t.Errorf("answer %v to question %s", answer["id"], question.ID)
		}
		want, got := cases[i].Want.(map[string]any), map[string]any{}
		for field := range want {
			value, answered := answer[field]
			if !answered {
				t.Errorf("%s: no field %q in the answer %v", question.ID, field, answer)
			}
			got[field] = value
		}
		if tidy != nil {
			tidy(got)
			tidy(want)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", question.ID, diff)
		}
	}
}

func TestOracleErrors(t *testing.T) {
	t.Parallel()
	compare(t, "errors", "../../../controllers/errorcodes/testdata/errors.jsonl.gz", 2, nil)
}

func TestOracleStatus(t *testing.T) {
	t.Parallel()
	compare(t, "status", "../../../controllers/care/health/testdata/status.jsonl.gz", 134, nil)
}

func TestOracleTolerations(t *testing.T) {
	t.Parallel()
	compare(t, "tolerations", "../../../controllers/placement/testdata/tolerations.jsonl.gz", 76, nil)
}

func TestOracleWebhooks(t *testing.T) {
	t.Parallel()
	compare(t, "webhooks", "../../../controllers/care/webhooks/testdata/webhooks.jsonl.gz", 343,
		func(answer map[string]any) {
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
