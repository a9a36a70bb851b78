package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/engine"
	"github.com/transplant-sim/transplant/sim/metrics"
	"github.com/transplant-sim/transplant/sim/report"
	"github.com/transplant-sim/transplant/sim/run/queue"
	"github.com/transplant-sim/transplant/sim/run/selection"
	"github.com/transplant-sim/transplant/sim/scenario/thirdparty"
	"github.com/transplant-sim/transplant/sim/summary"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// stopTimeout bounds the end of a landscape; it is longer than any backend waits by itself.
const stopTimeout = 3 * time.Minute

// runner is one call of the command.
type runner struct {
	clock    clock.WithTicker
	backends map[string]Backend
	out      io.Writer
	quiet    bool // only verdicts and errors are printed
	patience engine.Patience
	metrics  *metrics.Exporter

	folder     string
	backend    string
	landscape  string // the name that was asked for; empty for what is free
	randomSeed uint64
	stretch    float64 // what deadlines and goals are multiplied by
	keep       bool
	from       string // the folder of a checkpoint that runs begin with; empty for none
	kept       *kept  // what is in it
	sample     int    // how many points of each sweep are run; 0 means all
	selection  selection.Scenarios
	shard      selection.Shard
	jobs       int // how many landscapes there are at once, at most

	unwatched bool

	backendFlags []string // the backend's own flags and their values

	extensions thirdparty.Flag // third-party extensions, in every scenario

	summary string // file
	history string // file

	printing sync.Mutex // of whole runs, where there are several at once
}

// run runs and judges what was accepted.
func (r *runner) run(ctx context.Context, p *plan) verdict.Verdict {
	all := &results{worst: verdict.Passed, runs: map[string]summary.Run{}}
	if err := r.shard.Note(cmp.Or(r.folder, defaultRuns), p.runs(), r.clock.Now()); err != nil {
		fmt.Fprintln(r.out, err)
		all.worsen(verdict.Error)
	}
	queued := queue.New(p.scenarios)
	var workers sync.WaitGroup
	for _, at := range p.places {
		w := &worker{runner: r, place: at, queue: queued, results: all, of: len(p.scenarios)}
		workers.Go(func() { w.runAll(ctx) })
	}
	workers.Wait()
	all.addNotRun(p.scenarios)
	for _, s := range p.sweeps {
		fmt.Fprintf(r.progress(), "\n%s\n", s.count(all.runs))
	}
	if len(p.scenarios) > 1 && (!r.quiet || all.worst != verdict.Passed) {
		fmt.Fprintf(r.out, "\n%d scenarios: %s\n", len(p.scenarios), all.worst)
		for _, line := range all.others(p) {
			fmt.Fprintf(r.out, "  %s\n", line)
		}
	}
	if err := r.summarize(p, all); err != nil {
		fmt.Fprintln(r.out, err)
		all.worsen(verdict.Error)
	}
	return all.worst
}

// prepareBackend builds what it needs, so that no run's clock counts it.
func (r *runner) prepareBackend(ctx context.Context) error {
	backend, is := r.backends[r.backend].(Preparer)
	if !is {
		return nil
	}
	if err := backend.Prepare(ctx, func(text string) { fmt.Fprintln(r.progress(), text) }); err != nil {
		return fmt.Errorf("prepare the backend %q: %w", r.backend, err)
	}
	return nil
}

// progress is where to print what is neither a verdict nor an error.
func (r *runner) progress() io.Writer {
	if r.quiet {
		return io.Discard
	}
	return r.out
}

// summarize the runs, in the order of the files, if a summary is asked for.
func (r *runner) summarize(p *plan, all *results) error {
	if r.summary == "" {
		return nil
	}
	var runs []summary.Run
	for _, s := range p.scenarios {
		runs = append(runs, all.runs[s.Metadata.Name])
	}
	return appendSummary(r.summary, runs, all.troubles)
}

// others lists the runs that did not pass, in the order of the files, and what was wrong with landscapes, so that they
// are at the end of a long log. The points of sweeps are not in it: each sweep lists its own.
func (r *results) others(p *plan) []string {
	swept := sets.New[string]()
	for _, s := range p.sweeps {
		for _, point := range s.points {
			swept.Insert(point.Metadata.Name)
		}
	}
	var lines []string
	notRun := 0
	for _, s := range p.scenarios {
		name := s.Metadata.Name
		switch run := r.runs[name]; {
		case swept.Has(name) || run.Verdict() == verdict.Passed:
		case errors.Is(run.Err, errNotRun):
			notRun++
		default:
			lines = append(lines, name+": "+run.Why())
		}
	}
	if notRun > 0 {
		lines = append(lines, fmt.Sprintf("%d never started: the command was interrupted before", notRun))
	}
	return append(lines, r.troubles...)
}

// openTimeline makes the folder of a run, without the evidence of an earlier one.
func openTimeline(folder string) (*os.File, error) {
	for _, name := range []string{verdict.FileName, verdict.JUnitName, report.FileName, metrics.FileName} {
		if err := os.Remove(filepath.Join(folder, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("remove the earlier verdict: %w", err)
		}
	}
	if err := removeLogs(filepath.Join(folder, verdict.LogsName)); err != nil {
		return nil, fmt.Errorf("remove the earlier logs: %w", err)
	}
	file, err := os.Create(filepath.Join(folder, timeline.FileName))
	if err != nil {
		return nil, fmt.Errorf("make the timeline: %w", err)
	}
	return file, nil
}

// logsMark is the file that marks a folder of kept logs. A folder without it is somebody else's, and is never removed.
const logsMark = ".kept-by-transplant"

// removeLogs of an earlier run.
func removeLogs(folder string) error {
	if _, err := os.Stat(filepath.Join(folder, logsMark)); err != nil {
		return nil //nolint:nilerror // there are none, or they are not ours
	}
	return os.RemoveAll(folder)
}

// markLogs as ones that the next run may remove, if there are any.
func markLogs(folder string) error {
	err := os.WriteFile(filepath.Join(folder, logsMark), nil, 0o644)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
