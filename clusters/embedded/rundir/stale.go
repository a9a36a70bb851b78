package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
)

// killWithin bounds the wait for one leftover process to go.
const killWithin = 10 * time.Second

func (d Dir) journal() string { return d.Join("processes.jsonl") }

// Remember writes down a process that has been started, so that it can be found should its parent be gone.
func (d Dir) Remember(name string, id process.ID) error {
	line, err := json.Marshal(ProcessState{Name: name, ID: id})
	if err != nil {
		return fmt.Errorf("encode the process %q: %w", name, err)
	}
	file, err := os.OpenFile(d.journal(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the list of processes: %w", err)
	}
	_, err = file.Write(append(line, '\n')) // one write: lines of several goroutines do not mix
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write down the process %q: %w", name, err)
	}
	return nil
}

// Leftovers lists the remembered processes that are still alive.
func (d Dir) Leftovers() ([]ProcessState, error) {
	remembered, err := d.remembered()
	return slices.DeleteFunc(remembered, func(p ProcessState) bool { return !p.ID.Alive() }), err
}

func (d Dir) remembered() ([]ProcessState, error) {
	content, err := os.ReadFile(d.journal())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of processes: %w", err)
	}
	var all []ProcessState
	for line := range bytes.Lines(content) {
		var p ProcessState
		// The last line may be torn when its writer was killed; its process died with the writer.
		if json.Unmarshal(line, &p) == nil {
			all = append(all, p)
		}
	}
	return all, nil
}

// Clear ends what a dead landscape left running and removes its folder. It says whether there was anything. The caller
// owns the lock, so that nothing of a living landscape can be hit. A folder that is not ours is ErrForeign.
func (d Dir) Clear() (bool, error) {
	entries, err := os.ReadDir(d.Path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the run directory: %w", err)
	}
	if len(entries) == 0 {
		return false, nil
	}
	if _, err := os.Stat(d.Join(marker)); err != nil {
		return false, fmt.Errorf("clear the run directory %q: %w: move it away, or choose another name", d.Path, ErrForeign)
	}
	leftovers, err := d.Leftovers()
	if err != nil {
		return true, err
	}
	var errs []error
	for _, p := range leftovers {
		if err := p.ID.Kill(killWithin); err != nil {
			errs = append(errs, fmt.Errorf("end the leftover process %q: %w", p.Name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return true, err
	}
	if err := os.RemoveAll(d.Path); err != nil {
		return true, fmt.Errorf("remove the run directory: %w", err)
	}
	return true, nil
}
