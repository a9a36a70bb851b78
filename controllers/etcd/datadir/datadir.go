// Package datadir is what is kept beside etcd's own files in its data directory: which ownership epoch the data
// belongs to, and what the epoch's guard remembers (docs/ownership.md#o1, docs/ownership.md#o3). It travels with the
// data and is replaced with it.
//
// It knows nothing of etcd's files, which are in the folder "member".
package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

const (
	folder     = "ownership"
	epochFile  = "epoch.json"
	memoryFile = "guard.json"
	// validityFile has the memory as of the last extension of validity, which happens once an interval and is not forced
	// to disk. It is a file of its own so that a power loss, which may leave it empty, does not take the rest along.
	validityFile = "validity.json"
)

// Dir is the path of an etcd data directory.
type Dir string

// Epoch is the marker that a restore leaves: the data belongs to this epoch.
type Epoch struct {
	Epoch int64 `json:"epoch"`
	// From is the epoch whose backups it was restored from; 0 if it began empty.
	From int64 `json:"from"`
	// Revision is etcd's revision at that moment, before it was bumped.
	Revision int64 `json:"revision"`
	// BumpedTo is the revision at which etcd went on.
	BumpedTo int64 `json:"bumpedTo"`
}

// ReadEpoch returns the marker; the zero Epoch if there is none.
func (d Dir) ReadEpoch() (Epoch, error) {
	var epoch Epoch
	return epoch, d.read(epochFile, &epoch)
}

// WriteEpoch leaves the marker, durably.
func (d Dir) WriteEpoch(epoch Epoch) error { return d.write(epochFile, epoch, true) }

// ReadMemory returns what the guard remembers; the zero Memory if nothing.
func (d Dir) ReadMemory() (validity.Memory, error) {
	var memory, extended validity.Memory
	if err := d.read(memoryFile, &memory); err != nil {
		return validity.Memory{}, err
	}
	// What cannot be read of an extension is a validity that has lapsed.
	if err := d.read(validityFile, &extended); err == nil && isExtension(memory, extended) {
		return extended, nil
	}
	return memory, nil
}

// WriteMemory replaces what the guard remembers. A mere extension of validity is not forced to disk: it is of use
// within one boot only.
func (d Dir) WriteMemory(memory validity.Memory) error {
	old, err := d.ReadMemory()
	if err == nil && isExtension(old, memory) {
		return d.write(validityFile, memory, false)
	}
	return d.write(memoryFile, memory, true)
}

// isExtension reports whether the newer memory differs from the older one in nothing but the validity of an epoch that
// goes on.
func isExtension(older, newer validity.Memory) bool {
	return older.Owner == newer.Owner && older.Epoch == newer.Epoch && older.Served == newer.Served &&
		older.Fence == nil && newer.Fence == nil
}

func (d Dir) path(name string) string { return filepath.Join(string(d), folder, name) }

func (d Dir) read(name string, into any) error {
	content, err := os.ReadFile(d.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read what is kept beside etcd's data: %w", err)
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("decode %q: %w", d.path(name), err)
	}
	return nil
}

// write replaces a file at once: a reader sees the old or the new content, also after a crash. After a power loss that
// holds only for what is durable.
func (d Dir) write(name string, value any, durable bool) error {
	content, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode %q: %w", name, err)
	}
	if err := os.MkdirAll(filepath.Dir(d.path(name)), 0o700); err != nil {
		return fmt.Errorf("make the folder beside etcd's data: %w", err)
	}
	temporary, err := os.CreateTemp(filepath.Dir(d.path(name)), name+".*")
	if err != nil {
		return fmt.Errorf("write %q: %w", d.path(name), err)
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(content)
	if err == nil && durable {
		err = temporary.Sync()
	}
	if err := errors.Join(err, temporary.Close()); err != nil {
		return fmt.Errorf("write %q: %w", d.path(name), err)
	}
	if err := os.Rename(temporary.Name(), d.path(name)); err != nil {
		return fmt.Errorf("write %q: %w", d.path(name), err)
	}
	if !durable {
		return nil
	}
	return Sync(filepath.Dir(d.path(name)))
}

// Sync forces a folder's entries to disk.
func Sync(folder string) error {
	open, err := os.Open(folder)
	if err != nil {
		return fmt.Errorf("sync the folder: %w", err)
	}
	return errors.Join(open.Sync(), open.Close())
}
