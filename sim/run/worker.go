package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/transplant-sim/transplant/sim/durable"
	"github.com/transplant-sim/transplant/sim/engine"
	"github.com/transplant-sim/transplant/sim/metrics"
	"github.com/transplant-sim/transplant/sim/report"
	"github.com/transplant-sim/transplant/sim/run/queue"
	"github.com/transplant-sim/transplant/sim/run/terminal"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/summary"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/trend"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// worker runs one scenario after the other, beside other workers, each on landscapes of its own.
type worker struct {
	*runner
	place   place // of its landscapes
	queue   *queue.Queue
	results *results
	of      int // scenarios in all
}

// results of all workers.
type results struct {
	mu    sync.Mutex
	worst verdict.Verdict
	runs  map[string]summary.Run // by name
	// troubles with landscapes that belong to no run. Each makes the verdict of the whole Error.
	troubles []string
}

// runAll runs scenarios until none is left.
func (w *worker) runAll(ctx context.Context) {
	for g := w.queue.Join(); g != nil && ctx.Err() == nil; g = w.queue.Join() {
		w.runGroup(ctx, g)
	}
}

// runGroup runs scenarios that share a landscape.
func (w *worker) runGroup(ctx context.Context, g *queue.Group) {
	shared := &environment{worker: w, needs: g.Needs}
	for s := w.queue.Next(g); s != nil && ctx.Err() == nil; {
		w.runOne(ctx, s, shared)
		if s = w.queue.Next(g); s != nil {
			shared.clear(ctx)
		}
	}
	if w.keep && w.queue.IsEmpty() && shared.world != nil {
		w.printf("\nThe landscape %q is kept; interrupt to end it.\n", w.place.name) // quiet or not: the command waits
		<-ctx.Done()
	}
	if err := shared.stop(ctx); err != nil {
		w.trouble(err)
	}
}

func (w *worker) printf(format string, arguments ...any) {
	w.printing.Lock()
	defer w.printing.Unlock()
	fmt.Fprintf(w.out, format, arguments...)
}

// trouble with the landscape that belongs to no run makes the verdict of the whole Error. It is printed now and at the
// end.
func (w *worker) trouble(err error) {
	w.printf("%v\n", err)
	w.results.worsen(verdict.Error)
	w.results.mu.Lock()
	defer w.results.mu.Unlock()
	w.results.troubles = append(w.results.troubles, fmt.Sprintf("landscape %s: %v", w.place.name, err))
}

// runOne scenario and note its verdict. The run is shown while it goes on or, if there are several at once, when it has
// ended.
func (w *worker) runOne(ctx context.Context, s *scenario.Scenario, shared *environment) {
	name, out := s.Metadata.Name, w.out
	if w.jobs > 1 {
		between := ""
		if !w.quiet {
			w.printf("%s begins\n", name)
			between = "\n"
		}
		var kept bytes.Buffer
		defer func() { w.printf("%s%s", between, kept.Bytes()) }()
		out = &kept
	}
	run := summary.Run{Name: name, Folder: w.folderOf(name, w.of)}
	run.Report, run.Err = w.runAndJudge(ctx, s, shared, run.Folder, out)
	if run.Err != nil {
		fmt.Fprintf(out, "%s: %v\n", name, run.Err)
	}
	w.results.add(run)
}

func (r *results) add(run summary.Run) {
	r.worsen(run.Verdict())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs[run.Name] = run
}

// errNotRun is why a scenario has no verdict if it never started.
var errNotRun = errors.New("it never started: the command was interrupted before")

// addNotRun adds the scenarios that never started before an interrupt. What an earlier run has left in their folders
// stays.
func (r *results) addNotRun(scenarios []*scenario.Scenario) {
	for _, s := range scenarios {
		if _, started := r.runs[s.Metadata.Name]; !started {
			r.add(summary.Run{Name: s.Metadata.Name, Err: errNotRun})
		}
	}
}

func (r *results) worsen(v verdict.Verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.worst = verdict.Worst(r.worst, v)
}

