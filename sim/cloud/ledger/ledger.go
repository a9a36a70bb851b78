// Package ledger keeps the record of the cloud: a file of all mutating calls, to which entries are only ever added.
// What the entries say the server folds into its state.
package ledger

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	api "github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/durable"
)

var errEnding = errors.New("the cloud ends")

// File is the append-only file of all mutating calls, one JSON document a line. Appends come from one goroutine at
// a time, reads from any.
type File struct {
	file *os.File

	mutex  sync.RWMutex
	ends   []int64       // ends[i] is the offset behind entry i+1
	grown  chan struct{} // closed at the next append
	ending chan struct{} // closed when nobody shall wait any longer
	broken error         // set when the file's state is unknown; nothing is written from then on
}

// Open reads the file, creating it if need be, and hands every entry to fold. A last line without an end is
// what a killed process had not finished, so nobody got an answer for it: it is cut off. The name of the file is on the
// disk before there is an entry.
func Open(disk durable.Disk, path string, fold func(*api.LedgerEntry) error) (*File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	if err := disk.Folder(filepath.Dir(path)); err != nil {
		return nil, errors.Join(fmt.Errorf("keep the name of the ledger %q: %w", path, err), file.Close())
	}
	l := &File{file: file, grown: make(chan struct{}), ending: make(chan struct{})}
	if err := l.load(fold); err != nil {
		return nil, errors.Join(fmt.Errorf("read the ledger %q: %w", path, err), file.Close())
	}
	return l, nil
}

func (l *File) load(fold func(*api.LedgerEntry) error) error {
	reader := bufio.NewReaderSize(l.file, 1<<20)
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		entry := &api.LedgerEntry{}
		if err := json.Unmarshal(line, entry); err != nil {
			return fmt.Errorf("line %d: %w", len(l.ends)+1, err)
		}
		if entry.Seq != l.Last()+1 {
			return fmt.Errorf("line %d: has number %d", len(l.ends)+1, entry.Seq)
		}
		if err := fold(entry); err != nil {
			return fmt.Errorf("line %d: %w", len(l.ends)+1, err)
		}
		l.ends = append(l.ends, l.Size()+int64(len(line)))
	}
	if err := l.file.Truncate(l.Size()); err != nil {
		return fmt.Errorf("cut off an unfinished line: %w", err)
	}
	_, err := l.file.Seek(l.Size(), io.SeekStart)
	return err
}

// Last is the number of the newest entry, 0 when there is none.
func (l *File) Last() int64 {
	l.mutex.RLock()
	defer l.mutex.RUnlock()
	return int64(len(l.ends))
}

// Size is the length of the file up to the newest entry.
func (l *File) Size() int64 {
	l.mutex.RLock()
	defer l.mutex.RUnlock()
	return l.end(int64(len(l.ends)))
}

func (l *File) end(seq int64) int64 {
	if seq == 0 {
		return 0
	}
	return l.ends[seq-1]
}

// Append gives the entry its number and returns when it is on disk. After an error the entry is not in the ledger.
func (l *File) Append(entry *api.LedgerEntry) error {
	if l.broken != nil {
		return fmt.Errorf("write the ledger, which is closed since an earlier failure: %w", l.broken)
	}
	entry.Seq = l.Last() + 1
	line, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("marshal a ledger entry: %w", err)
	}
	line = append(line, '\n')
	if _, err := l.file.Write(line); err != nil {
		return fmt.Errorf("write the ledger: %w", errors.Join(err, l.undo()))
	}
	if err := l.file.Sync(); err != nil {
		// What a failed fsync leaves on disk is unknown, and a second fsync would not show it.
		l.broken = err
		return fmt.Errorf("sync the ledger: %w", err)
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.ends = append(l.ends, l.end(int64(len(l.ends)))+int64(len(line)))
	close(l.grown)
	l.grown = make(chan struct{})
	return nil
}

// Upto is the file as it was when it had this size.
func (l *File) Upto(size int64) io.Reader { return io.NewSectionReader(l.file, 0, size) }

// undo cuts off a line that did not fit, e.g. on a full disk.
func (l *File) undo() error {
	size := l.Size()
	err := l.file.Truncate(size)
	if err == nil {
		_, err = l.file.Seek(size, io.SeekStart)
	}
	if err != nil {
		l.broken = err
	}
	return err
}

// Read returns at most max entries behind the number.
func (l *File) Read(after int64, max int) ([]api.LedgerEntry, error) {
	l.mutex.RLock()
	after = min(after, int64(len(l.ends)))
	until := min(after+int64(max), int64(len(l.ends)))
	from, to := l.end(after), l.end(until)
	l.mutex.RUnlock()
	content := make([]byte, to-from)
	if _, err := l.file.ReadAt(content, from); err != nil {
		return nil, fmt.Errorf("read entries %d to %d of the ledger: %w", after+1, until, err)
	}
	entries := make([]api.LedgerEntry, 0, until-after)
	decoder := json.NewDecoder(bytes.NewReader(content))
	for range until - after {
		var entry api.LedgerEntry
		if err := decoder.Decode(&entry); err != nil {
			return nil, fmt.Errorf("parse entry %d of the ledger: %w", after+int64(len(entries))+1, err)
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// Wait returns when there is an entry behind the number, or ctx is done.
func (l *File) Wait(ctx context.Context, after int64) error {
	for {
		l.mutex.RLock()
		there, grown := int64(len(l.ends)) > after, l.grown
		l.mutex.RUnlock()
		if there {
			return nil
		}
		select {
		case <-grown:
		case <-l.ending:
			return errEnding
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// EndWaits makes every wait return, now and later.
func (l *File) EndWaits() { close(l.ending) }

// Close the file.
func (l *File) Close() error { return l.file.Close() }

// Restore makes a ledger of such content at the path. It appears whole, and on the disk, or not at all.
func Restore(disk durable.Disk, content io.Reader, path string) error {
	file, err := os.CreateTemp(filepath.Dir(path), "restore-*")
	if err != nil {
		return fmt.Errorf("make the ledger: %w", err)
	}
	defer os.Remove(file.Name()) // fails after the rename, as it should
	_, err = io.Copy(file, content)
	if err := errors.Join(err, disk.File(file), file.Close()); err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return disk.Folder(filepath.Dir(path))
}
