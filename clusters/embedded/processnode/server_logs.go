package processnode

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/containerlog"
)

var errGone = errors.New("the pod is gone")

// logs shows what a container has written.
func (s *server) logs(w http.ResponseWriter, r *http.Request) {
	worker, known := s.ofRequest(w, r)
	if !known {
		return
	}
	query := r.URL.Query()
	options, err := logOptions(query, s.pods.clock.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	log, err := worker.logOf(r.Context(), r.PathValue("container"), query.Get("previous") == "true")
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	if err := log.Read(r.Context(), flusher{w}, options); err != nil {
		s.pods.log.V(1).Info("Log is not shown", "reason", err.Error())
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

// logOf finds a container's log, of its current run or of the one before.
func (w *worker) logOf(ctx context.Context, name string, previous bool) (*containerlog.Log, error) {
	type answer struct {
		log *containerlog.Log
		err error
	}
	found, answered := ask(ctx, w, func() (a answer) {
		i := w.find(name)
		if i == nil {
			return answer{err: fmt.Errorf("container %q is not valid for pod %q", name, w.first.Name)}
		}
		a.log, a.err = w.logOfRun(i, previous)
		return a
	})
	if !answered {
		return nil, errGone
	}
	return found.log, found.err
}

func (w *worker) logOfRun(i *instance, previous bool) (*containerlog.Log, error) {
	last := i.runs - 1
	if previous {
		last--
	}
	switch {
	case previous && last < 0:
		return nil, fmt.Errorf("previous terminated container %q in pod %q not found", i.spec.Name, w.pod.Name)
	case last < 0:
		reason := "ContainerCreating"
		if waiting := w.containerStatus(i).State.Waiting; waiting != nil {
			reason = waiting.Reason
		}
		return nil, fmt.Errorf("container %q in pod %q is waiting to start: %s", i.spec.Name, w.pod.Name, reason)
	case !previous && i.log != nil:
		return i.log, nil
	}
	path := logPath(w.containerFolder(i.spec.Name), last) // from a run whose log is closed
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("the log of container %q in pod %q is not kept any more", i.spec.Name, w.pod.Name)
	}
	return containerlog.Closed(path), nil
}

func (w *worker) find(name string) *instance {
	for _, i := range w.all() {
		if i.spec.Name == name {
			return i
		}
	}
	return nil
}
