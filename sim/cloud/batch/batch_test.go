package batch

import (
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	api "github.com/transplant-sim/transplant/api/cloud"
)

// While calls are made, and while the content of one moves, something of the answer goes out; it is one JSON document
// at the end. Before a call was allowed nothing goes out, so that the whole batch can still be refused.
func TestAnswer_WhileCallsAreMade_SignsOfLifeGoOut(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	a := New(w)
	sent := func(want string) {
		t.Helper()
		if got := w.Body.String(); got != want {
			t.Errorf("%q was sent, want %q", got, want)
		}
	}
	forbidden := &api.Error{Code: api.CodeUnauthorized}
	a.Add(forbidden)
	sent("")
	if err := a.Finish(); !errors.Is(err, forbidden) {
		t.Errorf("a batch of which nothing is allowed ends with %v", err)
	}
	if _, err := io.Copy(io.Discard, a.Moving(strings.NewReader(strings.Repeat("x", 3*every)))); err != nil {
		t.Fatal(err)
	}
	if got := w.Body.String(); len(got) < 3 || !w.Flushed || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%q was sent of a long copy, flushed: %t, as %q", got, w.Flushed, w.Header())
	}
	before := w.Body.String()
	a.Add(nil)
	a.Add(forbidden)
	sent(before + "  ")
	if err := a.Finish(); err != nil {
		t.Fatal(err)
	}
	sent(before + `  {"items":[{"code":"Unauthorized","reason":"","message":""},null,` +
		`{"code":"Unauthorized","reason":"","message":""}]}`)
}
