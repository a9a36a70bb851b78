package requests

import (
	"fmt"
	"net/http"
	"slices"
)

// Answers selects requests by what the server has answered, which is known where the moment is After. What is not given
// fits everything. Watches and upgrades, whose answers have no end, are not selected by their answers.
type Answers struct {
	// Code is the status.
	Code int `json:"code,omitempty"`
	// Headers that the answer has, among others.
	Headers map[string]string `json:"headers,omitempty"`
}

func (a Answers) areAll() bool { return a.Code == 0 && len(a.Headers) == 0 }

func (a Answers) validate(at Moment) error {
	if !a.areAll() && at != After {
		return fmt.Errorf("answers with code %d, headers %v: the moment must be %q", a.Code, a.Headers, After)
	}
	return nil
}

func (a Answers) fit(status int, header http.Header) bool {
	return (a.Code == 0 || a.Code == status) && hasHeaders(header, a.Headers)
}

// selected makes a fault at a moment hit what is answered so, and nothing else.
func (a Answers) selected(e Effect) Effect {
	if a.areAll() {
		return e
	}
	e.Answers = a.fit
	serve := e.Serve
	e.Serve = func(active *Active, x *Exchange, next func(*Exchange)) {
		if x.endless() {
			next(x)
			return
		}
		serve(active, x, next)
	}
	return e
}

// hasHeaders says whether each header has the value, perhaps beside others.
func hasHeaders(h http.Header, wanted map[string]string) bool {
	for name, value := range wanted {
		if !slices.Contains(h.Values(name), value) {
			return false
		}
	}
	return true
}
