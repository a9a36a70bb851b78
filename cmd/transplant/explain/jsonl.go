package explain

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"

	"github.com/transplant-sim/transplant/api/userfile"
)

// lines is what people have to know of a topic's questions.
type lines struct {
	sample string   // a question
	needs  []string // the fields that a question must have
	// lists are what is asked about, in any of these fields. Many programs leave out empty lists, so a question with none
	// of them is about nothing; but not when it has a field that is not known here, which may be a list that was misspelt.
	lists []string
}

// remarks are fields of questions that the topics do not know: those that askers write for themselves, and asWritten.
var remarks = []string{"id", "note", "changes", asWritten}

// asWritten is the field of a question that, when it is false, says that the API server's defaults are missing from its
// objects and are not to be filled in: the question is about the objects as they are.
const asWritten = "apiserverDefaulted"

// defaulted is a question that has objects with defaults.
type defaulted interface{ setDefaults() }

// withJSONL adds --jsonl to a topic: questions are read from standard input, one JSON object a line, and each is
// answered by one line at once, so that the command can be talked to through a pipe. Without the flag the command's own
// RunE runs; a command that has none has no form for people.
func withJSONL[Q, A any](command *cobra.Command, form lines, answer func(Q) (A, error)) *cobra.Command {
	command.Example += fmt.Sprintf("\n  echo '%s' | transplant explain %s --jsonl", form.sample, command.Name())
	lines := command.Flags().Bool("jsonl", false, "read questions from standard input, one JSON object per "+
		"line, and answer each with one line; objects get the API server's defaults unless \""+asWritten+"\" is false")
	people := command.RunE
	command.Args = cobra.NoArgs
	command.RunE = func(command *cobra.Command, args []string) error {
		switch {
		case *lines:
			return answerLines(command.InOrStdin(), command.OutOrStdout(), newWarnings(command.ErrOrStderr()), form, answer)
		case people == nil:
			return fmt.Errorf("explain %s: set --jsonl and give the questions on standard input", command.Name())
		default:
			return people(command, args)
		}
	}
	return command
}

// answerLines answers every line of in with one line on out, in order. A question that cannot be judged is answered by
// its error; so is a line that is no question, and it makes the whole run fail in the end. Empty lines are no lines.
// Fields that are not known here are printed as warnings and ignored, as those who ask are promised.
func answerLines[Q, A any](in io.Reader, out io.Writer, warnings *warnings, form lines,
	answer func(Q) (A, error)) error {
	reader := bufio.NewReaderSize(in, 1<<16)
	var unreadable []error
	for number := 1; ; number++ {
		line, readErr := userfile.Line(reader, maxInput)
		if line = bytes.TrimSpace(line); len(line) > 0 {
			ignored := ignoredIn[Q](line)
			warnings.print(ignored, func(unknown) string { return fmt.Sprintf("line %d of standard input", number) })
			reply, err := answerLine(line, func(question Q) (answered A, err error) {
				if err := form.missingIn(line, ignored); err != nil {
					return answered, err
				}
				return answer(question)
			})
			if err != nil {
				unreadable = append(unreadable, fmt.Errorf("read line %d of standard input: %w", number, err))
			}
			if _, err := out.Write(append(reply, '\n')); err != nil {
				return fmt.Errorf("write the answer to line %d: %w", number, err)
			}
		}
		switch {
		case errors.Is(readErr, io.EOF):
			return errors.Join(unreadable...)
		case readErr != nil:
			return fmt.Errorf("read line %d of standard input: %w", number, readErr)
		}
	}
}

// answerLine answers one question. The error says that the line is none.
func answerLine[Q, A any](line []byte, answer func(Q) (A, error)) ([]byte, error) {
	head, err := headOf(line)
	if err != nil {
		return failure(nil, err), err
	}
	id := head.ID
	var question Q
	if err := decode(line, &question); err != nil {
		return failure(id, fmt.Errorf("decode the question: %w", err)), nil
	}
	if objects, has := any(&question).(defaulted); has && ptr.Deref(head.Defaulted, true) {
		objects.setDefaults()
	}
	result, err := answer(question)
	if err != nil {
		return failure(id, err), nil
	}
	reply, err := reply(id, result)
	if err != nil {
		return failure(id, err), nil
	}
	return reply, nil
}

// ignoredIn are the fields of a question that are not known here.
func ignoredIn[Q any](line []byte) []unknown {
	return slices.DeleteFunc(unknowns(line, new(Q)), func(u unknown) bool {
		return len(u.path) == 1 && slices.Contains(remarks, u.String())
	})
}

// missingIn says which fields a question lacks. A null is a value: so programs write empty lists.
func (l lines) missingIn(line []byte, ignored []unknown) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		return fmt.Errorf("decode the question: %w", err)
	}
	given := func(name string) bool { _, given := fields[name]; return given }
	for _, need := range l.needs {
		if !given(need) {
			return notSet(ignored, need)
		}
	}
	strange := slices.ContainsFunc(ignored, func(u unknown) bool { return len(u.path) == 1 })
	if strange && len(l.lists) > 0 && !slices.ContainsFunc(l.lists, given) {
		return notSet(ignored, l.lists...)
	}
	return nil
}

// notSet says that none of some fields is set, and what is set instead, if that looks like one of them.
func notSet(ignored []unknown, names ...string) error {
	hint := ""
	for _, u := range ignored {
		if len(u.path) == 1 && slices.Contains(names, u.near) {
			hint = fmt.Sprintf(": %q is not known here%s", u, u.meant())
		}
	}
	return fmt.Errorf("field %s is not set%s", strings.Join(names, " or "), hint)
}

// head is what every question may have.
type head struct {
	// ID as it was written; null if there is none.
	ID        json.RawMessage `json:"id"`
	Defaulted *bool           `json:"apiserverDefaulted"`
}

func headOf(line []byte) (head, error) {
	if line[0] != '{' {
		return head{}, errors.New("expected a JSON object")
	}
	question := head{ID: json.RawMessage("null")}
	if err := json.Unmarshal(line, &question); err != nil {
		return head{}, fmt.Errorf("expected a JSON object: %w", err)
	}
	return question, nil
}

// reply is an answer's JSON object with the question's id in front.
func reply(id json.RawMessage, answer any) ([]byte, error) {
	fields, err := json.Marshal(answer)
	if err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	fields, isObject := bytes.CutPrefix(fields, []byte("{"))
	if !isObject {
		return nil, fmt.Errorf("encode the answer: %T is no JSON object", answer)
	}
	object := append([]byte(`{"id":`), id...)
	if !bytes.Equal(fields, []byte("}")) {
		object = append(object, ',')
	}
	return append(object, fields...), nil
}

// failure is the answer to a question that cannot be judged.
func failure(id json.RawMessage, err error) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	text, marshalErr := json.Marshal(err.Error())
	if marshalErr != nil {
		panic(marshalErr) // a string
	}
	return fmt.Appendf(nil, `{"id":%s,"error":%s}`, id, text)
}
