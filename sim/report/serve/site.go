package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

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
//	/compare?run=ID&run=ID   runs side by side
type site struct {
	Options

	mu   sync.Mutex
	seen map[string]listed // by ID, as of their State
}

func newSite(o Options) http.Handler {
	s := &site{Options: o, seen: map[string]listed{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.list)
	mux.HandleFunc("GET /changes", s.listChanges)
	mux.HandleFunc("GET /run/{id...}", s.run)
	mux.HandleFunc("GET /more/{id...}", s.more)
	mux.HandleFunc("GET /compare", s.compare)
	return guarded(mux)
}

// runOf a request: only what was found below the folder is ever opened.
func (s *site) runOf(id string) (run, error) {
	runs, err := find(s.Folder)
	if err != nil {
		return run{}, err
	}
	at := slices.IndexFunc(runs, func(r run) bool { return r.ID == id })
	if at < 0 {
		return run{}, fmt.Errorf("there is no run %q", id)
	}
	return runs[at], nil
}

func (s *site) list(w http.ResponseWriter, r *http.Request) {
	runs, err := find(s.Folder)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
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
	answer(w, func(out *bytes.Buffer) error { return report.RenderIndex(out, index) })
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

// answer with a whole page, or say why there is none.
func answer(w http.ResponseWriter, render func(*bytes.Buffer) error) {
	var page bytes.Buffer
	if err := render(&page); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = page.WriteTo(w) // who has gone needs no answer
}

func (s *site) run(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	one, err := s.runOf(id)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	loaded, err := report.Load(one.Folder)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	served := report.Served{Back: "/"}
	if loaded.Verdict == nil {
		served.Follow = to("/more/", id)
	}
	answer(w, func(out *bytes.Buffer) error { return report.RenderServed(out, loaded, served) })
}

func (s *site) more(w http.ResponseWriter, r *http.Request) {
	id, stream := strings.CutSuffix(r.PathValue("id"), "/changes")
	one, err := s.runOf(id)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	if stream {
		s.stream(w, r, func() (any, error) {
			now, err := look(s.Folder, path.Clean(id))
			return now.State, err
		})
		return
	}
	after, err := strconv.Atoi(r.URL.Query().Get("after"))
	if err != nil || after < 0 {
		http.Error(w, "after must be the number of an event", http.StatusBadRequest)
		return
	}
	loaded, err := report.Load(one.Folder)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(report.MoreOf(loaded, after)) // who has gone needs no answer
}

func (s *site) compare(w http.ResponseWriter, r *http.Request) {
	var runs []*report.Run
	var links []string
	for _, id := range r.URL.Query()["run"] {
		one, err := s.runOf(id)
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		loaded, err := report.Load(one.Folder)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		runs, links = append(runs, loaded), append(links, to("/run/", id))
	}
	if len(runs) < 2 {
		http.Error(w, "choose at least two runs to compare", http.StatusBadRequest)
		return
	}
	answer(w, func(out *bytes.Buffer) error { return report.Compare(out, runs, links) })
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
