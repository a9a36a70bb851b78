// Package batch answers batches of calls: each with its own result, and with a sign of life while they are made. What a
// call does, and who may make it, is not its business.
package batch

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	api "github.com/transplant-sim/transplant/api/cloud"
)

// every is how many bytes of content move between two signs of life: they take 16 s at 1 KiB a second. A caller
// waits for a minute at most.
const every = 16 << 10

// Answer is the answer to one batch. White space goes out after every call and while content moves, as S3 does it when
// it copies an object: whoever waits knows that the answer will come. It is for one goroutine.
type Answer struct {
	w       http.ResponseWriter
	results []*api.Error
	moved   int
	begun   bool
}

// New is an answer of which nothing was sent yet.
func New(w http.ResponseWriter) *Answer { return &Answer{w: w, results: []*api.Error{}} }

// Add says what the next call has come to; nil for success. As long as no call was allowed nothing is sent.
func (a *Answer) Add(result *api.Error) {
	a.results = append(a.results, result)
	if a.begun || result == nil || result.Code != api.CodeUnauthorized {
		a.sign()
	}
}

// Moving is content of a call, which is seen to move when it is read.
func (a *Answer) Moving(content io.Reader) io.Reader { return moving{content, a} }

type moving struct {
	io.Reader
	answer *Answer
}

// Read implements io.Reader.
func (m moving) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if m.answer.moved += n; m.answer.moved >= every {
		m.answer.moved = 0
		m.answer.sign()
	}
	return n, err
}

func (a *Answer) sign() {
	if !a.begun {
		a.begun = true
		a.w.Header().Set("Content-Type", "application/json")
	}
	_, _ = io.WriteString(a.w, " ") // if the caller has gone, the context of the request says so
	_ = http.NewResponseController(a.w).Flush()
}

// Finish sends the results. If no call was allowed, it returns the first refusal instead, for the whole batch: the
// caller may be allowed later.
func (a *Answer) Finish() error {
	if len(a.results) > 0 && !a.begun {
		return a.results[0]
	}
	content, err := json.Marshal(map[string]any{"items": a.results})
	if err != nil {
		return fmt.Errorf("marshal the results of a batch: %w", err)
	}
	a.w.Header().Set("Content-Type", "application/json")
	_, _ = a.w.Write(content) // as above
	return nil
}
