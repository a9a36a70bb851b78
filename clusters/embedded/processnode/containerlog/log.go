// Package containerlog keeps what containers write, in the line format of the container runtime interface, so that
// "kubectl logs" can show, cut and follow it.
//
// It ships nothing elsewhere and searches nothing.
package containerlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// maxSize of a log file. When it is reached, the file becomes the older half, so a log takes twice as much.
	maxSize = 10 << 20
	// maxLine is the longest piece of a line that is kept together.
	maxLine = 16 << 10
)

// Stream is where a container wrote a line.
type Stream string

// The streams of a container.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// Log is what one run of a container writes. Its methods may be called from any goroutine.
type Log struct {
	path  string
	clock clock.PassiveClock

	mutex      sync.Mutex
	file       *os.File // nil when closed
	size       int64
	generation int           // counts how often the file has been replaced
	changed    chan struct{} // closed at every change, and then replaced
}

// Create starts a log in a file that does not exist yet; its folder is made.
func Create(path string, clock clock.PassiveClock) (*Log, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the log: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the log: %w", err)
	}
	return &Log{path: path, clock: clock, file: file, changed: make(chan struct{})}, nil
}

// Closed is the log of a container that has ended, perhaps in an earlier life of this program.
func Closed(path string) *Log {
	return &Log{path: path, changed: make(chan struct{})}
}

// Remove deletes the log's files.
func (l *Log) Remove() error {
	return errors.Join(ignoreMissing(os.Remove(l.path)), ignoreMissing(os.Remove(l.older())))
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func (l *Log) older() string { return l.path + ".1" }

// Copy writes the lines of a stream to the log until the stream ends.
func (l *Log) Copy(stream Stream, from io.Reader) error {
	reader := bufio.NewReaderSize(from, maxLine)
	for {
		line, err := reader.ReadSlice('\n')
		if len(line) > 0 {
			if werr := l.write(stream, line); werr != nil {
				return werr
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("read the container's %s: %w", stream, err)
		}
	}
}

// write appends one line, or a piece of one when it has no end.
func (l *Log) write(stream Stream, line []byte) error {
	tag := "P"
	if line[len(line)-1] == '\n' {
		tag, line = "F", line[:len(line)-1]
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.file == nil {
		return nil // a descendant's last words, after the container was given up
	}
	record := l.clock.Now().UTC().AppendFormat(make([]byte, 0, len(line)+48), time.RFC3339Nano)
	record = fmt.Appendf(record, " %s %s ", stream, tag)
	record = append(append(record, line...), '\n')
	if l.size += int64(len(record)); l.size > maxSize {
		if err := l.rotate(); err != nil {
			return err
		}
		l.size = int64(len(record))
	}
	if _, err := l.file.Write(record); err != nil {
		return fmt.Errorf("write the log: %w", err)
	}
	l.notify()
	return nil
}

func (l *Log) rotate() error {
	if err := os.Rename(l.path, l.older()); err != nil {
		return fmt.Errorf("rotate the log: %w", err)
	}
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("rotate the log: %w", err)
	}
	err = l.file.Close()
	l.file = file
	l.generation++
	return err
}

func (l *Log) notify() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// Close ends the log and lets its followers go. It may be called more than once.
func (l *Log) Close() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	l.notify()
	return err
}

// state returns whether the log may still grow, which file is the current one, and a channel that a change closes.
func (l *Log) state() (open bool, generation int, changed <-chan struct{}) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.file != nil, l.generation, l.changed
}
