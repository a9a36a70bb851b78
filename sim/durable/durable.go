// Package durable puts files in their places so that they are whole, and still there after a loss of power, before
// anybody relies on them: the bytes are on the disk first, then the file gets its name, then the folder is on the disk.
//
// It is for evidence and buckets. What a landscape makes anew at its next start needs none of it.
package durable

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"
)

// Disk is where files go; the zero value is that of the machine.
type Disk struct {
	// Sync brings the bytes of a file, or the names in a folder, onto the disk; nil asks the kernel.
	Sync func(*os.File) error
}

// File to put into a folder.
type File struct {
	Name  string
	Write func(io.Writer) error
}

// Bytes are the whole content of a file.
func Bytes(name string, content []byte) File {
	return File{name, func(out io.Writer) error { _, err := out.Write(content); return err }}
}

// File brings the bytes of a file onto the disk.
func (d Disk) File(file *os.File) error {
	sync := d.Sync
	if sync == nil {
		sync = (*os.File).Sync
	}
	if err := sync(file); err != nil {
		return fmt.Errorf("sync %s to the disk: %w", file.Name(), err)
	}
	return nil
}

// Folder brings the names in a folder onto the disk.
func (d Disk) Folder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync the folder to the disk: %w", err)
	}
	return errors.Join(d.File(folder), folder.Close())
}

// MakeFolder makes a folder and those above it that are missing. The names of all that are new are on the disk then.
func (d Disk) MakeFolder(path string, mode os.FileMode) error {
	path = filepath.Clean(path)
	var above []string // the folders that get a new name, the highest last
	for missing := path; ; missing = filepath.Dir(missing) {
		if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
			break // what else is wrong is for MkdirAll to say
		}
		above = append(above, filepath.Dir(missing))
	}
	if err := os.MkdirAll(path, mode); err != nil {
		return err
	}
	for _, folder := range slices.Backward(above) {
		if err := d.Folder(folder); err != nil {
			return err
		}
	}
	return nil
}

// Write puts files into a folder, which is synced once for all of them. Nobody ever sees half of one. Each replaces one
// of its name.
func (d Disk) Write(folder string, files ...File) error {
	for _, file := range files {
		if err := d.write(folder, file); err != nil {
			return fmt.Errorf("write %s: %w", filepath.Join(folder, file.Name), err)
		}
	}
	return d.Folder(folder)
}

func (d Disk) write(folder string, file File) error {
	out, err := renameio.NewPendingFile(filepath.Join(folder, file.Name), renameio.WithTempDir(folder),
		renameio.WithStaticPermissions(0o644))
	if err != nil {
		return err
	}
	if err = file.Write(out); err == nil {
		err = d.File(out.File)
	}
	if err != nil {
		return errors.Join(err, out.Cleanup())
	}
	return out.CloseAtomicallyReplace()
}
