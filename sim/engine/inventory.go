package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/probe/inventory"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// settleRule says how looks are repeated until what they see has settled.
type settleRule struct {
	look func(context.Context, *timeline.Journal) error
	// names what must not change from one look to the next.
	names func([]timeline.Event) []string
	// versions, if there are any, are of what names has: two looks that agree in both are enough, without the quiet time,
	// for then nobody is at work.
	versions func() inventory.Versions
	// quiet is for how long it must not change. Two looks have to agree in any case: one proves nothing, however late it
	// comes.
	quiet time.Duration
	// failing bounds how long looks may fail, and changing how long what they see may change, from the first that
	// succeeded.
	failing, changing time.Duration
}

// unsettledError says what was still changing when the time was over.
type unsettledError struct {
	within  time.Duration
	changed []string
}

func (e *unsettledError) Error() string {
	shown := e.changed
	if more := len(shown) - mostMoved; more > 0 {
		shown = append(slices.Clone(shown[:mostMoved]), fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("still changing after %s: %s", e.within, strings.Join(shown, "; "))
}

// settled repeats looks until they agree, and returns what the last of them saw. It does so with an error too: an
// unsettledError, or that of the last look.
func (s settleRule) settled(ctx context.Context, by clock.Clock, round time.Duration) (*timeline.Journal, error) {
	began := by.Now()
	var first, since time.Time // the first look in a row that succeeded, and the first that saw what the last one did
	var before, changed []string
	var versionsBefore inventory.Versions
	for {
		memory := timeline.NewJournal(clock.RealClock{}, nil)
		err := s.look(ctx, memory)
		now, quiet := s.names(memory.Events()), s.quiet
		if s.versions != nil {
			versions := s.versions()
			if maps.Equal(versionsBefore, versions) {
				quiet = 0
			}
			versionsBefore = versions
		}
		switch {
		case err != nil:
			first = time.Time{}
			if ctx.Err() != nil || by.Since(began) >= s.failing {
				return memory, err
			}
		case first.IsZero():
			first, since, before = by.Now(), by.Now(), now
		case slices.Equal(before, now) && by.Since(since) >= quiet:
			return memory, nil
		case by.Since(first) >= s.changing:
			return memory, &unsettledError{s.changing, append(difference(before, now), changed...)}
		case !slices.Equal(before, now):
			changed = difference(before, now)
			since, before = by.Now(), now
		}
		select {
		case <-ctx.Done():
			return memory, context.Cause(ctx)
		case <-by.After(round):
		}
	}
}

// difference is what has come (+) and gone (-) from one sorted list to another.
func difference(before, now []string) []string {
	var changed []string
	for _, name := range before {
		if _, there := slices.BinarySearch(now, name); !there {
			changed = append(changed, "-"+name)
		}
	}
	for _, name := range now {
		if _, there := slices.BinarySearch(before, name); !there {
			changed = append(changed, "+"+name)
		}
	}
	return changed
}

// writtenFor is for how many quiet times nothing may come or go if somebody writes all the time: a landscape that is
// still starting makes something within that time.
const writtenFor = 10

// inventories of the landscape: what is there before the scenario, and at the end.
type inventories struct{ *scope }

// first are taken once every actor and extension is ready and nothing comes or goes any more: what belongs to the
// landscape itself must not be taken for something that the scenario has left. Before the landscape's own actors make
// something, they or whom they wait for write to the garden or a seed. So two looks between which nobody has written
// are enough. If somebody writes all the time, that is for the verdict to say: then nothing may come or go for
// writtenFor quiet times. A third-party extension may be silent before it makes something: then nothing may come or go
// for the quiet time.
func (i inventories) first(ctx context.Context) error {
	if i.Prepared != nil {
		i.Prepared.record(i.Journal)
		return nil
	}
	var versions inventory.Versions
	rule := settleRule{
		look: func(ctx context.Context, to *timeline.Journal) (err error) {
			if err := i.World.Ready(ctx); err != nil {
				return err
			}
			versions, err = i.take(ctx, timeline.Before, to)
			return errors.Join(err, checkReadable(to.Events()), i.addGarden(ctx, versions))
		},
		names: lasting, versions: func() inventory.Versions { return versions }, quiet: writtenFor * i.Patience.Quiet,
		failing: i.Patience.SetUp, changing: i.Patience.SetUp,
	}
	if len(i.Scenario.Spec.Landscape.Extensions) > 0 {
		rule.versions, rule.quiet = nil, i.Patience.Quiet
	}
	memory, err := rule.settled(ctx, i.Clock, i.Patience.Round)
	if err != nil {
		return err
	}
	keep(i.Journal, memory)
	return nil
}

// addGarden adds the versions of what the garden has.
func (i inventories) addGarden(ctx context.Context, to inventory.Versions) error {
	config, err := i.World.Connect(landscape.Garden)
	if err == nil && to != nil {
		err = to.Add(ctx, landscape.Garden, config)
	}
	return err
}

// last takes inventories until what mentions a shoot, and the folders, do not change any more, and records the last.
// What is still changing then is judged as it is.
func (i inventories) last(ctx context.Context) error {
	memory, err := settleRule{
		look: func(ctx context.Context, to *timeline.Journal) error {
			_, err := i.take(ctx, timeline.After, to)
			return err
		},
		names:   changing,
		failing: 2 * i.Patience.Finale, changing: i.Patience.Changing, // one look may take Finale
	}.settled(ctx, i.Clock, i.Patience.Round)
	keep(i.Journal, memory)
	if unsettled := (&unsettledError{}); errors.As(err, &unsettled) {
		return nil
	}
	return err
}

// checkReadable is an error that names what could not be listed.
func checkReadable(events []timeline.Event) error {
	var errs []error
	for e, p := range timeline.Of[timeline.InventorySeen](events) {
		if len(p.Unreadable) > 0 {
			errs = append(errs, fmt.Errorf("list everything in %q: %s", e.Subject, strings.Join(p.Unreadable, "; ")))
		}
	}
	return errors.Join(errs...)
}

// lasting names everything that may say that somebody is still at work.
func lasting(events []timeline.Event) []string {
	found := []string{}
	for e, item := range significant(events) {
		found = append(found, fmt.Sprintf("%s on %s", itemName(item), e.Subject))
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// significant are the items of looks without what comes and goes though nobody is at work: events come and expire at
// any time, and backups come, of which counts whether an epoch has any.
func significant(events []timeline.Event) iter.Seq2[timeline.Event, timeline.Item] {
	return func(yield func(timeline.Event, timeline.Item) bool) {
		for e, p := range timeline.Of[timeline.InventorySeen](events) {
			for _, item := range p.Items {
				if item.Class == "object" { // in a bucket
					item.Name = path.Dir(item.Name)
				}
				if !isEvent(item) && !yield(e, item) {
					return
				}
			}
		}
	}
}

func isEvent(item timeline.Item) bool {
	class, _, _ := strings.Cut(item.Class, ".")
	return class == "events"
}

func itemName(item timeline.Item) string {
	return item.Class + " " + strings.TrimPrefix(item.Namespace+"/"+item.Name, "/")
}

// changing lists what may still be on its way out: what mentions a shoot, and where, and folders, which go a moment
// after their pods; with them whether their pods were there, so that a folder is without its pod in two looks before it
// counts.
func changing(events []timeline.Event) []string {
	there := map[string]map[string]bool{} // the UIDs of a look, by its place
	for e, p := range timeline.Of[timeline.InventorySeen](events) {
		if there[e.Subject] == nil {
			there[e.Subject] = map[string]bool{}
		}
		for _, item := range p.Items {
			there[e.Subject][item.UID] = true
		}
	}
	found := []string{}
	for e, item := range significant(events) {
		if len(item.Mentions) > 0 || item.Class == "folder" {
			found = append(found, fmt.Sprintf("%s on %s owned %t", itemName(item), e.Subject, there[e.Subject][item.Owner]))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// keep what was seen, as seen now.
func keep(to timeline.Recorder, memory *timeline.Journal) {
	for _, e := range memory.Events() {
		to.Record(e)
	}
}

// take one of every seed, and of every other place that the world knows of. It returns the versions of what the seeds
// have.
func (i inventories) take(ctx context.Context, when string, to timeline.Recorder) (inventory.Versions, error) {
	ctx, cancel := context.WithTimeout(ctx, i.Patience.Finale)
	defer cancel()
	var ids []string
	for _, e := range i.registry.all() {
		if e.id != "" { // else it is not known yet
			ids = append(ids, e.id)
		}
	}
	slices.Sort(ids)
	items, err := i.World.Items(ctx)
	all, seeds := inventory.Versions{}, i.World.Seeds()
	errs, seen, found := make([]error, len(seeds)), make([]*timeline.Journal, len(seeds)),
		make([]inventory.Versions, len(seeds))
	var group sync.WaitGroup
	for n, seed := range seeds {
		group.Go(func() {
			seen[n] = timeline.NewJournal(clock.RealClock{}, nil)
			var config *rest.Config
			if config, errs[n] = i.World.Connect(seed); errs[n] == nil {
				found[n], errs[n] = inventory.Take(ctx, seed, config, when, ids, items[seed], seen[n])
			}
		})
	}
	group.Wait()
	for n, seed := range seeds {
		keep(to, seen[n])
		maps.Copy(all, found[n])
		delete(items, seed)
	}
	for _, place := range slices.Sorted(maps.Keys(items)) {
		inventory.Items(place, when, ids, items[place], to)
	}
	return all, errors.Join(append(errs, err)...)
}
