package link_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
	"github.com/transplant-sim/transplant/clusters/link/requests"
)

// echo answers with what it has been asked, as JSON, zipped where the client takes that.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("X-Kind", "echo")
	var to io.Writer = w
	if r.Header.Get("Accept-Encoding") == "gzip" {
		w.Header().Set("Content-Encoding", "gzip")
		zip := gzip.NewWriter(w)
		defer zip.Close()
		to = zip
	}
	if r.URL.Path == "/missing" {
		w.WriteHeader(http.StatusNotFound)
	}
	_ = json.NewEncoder(to).Encode(map[string]string{
		"asked": r.Method + " " + r.URL.RequestURI(), "x": strings.Join(r.Header.Values("X"), ","), "body": string(body),
	})
}

// TestRewrite changes requests and answers as HTTPChaos does, and leaves alone what it does not select.
func TestRewrite(t *testing.T) {
	t.Parallel()
	type answer struct {
		Code                int
		X                   string // the header
		Asked, Header, Body string // of the request, as the server saw it
		Plain               string // the body, if it is no echo
	}
	unchanged := answer{Code: 200, Asked: "POST /a/b?k=1", Header: "0", Body: `{"n":1}`}
	for name, c := range map[string]struct {
		fault link.Fault
		path  string
		want  answer
		hits  int
	}{
		"a request": {requests.Rewrite{Match: kubeapi.Match{Path: "/a*", Headers: map[string]string{"X": "0"}},
			Replace: requests.Replacement{Path: "/c", Method: "PUT", Queries: map[string]string{"k": "2"},
				Headers: map[string]string{"x": "1"}, Body: []byte(`{"n":2,"m":3}`)},
			Patch: requests.Patch{Queries: [][2]string{{"k", "3"}}, Headers: [][2]string{{"x", "4"}},
				Body: json.RawMessage(`{"m":null,"o":5}`)}}, "",
			answer{Code: 200, Asked: "PUT /c?k=2&k=3", Header: "1,4", Body: `{"n":2,"o":5}`}, 1},
		"a path that is deeper": {requests.Rewrite{Match: kubeapi.Match{Path: "/?/?"},
			Replace: requests.Replacement{Path: "/c"}}, "",
			answer{Code: 200, Asked: "POST /c?k=1", Header: "0", Body: `{"n":1}`}, 1},
		"another path": {requests.Rewrite{Match: kubeapi.Match{Path: "/a/?b"},
			Replace: requests.Replacement{Path: "/c"}}, "", unchanged, 0},
		"another header": {requests.Rewrite{Match: kubeapi.Match{Headers: map[string]string{"X": "1"}},
			Replace: requests.Replacement{Path: "/c"}}, "", unchanged, 0},
		"an answer": {requests.Rewrite{At: requests.After,
			Replace: requests.Replacement{Code: 503, Headers: map[string]string{"X-Kind": "chaos"}, Body: []byte("sorry")}}, "",
			answer{Code: 503, X: "chaos", Plain: "sorry"}, 1},
		"a patched answer": {requests.Rewrite{At: requests.After,
			Patch: requests.Patch{Headers: [][2]string{{"X-Kind", "more"}}, Body: json.RawMessage(`{"asked":"nobody"}`)}}, "",
			answer{Code: 200, X: "echo,more", Asked: "nobody", Header: "0", Body: `{"n":1}`}, 1},
		"an answer of a code": {requests.Rewrite{At: requests.After, Answers: requests.Answers{Code: 404},
			Replace: requests.Replacement{Code: 200}}, "/missing",
			answer{Code: 200, Asked: "POST /missing", Header: "0", Body: `{"n":1}`}, 1},
		"an answer of another code": {requests.Rewrite{At: requests.After, Answers: requests.Answers{Code: 404},
			Replace: requests.Replacement{Code: 500}}, "", unchanged, 0},
		"an answer with a header": {requests.Rewrite{At: requests.After, Answers: requests.Answers{Headers: map[string]string{
			"X-Kind": "echo"}}, Replace: requests.Replacement{Code: 500}}, "",
			answer{Code: 500, Asked: "POST /a/b?k=1", Header: "0", Body: `{"n":1}`}, 1},
		"an abort of another code": {requests.Abort{At: requests.After, Answers: requests.Answers{Code: 404}}, "",
			unchanged, 0},
		"an abort of a code": {requests.Abort{At: requests.After, Answers: requests.Answers{Code: 404}}, "/missing",
			answer{}, 1},
		"what is not JSON": {requests.Rewrite{Replace: requests.Replacement{Body: []byte("<")},
			Patch: requests.Patch{Body: json.RawMessage(`{"a":1}`)}}, "", unchanged, 0},
	} {
		for _, protocol := range []string{"h2", "http/1.1"} {
			t.Run(strings.ReplaceAll(name, " ", "-")+"/"+protocol, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, http.HandlerFunc(echo))
				l := w.link(t, link.Options{})
				i := l.Begin(c.fault)
				path := "/a/b?k=1"
				if c.path != "" {
					path = c.path
				}
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, l.URL()+path,
					strings.NewReader(`{"n":1}`))
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("X", "0")
				var got answer
				response, err := w.client(protocol).Do(request)
				if err == nil {
					body, err := io.ReadAll(response.Body)
					if err != nil {
						t.Fatal(err)
					}
					_ = response.Body.Close()
					got.Code, got.X = response.StatusCode, strings.Join(response.Header.Values("X-Kind"), ",")
					seen := map[string]string{}
					if json.Unmarshal(body, &seen) != nil {
						got.Plain = string(body)
					}
					got.Asked, got.Header, got.Body = seen["asked"], seen["x"], seen["body"]
				}
				if c.want.X == "" && c.want.Code != 0 {
					c.want.X = "echo"
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if i.Hits() != c.hits {
					t.Errorf("%d hits, want %d", i.Hits(), c.hits)
				}
			})
		}
	}
}

