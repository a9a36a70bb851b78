package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/transplant-sim/transplant/sim/report"
)

// site answers what a browser asks:
//
//	/                        the list of runs
//	/changes                 a stream that says when the list has changed
//	/run/ID                  the report of a run
//	/more/ID?after=N         what is new since event N, as JSON
//	/more/ID/changes         a stream that says when there is more
//	/compare?run=ID&run=ID   runs side by side, at most 20
type site struct {
	Options
	reading   *semaphore.Weighted
	following *semaphore.Weighted

	mu   sync.Mutex
	seen map[string]listed // by ID, as of their State
}

const (
	// readers are how many requests may have runs in memory at a time; a run is read whole.
	readers = 2
	// maxCompared is how many runs a page has side by side, and maxComparedBytes how large their timelines are together.
	maxCompared      = 20
	maxComparedBytes = 2 << 30
	// followers are how many streams there may be at a time; for each the files are looked at again and again.
	followers = 64
)

func newSite(o Options) http.Handler {
	s := &site{Options: o, reading: semaphore.NewWeighted(readers), following: semaphore.NewWeighted(followers),
		seen: map[string]listed{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page(s.list))
	mux.HandleFunc("GET /changes", s.listChanges)
	mux.HandleFunc("GET /run/{id...}", s.page(s.run))
	mux.HandleFunc("GET /more/{id...}", s.more)
	mux.HandleFunc("GET /compare", s.page(s.compare))
	return guarded(mux)
}

// refusal is an error that is the client's, with its status.
type refusal struct {
	status int
	error
}

// answer with what is written. Its turn ends before the client reads, which may take as long as the client likes.
func (s *site) answer(kind string, write func(*http.Request, *bytes.Buffer) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var content bytes.Buffer
		err := s.inTurn(r.Context(), func() error { return write(r, &content) })
		if refused := (refusal{}); errors.As(err, &refused) {
			http.Error(w, err.Error(), refused.status)
			return
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = content.WriteTo(w) // who has gone needs no answer
	}
}

func (s *site) page(write func(*http.Request, *bytes.Buffer) error) http.HandlerFunc {
	return s.answer("text/html; charset=utf-8", write)
}

// inTurn waits until few enough others have runs in memory.
func (s *site) inTurn(ctx context.Context, do func() error) error {
	if err := s.reading.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("wait for those who read runs: %w", err)
	}
	defer s.reading.Release(1)
	return do()
}

// runOf a request: only what was found below the folder is ever opened.
func (s *site) runOf(id string) (run, error) {
	runs, err := find(s.Folder)
	if err != nil {
		return run{}, err
	}
	at := slices.IndexFunc(runs, func(r run) bool { return r.ID == id })
	if at < 0 {
		return run{}, refusal{http.StatusNotFound, fmt.Errorf("there is no run %q", id)}
	}
	return runs[at], nil
}

// load a run; its turn must have come.
func (s *site) load(id string) (*report.Run, error) {
	one, err := s.runOf(id)
	if err != nil {
		return nil, err
	}
	return report.Load(one.Folder)
}

func (s *site) list(_ *http.Request, out *bytes.Buffer) error {
	runs, err := find(s.Folder)
	if err != nil {
		return err
	}
	s.forgetAllBut(runs)
	index := report.Index{Folder: s.Folder}
	for _, one := range runs {
		l := s.look(one)
		index.Runs = append(index.Runs, report.IndexRow{
			ID: l.ID, Link: to("/run/", l.ID), Scenario: l.Scenario, Verdict: l.Verdict, Tone: l.Tone, Headline: l.Headline,
			Took: l.Took,
			RTO:  l.RTO, Down: l.Down, Lost: l.Lost, Changed: l.Changed.Format("2006-01-02 15:04:05"),
		})
	}
	return report.RenderIndex(out, index)
}

