package kubeletapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/containerlog"
)

// logs shows what a container has written.
func (s *Server) logs(w http.ResponseWriter, r *http.Request) {
	worker, known := s.ofRequest(w, r)
	if !known {
		return
	}
	query := r.URL.Query()
	options, err := logOptions(query, s.Clock.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	log, err := worker.LogOf(r.Context(), r.PathValue("container"), query.Get("previous") == "true")
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	if err := log.Read(r.Context(), flusher{w}, options); err != nil {
		s.Log.V(1).Info("Log is not shown", "reason", err.Error())
	}
}

// flusher lets a follower see lines at once.
type flusher struct{ http.ResponseWriter }

func (f flusher) Flush() {
	if inner, ok := f.ResponseWriter.(http.Flusher); ok {
		inner.Flush()
	}
}

func logOptions(query url.Values, now time.Time) (containerlog.Options, error) {
	options := containerlog.Options{Follow: query.Get("follow") == "true", Timestamps: query.Get("timestamps") == "true"}
	number := func(name string) (*int64, error) {
		if query.Get(name) == "" {
			return nil, nil
		}
		n, err := strconv.ParseInt(query.Get(name), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("parse the query parameter %s: %w", name, err)
		}
		return &n, nil
	}
	var since *int64
	var errs [3]error
	options.Tail, errs[0] = number("tailLines")
	options.Limit, errs[1] = number("limitBytes")
	since, errs[2] = number("sinceSeconds")
	if err := errors.Join(errs[:]...); err != nil {
		return options, err
	}
	if since != nil {
		options.Since = now.Add(-time.Duration(*since) * time.Second)
	}
	if text := query.Get("sinceTime"); text != "" {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return options, fmt.Errorf("parse the query parameter sinceTime: %w", err)
		}
		options.Since = t
	}
	switch stream := query.Get("stream"); stream {
	case "Stdout":
		options.Stream = containerlog.Stdout
	case "Stderr":
		options.Stream = containerlog.Stderr
	}
	return options, nil
}
