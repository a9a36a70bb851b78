// Package checkpoint keeps the folder of a landscape that has ended in order, so that it can be started again, any
// number of times. It starts and ends nothing, and does not know what runs on the clusters.
//
// A landscape has its addresses in certificates and objects, and the path of its folder in volumes. So it is started
// again at the same addresses and in the same folder, one at a time.
package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/switchboard"
)

// Errors that callers distinguish.
var (
	ErrNone       = errors.New("it is no checkpoint")
	ErrIncomplete = errors.New("the checkpoint is not complete")
	ErrVersion    = errors.New("the checkpoint is of another program")
	ErrExpired    = errors.New("certificates in the checkpoint have expired")
	ErrPlace      = errors.New("a checkpoint is started in the folder that it was made in")
	ErrExists     = errors.New("there is something of this name already")
	ErrNotAlone   = errors.New("some of it is not in its folder")
	ErrNotEnded   = errors.New("the landscape did not end in order")
)

// Names in the folder of a checkpoint.
const (
	manifestName = "checkpoint.json"
	dataName     = "landscape"
)

// settledName is a file in the folder of a landscape whose shoots had settled when its end was requested.
const settledName = "settled"

// refusalName is a file in the folder of a landscape that cannot be saved, with the reason.
const refusalName = "not-to-be-saved"

// Refuse writes down why a landscape cannot be saved: some of it is not in its folder.
func Refuse(dir rundir.Dir, why string) error {
	if err := os.WriteFile(dir.Join(refusalName), []byte(why), 0o600); err != nil {
		return fmt.Errorf("mark the landscape %q: %w", dir.Name, err)
	}
	return nil
}

// CheckSource says why a landscape cannot be saved.
func CheckSource(dir rundir.Dir) error {
	switch why, err := os.ReadFile(dir.Join(refusalName)); {
	case err == nil:
		return fmt.Errorf("save the landscape %q: %w: %s", dir.Name, ErrNotAlone, why)
	case !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("save the landscape %q: %w", dir.Name, err)
	}
	return nil
}

// MarkSettled writes down that the shoots of a landscape have settled, before it is ended to be saved.
func MarkSettled(dir rundir.Dir) error {
	if err := os.WriteFile(dir.Join(settledName), nil, 0o600); err != nil {
		return fmt.Errorf("mark the landscape %q as settled: %w", dir.Name, err)
	}
	return nil
}

// UnmarkSettled takes that back, for a landscape that did not end.
func UnmarkSettled(dir rundir.Dir) error {
	if err := os.Remove(dir.Join(settledName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("take the mark off the landscape %q: %w", dir.Name, err)
	}
	return nil
}

// CanSave reports whether a landscape has ended when it had settled, and could not be saved then.
func CanSave(dir rundir.Dir) bool {
	_, err := os.Stat(dir.Join(settledName))
	return err == nil && dir.Ended()
}

// remake is what to do about a checkpoint that cannot be used.
const remake = `make it anew with "transplant checkpoint"`

// Manifest is checkpoint.json: what the checkpoint is of.
type Manifest struct {
	// Program is the SHA-256 of the transplant program that has made the checkpoint. Another one may set up, expect or
	// write something else.
	Program string `json:"program"`
	// Kubernetes is the image of the clusters' own programs.
	Kubernetes string `json:"kubernetes"`
	// Made is when it was made; Expires is when the first of its certificates does.
	Made    time.Time `json:"made"`
	Expires time.Time `json:"expires"`
	// Name, Dir and Slot are the landscape's: its name, the path of its folder, its addresses.
	Name string `json:"name"`
	Dir  string `json:"dir"`
	Slot int    `json:"slot"`
	// Seeds in order, and the links at their addresses.
	Seeds []string           `json:"seeds"`
	Links []rundir.LinkState `json:"links"`
	// Files and Bytes are how many there are.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Contents is what the maker says of the landscape; nobody here reads it.
	Contents json.RawMessage `json:"contents,omitempty"`
}

// Checkpoint is one that has been opened.
type Checkpoint struct {
	Manifest
	path string
}

// CheckTarget says why no checkpoint can be saved at a path: something is there.
func CheckTarget(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return errors.Join(fmt.Errorf("save the checkpoint %q: %w: remove it, or name another folder", path, ErrExists), err)
	}
	return nil
}

// Save keeps the folder of a landscape that has ended, for the owner of its lock. A checkpoint appears at the path as a
// whole or not at all. Kubernetes and contents are for the manifest.
func Save(ctx context.Context, dir rundir.Dir, path, kubernetes string, contents any) (err error) {
	if err := errors.Join(CheckTarget(path), CheckSource(dir)); err != nil {
		return err
	}
	if !dir.Ended() {
		return fmt.Errorf("save the landscape %q: %w: see %s", dir.Name, ErrNotEnded, dir.Log())
	}
	m, err := manifestOf(dir, kubernetes, contents)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the folder of the checkpoint: %w", err)
	}
	temporary, err := os.MkdirTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("make the folder of the checkpoint: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }() // which is not there after success
	data := filepath.Join(temporary, dataName)
	if m.Files, m.Bytes, err = copyTree(ctx, dir.Path, data, isTransient); err != nil {
		return fmt.Errorf("copy the landscape %q: %w", dir.Name, err)
	}
	if m.Expires, err = firstExpiry(data); err != nil {
		return fmt.Errorf("look for what expires in the landscape %q: %w", dir.Name, err)
	}
	content, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the manifest of the checkpoint: %w", err)
	}
	if err := os.WriteFile(filepath.Join(temporary, manifestName), append(content, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the manifest of the checkpoint: %w", err)
	}
	if err := syncDisk(temporary); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("put the checkpoint in its place: %w", err)
	}
	return syncDisk(filepath.Dir(path)) // its name, too: the landscape is removed next
}

