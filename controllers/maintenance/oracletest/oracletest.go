// Package oracletest reads cases with known answers for tests: gzipped JSON lines, a question `in` and its answer each.
// It is imported by tests only, and knows nothing of what is asked.
package oracletest

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"
)

// Case is a question and its answer.
type Case[In, Want any] struct {
	In   In   `json:"in"`
	Want Want `json:"want"`
	// Raw is the question as it is written.
	Raw json.RawMessage `json:"-"`
	// Spec is the whole shoot spec afterwards, where the case has one.
	Spec json.RawMessage `json:"spec,omitempty"`
}

// Read reads all cases of a file; none is a failure.
func Read[In, Want any](t testing.TB, path string) []Case[In, Want] {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, err := gzip.NewReader(file)
	if err != nil {
		t.Fatalf("unzip %s: %v", path, err)
	}
	var cases []Case[In, Want]
	for decoder := json.NewDecoder(lines); ; {
		var line json.RawMessage
		if err := decoder.Decode(&line); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("read case %d of %s: %v", len(cases)+1, path, err)
		}
		cases = append(cases, decode[In, Want](t, line))
	}
	if len(cases) == 0 {
		t.Fatalf("%s has no cases", path)
	}
	return cases
}

func decode[In, Want any](t testing.TB, line []byte) Case[In, Want] {
	t.Helper()
	var c Case[In, Want]
	var raw struct {
		In json.RawMessage `json:"in"`
	}
	if err := errors.Join(json.Unmarshal(line, &c), json.Unmarshal(line, &raw)); err != nil {
		t.Fatalf("read the case %.80s…: %v", line, err)
	}
	c.Raw = raw.In
	return c
}
