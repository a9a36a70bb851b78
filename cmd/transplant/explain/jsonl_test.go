package explain

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

type sum struct {
	Of []int `json:"of"`
}

type total struct {
	Total int `json:"total,omitempty"`
}

func add(question sum) (total, error) {
	if len(question.Of) == 0 {
		return total{}, errors.New(`field "of": give at least one number`)
	}
	var answer total
	for _, n := range question.Of {
		answer.Total += n
	}
	return answer, nil
}

func TestEveryLineIsAnsweredInOrder(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("1,", 1<<20)
	for name, c := range map[string]struct{ in, want, err string }{
		"answers and errors, no newline at the end": {
			in: "{\"id\":\"a\",\"of\":[1,2],\"unknown\":{}}\n\n{\"of\":[],\"id\":7}\r\n{\"id\":\"c\",\"of\":[0]}",
			want: "{\"id\":\"a\",\"total\":3}\n{\"id\":7,\"error\":\"field \\\"of\\\": give at least one " +
				"number\"}\n{\"id\":\"c\"}\n",
		},
		"a question without an id": {in: `{"of":[4]}`, want: `{"id":null,"total":4}` + "\n"},
		"a field of another type": {
			in: `{"id":"a","of":"x"}`,
			want: `{"id":"a","error":"decode the question: json: cannot unmarshal string into Go struct field sum.of of type ` +
				`[]int"}` + "\n",
		},
		"a line of any length": {in: `{"id":"l","of":[` + long + `1]}`, want: fmt.Sprintf("{\"id\":\"l\",\"total\":%d}\n",
			1<<20+1)},
		"a line that is no question": {
			in: "[1]\nnull\n{\"id\":\"c\",\"of\":[1]}\n",
			want: "{\"id\":null,\"error\":\"expected a JSON object\"}\n{\"id\":null,\"error\":\"expected a JSON " +
				"object\"}\n{\"id\":\"c\",\"total\":1}\n",
			err: "read line 1 of standard input: expected a JSON object\nread line 2 of standard input: expected a JSON object",
		},
		"broken JSON": {
			in:   `{"id":`,
			want: `{"id":null,"error":"expected a JSON object: unexpected end of JSON input"}` + "\n",
			err:  "read line 1 of standard input: expected a JSON object: unexpected end of JSON input",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			err := answerLines(strings.NewReader(c.in), &out, newWarnings(io.Discard), lines{}, add)
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Error(diff)
			}
			if got := text(err); got != c.err {
				t.Errorf("error %q, want %q", got, c.err)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestAnswersComeAtOnce asks the second question only when the first is answered.
func TestAnswersComeAtOnce(t *testing.T) {
	t.Parallel()
	questions, ask := io.Pipe()
	hear, answers := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- answerLines(questions, answers, newWarnings(io.Discard), lines{}, add) }()
	for n := range 3 {
		fmt.Fprintf(ask, "{\"id\":%d,\"of\":[%d]}\n", n, n+1)
		want := fmt.Sprintf("{\"id\":%d,\"total\":%d}\n", n, n+1)
		got := make([]byte, len(want))
		if _, err := io.ReadFull(hear, got); err != nil || string(got) != want {
			t.Fatalf("%q, %v; want %q", got, err, want)
		}
	}
	ask.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestInputThatCannotBeReadFails(t *testing.T) {
	t.Parallel()
	failure := errors.New("failed")
	err := answerLines(io.MultiReader(strings.NewReader("{\"of\":[1]}\n"), failing{failure}), io.Discard,
		newWarnings(io.Discard), lines{}, add)
	if !errors.Is(err, failure) {
		t.Errorf("error %v", err)
	}
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }

func TestAnUnknownTopicIsRefused(t *testing.T) {
	t.Parallel()
	command := NewCommand()
	command.SetArgs([]string{"weather", "--jsonl"})
	command.SilenceErrors = true
	if err := command.Execute(); err == nil || !strings.Contains(err.Error(),
		`explain "weather": no such topic: choose one of`) {
		t.Errorf("error %v", err)
	}
}

func TestATopicWithoutAFormForPeopleAsksForLines(t *testing.T) {
	t.Parallel()
	command := withJSONL(&cobra.Command{Use: "sum", SilenceErrors: true, SilenceUsage: true}, lines{}, add)
	command.SetArgs(nil)
	if err := command.Execute(); err == nil ||
		err.Error() != "explain sum: set --jsonl and give the questions on standard input" {
		t.Errorf("error %v", err)
	}
	var out bytes.Buffer
	command.SetArgs([]string{"--jsonl"})
	command.SetIn(strings.NewReader(`{"id":"x","of":[1,1]}`))
	command.SetOut(&out)
	if err := command.Execute(); err != nil || out.String() != "{\"id\":\"x\",\"total\":2}\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
