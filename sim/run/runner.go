package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/metrics"
	"github.com/transplant-sim/transplant/sim/report"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/story"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
	"github.com/transplant-sim/transplant/sim/world"
)

// stopTimeout bounds the end of a landscape.
const stopTimeout = 60 * time.Second

// runner is one call of the command.
type runner struct {
	clock    clock.WithTicker
	backends map[string]Backend
	out      io.Writer
	patience story.Patience
	metrics  *metrics.Exporter

	folder     string
	backend    string
	landscape  string
	randomSeed uint64
	stretch    float64 // what deadlines and goals are multiplied by
	keep       bool
	sample     int // how many points of each sweep are told; 0 means all
}

// run tells and judges what was accepted.
func (r *runner) run(ctx context.Context, p *plan) verdict.Verdict {
	worst, verdicts := verdict.Held, map[string]verdict.Verdict{}
	groups := grouped(p.stories)
	for i, group := range groups {
		worst = verdict.Worst(worst, r.tellGroup(ctx, p.backend, group, verdicts, len(p.stories), i == len(groups)-1))
	}
	for _, s := range p.sweeps {
		r.printf("\n%s\n", s.count(verdicts))
	}
	if len(p.stories) > 1 {
		r.printf("\n%d scenarios: %s\n", len(p.stories), worst)
	}
	return worst
}

// grouped puts together what can share a landscape, in the order of the files: stories with the same settings, and with
// the same seeds and whitelist, because one more seed is one more place to evacuate to.
func grouped(stories []*scenario.Scenario) [][]*scenario.Scenario {
	var groups [][]*scenario.Scenario
	for _, s := range stories {
		at := slices.IndexFunc(groups, func(g []*scenario.Scenario) bool {
			one, other := g[0].Spec.Landscape, s.Spec.Landscape
			return one.Settings == other.Settings && slices.EqualFunc(one.Seeds, other.Seeds, landscape.Seed.Equal) && slices.Equal(one.Tolerable, other.Tolerable)
		})
		if at < 0 {
			groups = append(groups, nil)
			at = len(groups) - 1
		}
		groups[at] = append(groups[at], s)
	}
	return groups
}

// tellGroup tells stories that share a landscape, and adds their verdicts.
func (r *runner) tellGroup(ctx context.Context, backend Backend, group []*scenario.Scenario, verdicts map[string]verdict.Verdict, of int, last bool) verdict.Verdict {
	needs := group[0].Spec.Landscape
	needs.Shoots = nil // each story brings its own
	shared := &stage{runner: r, backend: backend, needs: needs}
	worst := verdict.Held
	for i, s := range group {
		report, err := r.tell(ctx, s, shared, r.folderOf(s.Metadata.Name, of))
		if err != nil {
			r.printf("%s: %v\n", s.Metadata.Name, err)
			worst = verdict.Worst(worst, verdict.Broken)
			continue
		}
		verdicts[s.Metadata.Name] = report.Verdict
		worst = verdict.Worst(worst, report.Verdict)
		if i < len(group)-1 {
			shared.clear(ctx)
		}
	}
	if last && r.keep && shared.world != nil {
		r.printf("\nThe landscape is kept; interrupt to end it.\n")
		<-ctx.Done()
	}
	if err := shared.stop(ctx); err != nil {
		r.printf("%v\n", err)
		worst = verdict.Worst(worst, verdict.Broken)
	}
	return worst
}

// tell one story, judge it, and keep the evidence.
func (r *runner) tell(ctx context.Context, s *scenario.Scenario, shared *stage, folder string) (*verdict.Report, error) {
	file, err := openTimeline(folder)
	if err != nil {
		return nil, err
	}
	if err := keepStory(folder, s); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	s.Stretch(r.stretch) // for this run only: what is kept can be told again with the same multiplier, or another
	journal := timeline.NewJournal(r.clock, file)
	view := showing(ctx, r.out, journal, s)
	r.metrics.Follow(ctx, journal)
	told := r.play(ctx, s, shared, journal)
	err = errors.Join(journal.Close(), file.Close())
	view.wait()
	if err != nil {
		return nil, fmt.Errorf("keep the evidence: %w", err)
	}
	events := journal.Events()
	judged, err := verdict.Judge(events)
	if err != nil {
		return nil, errors.Join(told, err)
	}
	r.metrics.Judged(judged)
	if err := errors.Join(verdict.Write(folder, judged, events), report.Write(folder), metrics.WriteFolder(folder, judged)); err != nil {
		return nil, err
	}
	show(r.out, judged, folder)
	return judged, nil
}

// play the story on the shared landscape, which it makes if there is none.
func (r *runner) play(ctx context.Context, s *scenario.Scenario, shared *stage, journal *timeline.Journal) error {
	content, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("marshal the scenario: %w", err)
	}
	journal.Record(timeline.Event{Payload: timeline.RunStarted{
		Scenario: s.Metadata.Name, Backend: r.backend, RandomSeed: r.randomSeed, TimeoutMultiplier: r.stretch, Story: content,
	}})
	if err := shared.start(ctx, journal); err != nil {
		journal.Record(timeline.Event{Payload: timeline.RunEnded{Broken: err.Error()}})
		return err
	}
	journal.Record(timeline.Event{Payload: timeline.LandscapeReady{Seeds: shared.world.Seeds()}})
	return story.Tell(ctx, story.Options{
		Scenario: s, World: shared.world, Journal: journal, Clock: r.clock, RandomSeed: r.randomSeed, Patience: r.patience,
	})
}

// openTimeline makes the folder of a run, without the evidence of an earlier one.
func openTimeline(folder string) (*os.File, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for the evidence: %w", err)
	}
	for _, name := range []string{verdict.FileName, verdict.JUnitName, report.FileName, metrics.FileName} {
		if err := os.Remove(filepath.Join(folder, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("remove the earlier verdict: %w", err)
		}
	}
	file, err := os.Create(filepath.Join(folder, timeline.FileName))
	if err != nil {
		return nil, fmt.Errorf("make the timeline: %w", err)
	}
	return file, nil
}

// stage is the landscape that several stories share.
type stage struct {
	runner  *runner
	backend Backend
	needs   landscape.Landscape
	world   world.World
}

func (s *stage) start(ctx context.Context, journal *timeline.Journal) error {
	if s.world != nil {
		return nil
	}
	w, err := s.backend.Start(ctx, Request{
		Name: s.runner.landscape, Landscape: s.needs, RandomSeed: s.runner.randomSeed,
		Progress: func(text string) { journal.Record(timeline.Event{Payload: timeline.Note{Text: text}}) },
	})
	if err != nil {
		return fmt.Errorf("make the landscape: %w", err)
	}
	s.world = w
	return nil
}

// clear takes the shoots of a story off the landscape. When that fails the next story gets a landscape of its own.
func (s *stage) clear(ctx context.Context) {
	if s.world == nil {
		return
	}
	if err := story.Clear(ctx, s.world, s.runner.clock); err != nil {
		s.runner.printf("The landscape cannot be used again: %v\n", err)
		if err := s.stop(ctx); err != nil {
			s.runner.printf("%v\n", err)
		}
	}
}

func (s *stage) stop(ctx context.Context) error {
	if s.world == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	err := s.world.Stop(ctx)
	s.world = nil
	if err != nil {
		return fmt.Errorf("end the landscape: %w", err)
	}
	return nil
}