// TestAnswers_FollowedLog_PassesAsItComes: a fault of answers keeps back no more than it changes.
func TestAnswers_FollowedLog_PassesAsItComes(t *testing.T) {
	t.Parallel()
	ok := requests.Answers{Code: 200}
	for name, c := range map[string]struct {
		fault link.Fault
		x     string // a header that the fault has given the answer
		hits  int
	}{
		"late": {requests.Delay{At: requests.After, Delay: metav1.Duration{Duration: time.Millisecond}}, "", 1},
		"late, of a code": {requests.Delay{At: requests.After, Answers: ok,
			Delay: metav1.Duration{Duration: time.Millisecond}}, "", 1},
		"of another code": {requests.Abort{At: requests.After, Answers: requests.Answers{Code: 404}}, "", 0},
		"headers": {requests.Rewrite{At: requests.After, Answers: ok,
			Patch: requests.Patch{Headers: [][2]string{{"X", "1"}}}}, "1", 1},
		"a body": {requests.Rewrite{At: requests.After, Replace: requests.Replacement{Body: []byte("x")}}, "", 0},
	} {
		for _, protocol := range []string{"h2", "http/1.1"} {
			t.Run(strings.ReplaceAll(name, " ", "-")+"/"+protocol, func(t *testing.T) {
				t.Parallel()
				s := newStream(nil)
				w := newWorld(t, s)
				l := w.link(t, link.Options{})
				i := l.Begin(c.fault)
				response := open(t, w.client(protocol), l.URL()+"/api/v1/namespaces/n/pods/p/log?follow=true")
				if got := response.Header.Get("X"); got != c.x {
					t.Errorf("the header is %q, want %q", got, c.x)
				}
				for _, chunk := range []string{"one", "two"} {
					s.send(t, chunk)
					expectChunk(t, response.Body, chunk)
				}
				close(s.chunks)
				if rest, err := io.ReadAll(response.Body); err != nil || len(rest) > 0 {
					t.Errorf("the end is %q, %v", rest, err)
				}
				if i.Hits() != c.hits {
					t.Errorf("%d hits, want %d", i.Hits(), c.hits)
				}
			})
		}
	}
}

// TestRewrite_CodeWithoutBody_DropsIt: an answer that is given a code that has no body is whole all the same.
func TestRewrite_CodeWithoutBody_DropsIt(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"h2", "http/1.1"} {
		w := newWorld(t, http.HandlerFunc(echo))
		l := w.link(t, link.Options{})
		l.Begin(requests.Rewrite{At: requests.After, Replace: requests.Replacement{Code: 204}})
		response := open(t, w.client(protocol), l.URL())
		if rest, err := io.ReadAll(response.Body); response.StatusCode != 204 || err != nil || len(rest) > 0 {
			t.Errorf("%s: %d %q, %v", protocol, response.StatusCode, rest, err)
		}
	}
}

// TestRewrite_ZippedAnswer_IsPatched: who takes zipped answers gets a patched one all the same.
func TestRewrite_ZippedAnswer_IsPatched(t *testing.T) {
	t.Parallel()
	w := newWorld(t, http.HandlerFunc(echo))
	l := w.link(t, link.Options{})
	l.Begin(requests.Rewrite{At: requests.After, Patch: requests.Patch{Body: json.RawMessage(`{"x":"patched"}`)}})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.URL(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", "gzip")
	response, err := w.client("h2").Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var got map[string]string
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil || got["x"] != "patched" {
		t.Errorf("got %v, %v", got, err)
	}
}
