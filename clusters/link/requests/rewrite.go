package requests

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/transplant-sim/transplant/clusters/link/faultjson"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
)

// Rewrite changes requests before the server sees them or, where the moment is After, answers before the client does.
// Watches and upgrades keep their answers, and logs that are followed their bodies. What cannot be changed, such as a
// body that is not JSON by a patch, passes as it is, and is not hit. Where the body is to change, an answer waits until
// it is whole.
type Rewrite struct {
	Match   kubeapi.Match `json:"match,omitzero"`
	Answers Answers       `json:"answers,omitzero"`
	Turn    Turn          `json:"turn,omitzero"`
	At      Moment        `json:"at,omitempty"`
	Replace Replacement   `json:"replace,omitzero"`
	Patch   Patch         `json:"patch,omitzero"`
}

// Replacement is what stands in the place of something. What is not given stays.
type Replacement struct {
	// Path, Method and Queries are of requests.
	Path    string            `json:"path,omitempty"`
	Method  string            `json:"method,omitempty"`
	Queries map[string]string `json:"queries,omitempty"`
	// Code is the status of answers.
	Code    int               `json:"code,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    []byte            `json:"body,omitempty"`
}

// Patch is what is added, after what is replaced. A query or a header is a name and a value.
type Patch struct {
	// Queries are of requests.
	Queries [][2]string `json:"queries,omitempty"`
	Headers [][2]string `json:"headers,omitempty"`
	// Body is a merge patch (RFC 7396) of a body that is JSON.
	Body json.RawMessage `json:"body,omitempty"`
}

var _ Fault = Rewrite{}

// Name is "Rewrite(requests)".
func (r Rewrite) Name() string { return fmt.Sprintf("Rewrite(%s)", r.Match) }

// Validate wants something to change that there is at that moment.
func (r Rewrite) Validate() error {
	requestsOnly := r.Replace.Path != "" || r.Replace.Method != "" || len(r.Replace.Queries)+len(r.Patch.Queries) > 0
	switch {
	case r.At == After && requestsOnly:
		return errors.New("path, method and queries: an answer has none")
	case r.At != After && r.Replace.Code != 0:
		return fmt.Errorf("code %d: a request has none", r.Replace.Code)
	case r.Replace.Code != 0 && (r.Replace.Code < 200 || r.Replace.Code > 599):
		return fmt.Errorf("code %d: must be from 200 to 599", r.Replace.Code)
	case r.Patch.Body != nil && !json.Valid(r.Patch.Body):
		return fmt.Errorf("patch %s: must be JSON", r.Patch.Body)
	case !requestsOnly && r.Replace.Code == 0 && r.Replace.Body == nil && len(r.Replace.Headers) == 0 &&
		r.Patch.Body == nil && len(r.Patch.Headers) == 0:
		return errors.New("nothing to replace or to patch is given")
	}
	return errors.Join(valid(r.Match, r.Turn, r.At), r.Answers.validate(r.At))
}

// Turns says which of the selected requests are hit.
func (r Rewrite) Turns() Turn { return r.Turn }

// Start begins the fault on one link.
func (r Rewrite) Start() Effect {
	return Effect{Match: r.Match, Serve: func(a *Active, x *Exchange, next func(*Exchange)) {
		switch body := r.Replace.Body != nil || r.Patch.Body != nil; {
		case r.At != After:
			r.request(a, x, next)
		case x.endless() || body && x.follows():
			next(x)
		case body:
			r.answer(a, x, next)
		default:
			x.Answered(next, func(status int, header http.Header) int {
				if r.Answers.fit(status, header) && a.NextTurn() && !a.IsOver() && a.Strike(x) {
					status = r.head(status, header)
				}
				return status
			})
		}
	}}
}

func (r Rewrite) request(a *Active, x *Exchange, next func(*Exchange)) {
	changed, whole := r.changed(x.R)
	if whole && a.NextTurn() && a.Strike(x) {
		q := kubeapi.Describe(changed)
		x = &Exchange{x.W, changed, &q, x.Bare}
	}
	next(x)
}

// changed is a request as the server gets it; false if it cannot be changed.
func (r Rewrite) changed(request *http.Request) (*http.Request, bool) {
	out := request.Clone(request.Context())
	if r.Replace.Body != nil || r.Patch.Body != nil {
		body, err := io.ReadAll(request.Body)
		request.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err})) // for who gets it unchanged
		if err == nil {
			body, err = r.body(body)
		}
		if err != nil {
			return nil, false
		}
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		out.Header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	if r.Replace.Path != "" {
		out.URL.Path, out.URL.RawPath = r.Replace.Path, ""
	}
	if r.Replace.Method != "" {
		out.Method = r.Replace.Method
	}
	if len(r.Replace.Queries) > 0 || len(r.Patch.Queries) > 0 {
		queries := out.URL.Query()
		for name, value := range r.Replace.Queries {
			queries.Set(name, value)
		}
		for _, q := range r.Patch.Queries {
			queries.Add(q[0], q[1])
		}
		out.URL.RawQuery = url.Values.Encode(queries)
	}
	r.headers(out.Header)
	return out, true
}

// failing is the rest of a body that could not be read.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}

// answer changes the body, and all else, of an answer.
func (r Rewrite) answer(a *Active, x *Exchange, next func(*Exchange)) {
	asked := x
	if r.Patch.Body != nil { // else the server may zip it
		plain := x.R.Clone(x.R.Context())
		plain.Header.Set("Accept-Encoding", "identity")
		asked = &Exchange{x.W, plain, x.Request, x.Bare}
	}
	kept := asked.Keep(next)
	body, err := r.body(kept.body.Bytes())
	if r.Answers.fit(kept.status, kept.header) && err == nil && a.NextTurn() && !a.IsOver() && a.Strike(x) {
		kept.body = *bytes.NewBuffer(body)
		kept.header.Del("Content-Encoding")
		kept.header.Set("Content-Length", strconv.Itoa(len(body)))
		kept.status = r.head(kept.status, kept.header)
	}
	kept.Send(x.W)
}

// head changes the header of an answer, and gives its status.
func (r Rewrite) head(status int, header http.Header) int {
	if r.Replace.Code == http.StatusNoContent || r.Replace.Code == http.StatusNotModified {
		header.Del("Content-Length") // there is none any more
	}
	r.headers(header)
	return cmp.Or(r.Replace.Code, status)
}

func (r Rewrite) body(body []byte) ([]byte, error) {
	if r.Replace.Body != nil {
		body = r.Replace.Body
	}
	if r.Patch.Body == nil {
		return body, nil
	}
	return jsonpatch.MergePatch(body, r.Patch.Body)
}

func (r Rewrite) headers(h http.Header) {
	for name, value := range r.Replace.Headers {
		h.Set(name, value)
	}
	for _, p := range r.Patch.Headers {
		h.Add(p[0], p[1])
	}
}

// MarshalJSON writes the fault with its type.
func (r Rewrite) MarshalJSON() ([]byte, error) {
	type plain Rewrite
	return faultjson.Marshal("Rewrite", plain(r))
}