func manifestOf(dir rundir.Dir, kubernetes string, contents any) (m Manifest, err error) {
	state, err := dir.ReadState()
	if err != nil {
		return m, err
	}
	m = Manifest{Kubernetes: kubernetes, Made: time.Now().UTC(), Name: state.Name, Dir: dir.Path, Slot: state.Slot,
		Links: state.Links}
	for _, c := range state.Clusters {
		if c.Role == string(clusters.Seed) {
			m.Seeds = append(m.Seeds, c.Name)
		}
	}
	if contents != nil {
		if m.Contents, err = json.Marshal(contents); err != nil {
			return m, fmt.Errorf("encode what the checkpoint contains: %w", err)
		}
	}
	m.Program, err = thisProgram()
	return m, err
}

// thisProgram is the hash of the running program.
func thisProgram() (string, error) {
	file, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", fmt.Errorf("open this program: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read this program: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// syncDisk brings everything on the disk that has this folder.
func syncDisk(folder string) error {
	file, err := os.Open(folder)
	if err != nil {
		return fmt.Errorf("open the checkpoint: %w", err)
	}
	defer file.Close()
	if err := unix.Syncfs(int(file.Fd())); err != nil {
		return fmt.Errorf("sync the checkpoint: %w", err)
	}
	return nil
}

// Open reads the manifest of a checkpoint, and makes sure that this program can start it, and when.
func Open(path string, now time.Time) (*Checkpoint, error) {
	c := &Checkpoint{path: path}
	content, err := os.ReadFile(filepath.Join(path, manifestName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, c.cannot(fmt.Errorf("%w: it has no %s; %s", ErrNone, manifestName, remake))
	}
	if err == nil {
		err = json.Unmarshal(content, &c.Manifest)
	}
	if err != nil {
		return nil, c.cannot(err)
	}
	program, err := thisProgram()
	if err != nil {
		return nil, err
	}
	if c.Program != program {
		return nil, c.cannot(fmt.Errorf("%w: %s: program is %.12s, this one is %.12s; %s", ErrVersion, manifestName,
			c.Program, program, remake))
	}
	if !now.Before(c.Expires) {
		return nil, c.cannot(fmt.Errorf("%w: %s: expires is %s; %s", ErrExpired, manifestName,
			c.Expires.Format(time.RFC3339), remake))
	}
	files, bytes, err := count(filepath.Join(path, dataName))
	if err != nil {
		return nil, c.cannot(errors.Join(ErrIncomplete, err))
	}
	if files != c.Files || bytes != c.Bytes {
		return nil, c.cannot(fmt.Errorf("%w: it has %d files with %d bytes, and %s says %d with %d; %s", ErrIncomplete,
			files, bytes, manifestName, c.Files, c.Bytes, remake))
	}
	return c, nil
}

func (c *Checkpoint) cannot(err error) error {
	return fmt.Errorf("open the checkpoint %q: %w", c.path, err)
}

// Landscape is the name of the landscape.
func (c *Checkpoint) Landscape() string { return c.Name }

// Read decodes the contents.
func (c *Checkpoint) Read(contents any) error {
	if len(c.Contents) == 0 {
		return nil
	}
	if err := json.Unmarshal(c.Contents, contents); err != nil {
		return c.cannot(fmt.Errorf("%s: contents: %w", manifestName, err))
	}
	return nil
}

// Arrows are the links at their addresses.
func (c *Checkpoint) Arrows() (all []switchboard.Arrow) {
	for _, l := range c.Links {
		all = append(all, switchboard.Arrow(l))
	}
	return all
}

// CheckPlace says why the checkpoint cannot be started in this folder.
func (c *Checkpoint) CheckPlace(dir rundir.Dir) error {
	if c.Dir == dir.Path {
		return nil
	}
	return c.cannot(fmt.Errorf("%w: that is %s, and this would be %s: set %s=%s, and leave --landscape out", ErrPlace,
		c.Dir, dir.Path, rundir.HomeVariable, filepath.Dir(c.Dir)))
}

// Restore copies the checkpoint into a fresh folder of a landscape.
func (c *Checkpoint) Restore(ctx context.Context, dir rundir.Dir) error {
	if err := c.CheckPlace(dir); err != nil {
		return err
	}
	keep := func(string) bool { return false }
	if _, _, err := copyTree(ctx, filepath.Join(c.path, dataName), dir.Path, keep); err != nil {
		return c.cannot(err)
	}
	return nil
}