// look at a run for the list; one that is as it was is not read again.
func (s *site) look(one run) listed {
	s.mu.Lock()
	before, known := s.seen[one.ID]
	s.mu.Unlock()
	if known && before.run == one {
		return before
	}
	l := one.listed()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[one.ID] = l
	return l
}

// forgetAllBut these runs: the others have gone.
func (s *site) forgetAllBut(runs []run) {
	there := sets.New[string]()
	for _, one := range runs {
		there.Insert(one.ID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.seen, func(id string, _ listed) bool { return !there.Has(id) })
}

// to is the path of a page about a run.
func to(page, id string) string { return (&url.URL{Path: page + id}).EscapedPath() }

func (s *site) run(r *http.Request, out *bytes.Buffer) error {
	id := r.PathValue("id")
	loaded, err := s.load(id)
	if err != nil {
		return err
	}
	served := report.Served{Back: "/"}
	if loaded.Verdict == nil {
		served.Follow = to("/more/", id)
	}
	return report.RenderServed(out, loaded, served)
}

func (s *site) more(w http.ResponseWriter, r *http.Request) {
	id, stream := strings.CutSuffix(r.PathValue("id"), "/changes")
	if !stream {
		s.answer("application/json", s.news)(w, r)
		return
	}
	if _, err := s.runOf(id); err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	s.stream(w, r, func() (any, error) {
		now, err := look(s.Folder, path.Clean(id))
		return now.State, err
	})
}

func (s *site) news(r *http.Request, out *bytes.Buffer) error {
	after, err := strconv.Atoi(r.URL.Query().Get("after"))
	if err != nil || after < 0 {
		return refusal{http.StatusBadRequest, errors.New("after must be the number of an event")}
	}
	loaded, err := s.load(r.PathValue("id"))
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(report.MoreOf(loaded, after))
}

func (s *site) compare(r *http.Request, out *bytes.Buffer) error {
	ids := r.URL.Query()["run"]
	if len(ids) < 2 || len(ids) > maxCompared {
		return refusal{http.StatusBadRequest, fmt.Errorf("choose from 2 to %d runs to compare; there are %d", maxCompared,
			len(ids))}
	}
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			return refusal{http.StatusBadRequest, fmt.Errorf("choose each run once; %q is there twice", id)}
		}
	}
	var size int64
	for _, id := range ids {
		one, err := s.runOf(id)
		if err != nil {
			return err
		}
		size += one.Size
	}
	if size > maxComparedBytes {
		return refusal{http.StatusBadRequest, fmt.Errorf("the timelines of these runs have %d bytes; choose runs with at "+
			"most %d", size, int64(maxComparedBytes))}
	}
	var runs []*report.Run
	var links []string
	for _, id := range ids {
		loaded, err := s.load(id)
		if err != nil {
			return err
		}
		runs, links = append(runs, loaded), append(links, to("/run/", id))
	}
	return report.Compare(out, runs, links)
}

func (s *site) listChanges(w http.ResponseWriter, r *http.Request) {
	s.stream(w, r, func() (any, error) {
		runs, err := find(s.Folder)
		states := map[string]state{}
		for _, one := range runs {
			states[one.ID] = one.State
		}
		return fmt.Sprint(states), err
	})
}

// stream says "change" whenever the state is another, in the format of server-sent events, until the client has gone.
func (s *site) stream(w http.ResponseWriter, r *http.Request, state func() (any, error)) {
	if !s.following.TryAcquire(1) {
		http.Error(w, fmt.Sprintf("%d pages follow already; close some", followers), http.StatusServiceUnavailable)
		return
	}
	defer s.following.Release(1)
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	ticker := s.Clock.NewTicker(pace)
	defer ticker.Stop()
	// The first word is a change too: something may have happened between the page and this request.
	for last := any(nil); ; {
		now, err := state()
		if err != nil {
			return
		}
		if now != last {
			last = now
			if _, err := fmt.Fprint(w, "event: change\ndata: {}\n\n"); err != nil || control.Flush() != nil {
				return
			}
		}
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C():
		}
	}
}
