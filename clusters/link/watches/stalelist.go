package watches

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

	"github.com/transplant-sim/transplant/clusters/link/faultjson"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
	"github.com/transplant-sim/transplant/clusters/link/requests"
)

// StaleList answers lists with what there was at its injection, or at the first list after it, as an API server does
// whose cache lags behind. Watches that follow such a list hear nothing before it is healed.
//
// It does only what the Kubernetes API allows: a list at any version ("resourceVersion=0"), or not older than one that
// the old answer has. It counts what the client would not have got from the server: a list in which nothing has changed
// meanwhile is not old. Consistent lists, exact ones and pages are never touched. A list that is streamed by a watch is
// refused, as by an API server that does not know that, so that the client lists in the ordinary way.
type StaleList struct {
	Match kubeapi.Match `json:"match,omitzero"`
}

var _ Fault = StaleList{}

// Name is "StaleList(lists)".
func (s StaleList) Name() string { return fmt.Sprintf("StaleList(%s)", s.Match) }

// Validate finds verbs, of which there is only one.
func (s StaleList) Validate() error { return valid(s.Match, requests.Turn{}) }

// Start begins the fault on one link.
func (s StaleList) Start() (requests.Effect, Effect) {
	known := &shelf{lists: map[string]*snapshot{}}
	return requests.Effect{Match: s.Match, Serve: known.serve}, Effect{
		Prime: known.prime,
		Watch: func(a *Active, st *Stream) {
			if known.handedOut(st.r) {
				st.freezes[a] = struct{}{}
			}
		},
		Unwatch: func(a *Active, st *Stream) { delete(st.freezes, a) },
	}
}

// MarshalJSON writes the fault with its type.
func (s StaleList) MarshalJSON() ([]byte, error) {
	type plain StaleList
	return faultjson.Marshal("StaleList", plain(s))
}

// shelf keeps the old answers of one link.
type shelf struct {
	mu    sync.Mutex
	lists map[string]*snapshot // by what was asked for
}

type snapshot struct {
	answer    *requests.Answer
	objects   *kubeapi.List
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

func (s *shelf) put(key string, list *requests.Answer) {
	objects := list.List()
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
func (s *shelf) prime(a *Active, open []*Stream) {
	var all sync.WaitGroup
	for _, st := range open {
		if !a.Match.Fits(st.request, st.r) {
			continue
		}
		all.Go(func() { s.put(asked(st.r), listNow(st.r, st.next)) })
	}
	all.Wait()
}

// listNow is what the server answers to the consistent list of what a request asks for, whatever faults there are;
// incomplete when the server breaks off, or takes too long.
func listNow(r *http.Request, bare http.Handler) (list *requests.Answer) {
	ctx, cancel := context.WithTimeout(r.Context(), listTimeout)
	defer cancel()
	defer func() { _ = recover() }() // the link's own work breaks off so when the server does
	list = requests.NewAnswer()
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

func (s *shelf) serve(a *requests.Active, x *requests.Exchange, next func(*requests.Exchange)) {
	query := x.R.URL.Query()
	switch {
	case x.Request.Verb == kubeapi.VerbWatch && kubeapi.IsTrue(query.Get("sendInitialEvents")):
		kubeapi.WriteStatus(x.W, x.R, &withoutWatchList().ErrStatus)
	case x.Request.Verb != kubeapi.VerbList || query.Get("continue") != "" || query.Get("resourceVersionMatch") == "Exact":
		next(x)
	default:
		s.list(a, x, next)
	}
}

// list answers from the shelf, or fills it. The answer is complete whatever page was asked for, as a cache's is.
func (s *shelf) list(a *requests.Active, x *requests.Exchange, next func(*requests.Exchange)) {
	wanted := x.R.URL.Query().Get("resourceVersion")
	oldest, err := strconv.ParseUint(wanted, 10, 64)
	if err != nil { // none: the newest is wanted
		next(x)
		return
	}
	key := asked(x.R)
	s.mu.Lock()
	old := s.lists[key]
	usable := old != nil && old.objects.Version() >= oldest
	if usable {
		old.handedOut = true
	}
	s.mu.Unlock()
	if usable {
		if now := listNow(x.R, x.Bare).List(); now != nil && !now.Same(old.objects) && !a.Strike(x) {
			next(x) // it has ended meanwhile
			return
		}
		old.answer.Send(x.W)
		return
	}
	x.R = listOf(x.R)
	x.R.URL.RawQuery += "&resourceVersion=" + wanted
	fresh := x.Keep(next)
	s.put(key, fresh)
	fresh.Send(x.W)
}

// handedOut says whether a watch starts where an old answer has ended.
func (s *shelf) handedOut(r *http.Request) bool {
	version, err := strconv.ParseUint(r.URL.Query().Get("resourceVersion"), 10, 64)
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.lists[asked(r)]
	return err == nil && old != nil && old.handedOut && old.objects.Version() == version
}

// withoutWatchList is what an API server says that does not stream lists.
func withoutWatchList() *apierrors.StatusError {
	forbidden := field.Forbidden(field.NewPath("sendInitialEvents"),
		"sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
	refused := apierrors.NewInvalid(schema.GroupKind{Group: "meta.k8s.io", Kind: "ListOptions"}, "",
		field.ErrorList{forbidden})
	refused.ErrStatus.APIVersion, refused.ErrStatus.Kind = "v1", "Status"
	return refused
}