// runAndJudge runs one scenario, judges the run, and keeps the evidence.
func (w *worker) runAndJudge(ctx context.Context, s *scenario.Scenario, shared *environment, folder string,
	out io.Writer) (*verdict.Report, error) {
	release, err := timeline.Hold(ctx, folder)
	if err != nil {
		return nil, err
	}
	defer release()
	file, err := openTimeline(folder)
	if err != nil {
		return nil, err
	}
	if err := keepScenario(folder, s); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	s.Stretch(w.stretch) // for this run only: what is kept can be run again with the same multiplier, or another
	journal := timeline.NewJournal(w.clock, file)
	shown := out
	if w.quiet {
		shown = io.Discard
	}
	view := terminal.Show(ctx, shown, journal, s)
	following := w.metrics.Follow(ctx, w.place.name, journal)
	logs := filepath.Join(folder, verdict.LogsName)
	runErr := w.execute(ctx, s, shared, journal, logs)
	err = errors.Join(journal.Close(), file.Close(), durable.Disk{}.Folder(folder)) // before the verdict is there
	view.Wait()
	if err := shared.keepLogs(ctx, logs); err != nil {
		fmt.Fprintf(out, "%v\n", err) // the run has its verdict without them
	}
	if err != nil {
		return nil, fmt.Errorf("keep the evidence: %w", err)
	}
	events := journal.Events()
	judged, err := verdict.Judge(events)
	if err != nil {
		return nil, errors.Join(runErr, err)
	}
	judged.Started = journal.Started().UTC()
	following.Judged(judged)
	err = errors.Join(verdict.Write(folder, judged, events), report.Write(folder), metrics.WriteFolder(folder, judged),
		w.remember(judged))
	if w.quiet {
		terminal.Brief(out, judged)
	} else {
		terminal.Verdict(out, judged, folder)
	}
	if err != nil {
		return nil, err
	}
	w.metrics.Stay(ctx) // the metrics of the next run replace these, or the command ends
	return judged, nil
}

// remember the run in the history, if there is one.
func (w *worker) remember(judged *verdict.Report) error {
	if w.history == "" {
		return nil
	}
	return trend.Append(w.history, trend.Of(judged, w.clock.Now()))
}

// execute the scenario on the shared landscape, which it makes if there is none.
func (w *worker) execute(
	ctx context.Context, s *scenario.Scenario, shared *environment, journal *timeline.Journal, logs string,
) error {
	content, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("marshal the scenario: %w", err)
	}
	journal.Record(timeline.Event{Payload: timeline.RunStarted{
		Scenario: s.Metadata.Name, Backend: w.backend, RandomSeed: w.randomSeed, TimeoutMultiplier: w.stretch,
		Unwatched: w.unwatched, Heartbeat: timeline.Length(engine.Heartbeat), Observed: true,
		BackendFlags: w.backendFlags,
		Extensions:   s.Spec.Landscape.ExtensionNames(), ExtensionFiles: w.extensions.Files, Definition: content,
	}})
	if err := shared.start(ctx, journal, logs); err != nil {
		journal.Record(timeline.Event{Payload: timeline.RunEnded{Error: err.Error()}})
		return err
	}
	ready := timeline.LandscapeReady{Seeds: shared.world.Seeds(), Cloud: shared.world.Cloud() != nil}
	if ready.Cloud {
		at, err := engine.LedgerAt(ctx, shared.world.Cloud())
		if err != nil {
			journal.Record(timeline.Event{Payload: timeline.RunEnded{Error: err.Error()}})
			return err
		}
		if len(s.Spec.Landscape.HostedSeeds()) > 0 {
			at = 0 // seeds that are shoots are the run's, and were made with the landscape, which is this run's alone
		}
		ready.LedgerAt = &at
	}
	var prepared *engine.Prepared
	if w.kept != nil {
		if prepared = w.kept.Prepared; ready.Cloud {
			ready.LedgerAt = &prepared.LedgerAt // its shoots are the run's
		}
	}
	ready.CertainOnSeed, ready.CertainInCloud = shared.world.Certain()
	journal.Record(timeline.Event{Payload: ready})
	return engine.Run(ctx, engine.Options{
		Scenario: s, World: shared.world, Journal: journal, Clock: w.clock, RandomSeed: w.randomSeed,
		Patience: w.patience.Stretched(w.stretch), Unwatched: w.unwatched, Prepared: prepared,
	})
}
