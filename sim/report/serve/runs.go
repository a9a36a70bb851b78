package serve

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/sim/report"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// depth is how far below the folder runs are looked for: out/catalogue/SCENARIO/timeline.jsonl is the deepest that the
// commands write, one more is for folders of folders.
const depth = 4

// run as it stands in the list.
type run struct {
	// ID is the path of its folder below the one that is served; "." for that folder itself.
	ID      string
	Folder  string
	State   state
	Changed time.Time
	Size    int64
}

// state of a run's files, by which a change is noticed.
type state struct {
	Timeline int64 // bytes
	// Judged is when the verdict was written, in nanoseconds of Unix time; 0 without one.
	Judged int64
	// GoesOn says that its process is there; not asked of a run with a verdict.
	GoesOn bool
}

// find the runs below a folder, the one that changed last first.
func find(root string) ([]run, error) {
	var runs []run
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			if path == root {
				return err
			}
			return nil // it has gone meanwhile, or is not for us
		}
		below, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.Count(below, string(filepath.Separator)) >= depth {
			return filepath.SkipDir
		}
		if entry.Name() != timeline.FileName || entry.IsDir() {
			return nil
		}
		one, err := look(root, filepath.Dir(below))
		if err == nil {
			runs = append(runs, one)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for runs in %q: %w", root, err)
	}
	slices.SortFunc(runs, func(a, b run) int { return b.Changed.Compare(a.Changed) })
	return runs, nil
}

// look at one run.
func look(root, id string) (run, error) {
	folder := filepath.Join(root, id)
	info, err := os.Stat(filepath.Join(folder, timeline.FileName))
	if err != nil {
		return run{}, fmt.Errorf("look for the run %q: %w", id, err)
	}
	one := run{ID: filepath.ToSlash(id), Folder: folder, State: state{Timeline: info.Size()}, Changed: info.ModTime(),
		Size: info.Size()}
	if judged, err := os.Stat(filepath.Join(folder, verdict.FileName)); err == nil {
		one.State.Judged = judged.ModTime().UnixNano()
	} else if one.State.GoesOn, err = timeline.GoesOn(folder); err != nil {
		return run{}, err
	}
	return one, nil
}

// listed is a run with what the list says of it.
type listed struct {
	run
	Scenario, Verdict, Tone, Headline string
	Took                              string
	RTO, Down, Lost                   string
}

func (r run) listed() listed {
	l := listed{run: r}
	s, err := report.SummaryIn(r.Folder)
	if err != nil {
		l.Verdict, l.Tone, l.Headline = "Unreadable", "unclear", err.Error()
		return l
	}
	l.Scenario, l.Verdict, l.Tone, l.Headline, l.Took = s.Scenario, s.Verdict, s.Tone, s.Headline, s.Took
	l.RTO, l.Down, l.Lost = s.RTO, s.Down, s.Lost
	return l
}
