package link

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// StaleList answers lists with what there was at its injection, or at the first list after it, as an API server does
// whose cache lags behind. Watches that follow such a list hear nothing before it is healed.
//
// It does only what the Kubernetes API allows: a list at any version ("resourceVersion=0"), or not older than one that
// the old answer has. It counts what the client would not have got from the server: a list in which nothing has changed
// meanwhile is not old. Consistent lists, exact ones and pages are never touched. A list that is streamed by a watch is
// refused, as by an API server that does not know that, so that the client lists in the ordinary way.
type StaleList struct {
	Match Match `json:"match,omitzero"`
}

var _ Fault = StaleList{}

// Name is "StaleList(lists)".
func (s StaleList) Name() string { return fmt.Sprintf("StaleList(%s)", s.Match) }

// Validate finds verbs, of which there is only one.
func (s StaleList) Validate() error { return validWatch(s.Match, Turn{}) }

func (s StaleList) start(dice) *effect {
	known := &shelf{lists: map[string]*snapshot{}}
	return &effect{
		match: s.Match,
		prime: known.prime,
		serve: known.serve,
		watch: func(a *active, st *stream) {
			if known.handedOut(st.r) {
				st.freezes[a] = struct{}{}
			}
		},
		unwatch: func(a *active, st *stream) { delete(st.freezes, a) },
	}
}

// MarshalJSON writes the fault with its type.
func (s StaleList) MarshalJSON() ([]byte, error) {
	type plain StaleList
	return typed("StaleList", plain(s))
}

// shelf keeps the old answers of one link.
type shelf struct {
	mu    sync.Mutex
	lists map[string]*snapshot // by what was asked for
}

type snapshot struct {
	answer    *answer
	objects   *listed
	handedOut bool
}

// asked is what a list or watch asks for, however and whenever it asks.
func asked(r *http.Request) string {
	query := r.URL.Query()
	path := strings.Replace(r.URL.Path, "/watch/", "/", 1)
	return strings.Join([]string{path, query.Get("labelSelector"), query.Get("fieldSelector"), plainAccept(r)}, "\n")
}

// plainAccept is the Accept header without what is about watches only.
func plainAccept(r *http.Request) string {
	return strings.ReplaceAll(strings.Join(r.Header["Accept"], ","), ";stream=watch", "")
}

func (s *shelf) put(key string, list *answer) {
	objects := list.objects()
	if objects == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists[key] == nil {
		s.lists[key] = &snapshot{answer: list, objects: objects}
	}
}

// listTimeout bounds the lists that the fault itself takes.
const listTimeout = 5 * time.Second

// prime lists what is being watched, as the watcher would. What does not answer in time is listed when it is asked for.
func (s *shelf) prime(a *active, open []*stream) {
	var all sync.WaitGroup
	for _, st := range open {
		if !a.match.fits(st.request, st.r) {
			continue
		}
		all.Go(func() { s.put(asked(st.r), listNow(st.r, st.next)) })
	}
	all.Wait()
}

// listNow is what the server answers to the consistent list of what a request asks for, whatever faults there are;
// incomplete when the server breaks off, or takes too long.
func listNow(r *http.Request, bare http.Handler) (list *answer) {
	ctx, cancel := context.WithTimeout(r.Context(), listTimeout)
	defer cancel()
	defer func() { _ = recover() }() // the link's own work breaks off so when the server does
	list = &answer{header: http.Header{}}
	bare.ServeHTTP(list, listOf(r).WithContext(ctx))
	return list
}

// listOf is the consistent list of what a request watches.
func listOf(r *http.Request) *http.Request {
	list := r.Clone(r.Context())
	query := list.URL.Query()
	for _, name := range []string{"watch", "allowWatchBookmarks", "sendInitialEvents", "resourceVersion",
		"resourceVersionMatch", "timeoutSeconds", "limit", "continue"} {
		query.Del(name)
	}
	list.URL.RawQuery = query.Encode()
	list.URL.Path = strings.Replace(list.URL.Path, "/watch/", "/", 1)
	list.URL.RawPath = ""
	list.Header.Set("Accept", plainAccept(r))
	list.Header.Del("Accept-Encoding")
	return list
}

func (s *shelf) serve(a *active, x *exchange, next func(*exchange)) {
	query := x.r.URL.Query()
	switch {
	case x.request.Verb == VerbWatch && isTrue(query.Get("sendInitialEvents")):
		x.refuse(&withoutWatchList(x).ErrStatus)
	case x.request.Verb != VerbList || query.Get("continue") != "" || query.Get("resourceVersionMatch") == "Exact":
		next(x)
	default:
		s.list(a, x, next)
	}
}

// list answers from the shelf, or fills it. The answer is complete whatever page was asked for, as a cache's is.
func (s *shelf) list(a *active, x *exchange, next func(*exchange)) {
	wanted := x.r.URL.Query().Get("resourceVersion")
	oldest, err := strconv.ParseUint(wanted, 10, 64)
	if err != nil { // none: the newest is wanted
		next(x)
		return
	}
	key := asked(x.r)
	s.mu.Lock()
	old := s.lists[key]
	usable := old != nil && old.objects.version() >= oldest
	if usable {
		old.handedOut = true
	}
	s.mu.Unlock()
	if usable {
		if now := listNow(x.r, x.bare).objects(); now != nil && !now.same(old.objects) && !a.strike(x) {
			next(x) // it has ended meanwhile
			return
		}
		old.answer.send(x.w)
		return
	}
	x.r = listOf(x.r)
	x.r.URL.RawQuery += "&resourceVersion=" + wanted
	fresh := x.keep(next)
	s.put(key, fresh)
	fresh.send(x.w)
}

// handedOut says whether a watch starts where an old answer has ended.
func (s *shelf) handedOut(r *http.Request) bool {
	version, err := strconv.ParseUint(r.URL.Query().Get("resourceVersion"), 10, 64)
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.lists[asked(r)]
	return err == nil && old != nil && old.handedOut && old.objects.version() == version
}

// withoutWatchList is what an API server says that does not stream lists.
func withoutWatchList(x *exchange) *apierrors.StatusError {
	forbidden := field.Forbidden(field.NewPath("sendInitialEvents"),
		"sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
	refused := apierrors.NewInvalid(schema.GroupKind{Group: "meta.k8s.io", Kind: "ListOptions"}, "",
		field.ErrorList{forbidden})
	refused.ErrStatus.APIVersion, refused.ErrStatus.Kind = "v1", "Status"
	return refused
}
