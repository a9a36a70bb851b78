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
	"github.com/transplant-sim/transplant/sim/metrics"
	"github.com/transplant-sim/transplant/sim/report"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/story"
	"github.com/transplant-sim/transplant/sim/summary"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/trend"
	"github.com/transplant-sim/transplant/sim/verdict"
	"github.com/transplant-sim/transplant/sim/world"
)

// lane tells one story after the other, beside other lanes, each on landscapes of its own.
type lane struct {
	*runner
	place   place // of its landscapes
	stories *queue
	results *results
	of      int // stories in all
}

// results of all lanes.
type results struct {
	mu    sync.Mutex
	worst verdict.Verdict
	told  map[string]summary.Story // by name
	// troubles with landscapes that are no story's, each of which makes the verdict of the whole Error.
	troubles []string
}

// tellAll tells stories until none is left.
func (l *lane) tellAll(ctx context.Context) {
	for g := l.stories.join(); g != nil && ctx.Err() == nil; g = l.stories.join() {
		l.tellGroup(ctx, g)
	}
}

// tellGroup tells stories that share a landscape.
func (l *lane) tellGroup(ctx context.Context, g *group) {
	shared := &stage{lane: l, needs: g.needs}
	for s := l.stories.next(g); s != nil && ctx.Err() == nil; {
		l.tellOne(ctx, s, shared)
		if s = l.stories.next(g); s != nil {
			shared.clear(ctx)
		}
	}
	if l.keep && l.stories.told() && shared.world != nil {
		l.printf("\nThe landscape %q is kept; interrupt to end it.\n", l.place.name)
		<-ctx.Done()
	}
	if err := shared.stop(ctx); err != nil {
		l.trouble(err)
	}
}

func (l *lane) printf(format string, arguments ...any) {
	l.printing.Lock()
	defer l.printing.Unlock()
	fmt.Fprintf(l.out, format, arguments...)
}

// trouble with the landscape that is no story's makes the verdict of the whole Error, and is told again at the end.
func (l *lane) trouble(err error) {
	l.printf("%v\n", err)
	l.results.worsen(verdict.Error)
	l.results.mu.Lock()
	defer l.results.mu.Unlock()
	l.results.troubles = append(l.results.troubles, fmt.Sprintf("landscape %s: %v", l.place.name, err))
}

// tellOne story and note its verdict. It is shown while it is told or, where several are told at a time, when it has
// ended.
func (l *lane) tellOne(ctx context.Context, s *scenario.Scenario, shared *stage) {
	name, out := s.Metadata.Name, l.out
	if l.jobs > 1 {
		l.printf("%s begins\n", name)
		var kept bytes.Buffer
		defer func() { l.printf("\n%s", kept.Bytes()) }()
		out = &kept
	}
	told := summary.Story{Name: name, Folder: l.folderOf(name, l.of)}
	told.Report, told.Err = l.tell(ctx, s, shared, told.Folder, out)
	if told.Err != nil {
		fmt.Fprintf(out, "%s: %v\n", name, told.Err)
	}
	l.results.add(told)
}

func (r *results) add(told summary.Story) {
	r.worsen(told.Verdict())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told[told.Name] = told
}

// errUntold is why a story has no verdict whose turn has not come.
var errUntold = errors.New("it was not told: the run was interrupted before")

// addUntold adds the stories whose turn did not come before an interrupt. What an earlier run has left in their folders
// stays.
func (r *results) addUntold(stories []*scenario.Scenario) {
	for _, s := range stories {
		if _, told := r.told[s.Metadata.Name]; !told {
			r.add(summary.Story{Name: s.Metadata.Name, Err: errUntold})
		}
	}
}

func (r *results) worsen(v verdict.Verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.worst = verdict.Worst(r.worst, v)
}

// tell one story, judge it, and keep the evidence.
func (l *lane) tell(ctx context.Context, s *scenario.Scenario, shared *stage, folder string,
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
	if err := keepStory(folder, s); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	s.Stretch(l.stretch) // for this run only: what is kept can be told again with the same multiplier, or another
	journal := timeline.NewJournal(l.clock, file)
	view := showing(ctx, out, journal, s)
	following := l.metrics.Follow(ctx, l.place.name, journal)
	logs := filepath.Join(folder, verdict.LogsName)
	told := l.play(ctx, s, shared, journal, logs)
	err = errors.Join(journal.Close(), file.Close(), durable.Disk{}.Folder(folder)) // before the verdict is there
	view.wait()
	if err := shared.keepLogs(ctx, logs); err != nil {
		fmt.Fprintf(out, "%v\n", err) // the run has its verdict without them
	}
	if err != nil {
		return nil, fmt.Errorf("keep the evidence: %w", err)
	}
	events := journal.Events()
	judged, err := verdict.Judge(events)
	if err != nil {
		return nil, errors.Join(told, err)
	}
	following.Judged(judged)
	err = errors.Join(verdict.Write(folder, judged, events), report.Write(folder), metrics.WriteFolder(folder, judged),
		l.remember(judged))
	show(out, judged, folder)
	if err != nil {
		return nil, err
	}
	l.metrics.Stay(ctx) // the next story takes the place of this one, or the engine ends
	return judged, nil
}

// remember the run in the history, if there is one.
func (l *lane) remember(judged *verdict.Report) error {
	if l.history == "" {
		return nil
	}
	return trend.Append(l.history, trend.Of(judged, l.clock.Now()))
}

// play the story on the shared landscape, which it makes if there is none.
func (l *lane) play(
	ctx context.Context, s *scenario.Scenario, shared *stage, journal *timeline.Journal, logs string,
) error {
	content, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("marshal the scenario: %w", err)
	}
	journal.Record(timeline.Event{Payload: timeline.RunStarted{
		Scenario: s.Metadata.Name, Backend: l.backend, RandomSeed: l.randomSeed, TimeoutMultiplier: l.stretch,
		Unwatched: l.unwatched, Heartbeat: timeline.Length(story.Heartbeat), BackendFlags: l.backendFlags,
		Extensions: s.Spec.Landscape.ExtensionNames(), ExtensionFiles: l.extensions.Files, Story: content,
	}})
	if err := shared.start(ctx, journal, logs); err != nil {
		journal.Record(timeline.Event{Payload: timeline.RunEnded{Error: err.Error()}})
		return err
	}
	ready := timeline.LandscapeReady{Seeds: shared.world.Seeds(), Cloud: shared.world.Cloud() != nil}
	if ready.Cloud {
		at, err := story.LedgerAt(ctx, shared.world.Cloud())
		if err != nil {
			journal.Record(timeline.Event{Payload: timeline.RunEnded{Error: err.Error()}})
			return err
		}
		ready.LedgerAt = &at
	}
	if keeper, keeps := shared.world.(world.Inventory); keeps {
		ready.CertainOnSeed, ready.CertainInCloud = keeper.Certain()
	}
	journal.Record(timeline.Event{Payload: ready})
	return story.Tell(ctx, story.Options{
		Scenario: s, World: shared.world, Journal: journal, Clock: l.clock, RandomSeed: l.randomSeed,
		Patience: l.patience.Stretched(l.stretch), Unwatched: l.unwatched,
	})
}
