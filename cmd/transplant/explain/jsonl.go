package explain

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// withJSONL adds --jsonl to a topic: questions are read from standard input, one JSON object a line, and each is
// answered by one line at once, so that the command can be talked to through a pipe. Without the flag the command's own
// RunE runs; a command that has none has no form for people.
func withJSONL[Q, A any](command *cobra.Command, answer func(Q) (A, error)) *cobra.Command {
	lines := command.Flags().Bool("jsonl", false, "read questions from standard input, one JSON object a line, and answer each with a line")
	people := command.RunE
	command.Args = cobra.NoArgs
	command.RunE = func(command *cobra.Command, args []string) error {
		switch {
		case *lines:
			return answerLines(command.InOrStdin(), command.OutOrStdout(), answer)
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
func answerLines[Q, A any](in io.Reader, out io.Writer, answer func(Q) (A, error)) error {
	// Lines may have any length: a scanner's limit would be somebody's surprise.
	reader := bufio.NewReaderSize(in, 1<<16)
	var unreadable []error
	for number := 1; ; number++ {
		line, readErr := reader.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			reply, err := answerLine(line, answer)
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
	id, err := identity(line)
	if err != nil {
		return failure(nil, err), err
	}
	var question Q
	if err := json.Unmarshal(line, &question); err != nil {
		return failure(id, fmt.Errorf("decode the question: %w", err)), nil
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

// identity is a question's id as it was written; null if it has none.
func identity(line []byte) (json.RawMessage, error) {
	if line[0] != '{' {
		return nil, errors.New("expected a JSON object")
	}
	question := struct {
		ID json.RawMessage `json:"id"`
	}{ID: json.RawMessage("null")}
	if err := json.Unmarshal(line, &question); err != nil {
		return nil, fmt.Errorf("expected a JSON object: %w", err)
	}
	return question.ID, nil
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
