// Package userfile reads what users name by a path: at once, and within a bound. Whatever is no regular file is
// refused: a device never ends, and a named pipe waits for a writer who may never come.
//
// It is not for files that a program has made for itself.
package userfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ErrNotRegular is in every error about something that is no regular file.
var ErrNotRegular = errors.New("give a regular file")

// kinds of what is no regular file, by their bits.
var kinds = []struct {
	bits fs.FileMode
	name string
}{
	{fs.ModeDir, "folder"}, {fs.ModeNamedPipe, "named pipe"}, {fs.ModeSocket, "socket"}, {fs.ModeDevice, "device"},
}

// Kind is what a path leads to, in words; empty for a regular file, and for a path that leads nowhere.
func Kind(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return kindOf(info)
}

func kindOf(info fs.FileInfo) string {
	for _, kind := range kinds {
		if info.Mode()&kind.bits != 0 {
			return kind.name
		}
	}
	if !info.Mode().IsRegular() {
		return "special file"
	}
	return ""
}

// Check says why a path cannot be opened as a regular file, or nil: it does so too if nothing is there.
func Check(path string) error {
	info, err := os.Stat(path) // opening a device may do something already
	if pathError := (*fs.PathError)(nil); errors.As(err, &pathError) {
		return &fs.PathError{Op: "open", Path: path, Err: pathError.Err}
	}
	if err != nil {
		return err
	}
	return check(path, info)
}

func check(path string, info fs.FileInfo) error {
	if kind := kindOf(info); kind != "" {
		return fmt.Errorf("open %s: it is a %s; %w", path, kind, ErrNotRegular)
	}
	return nil
}

// Open a regular file of at most so many bytes for reading. More than those are never read, even if it grows.
func Open(path string, most int64) (io.ReadCloser, error) {
	if err := Check(path); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be another one by now
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil {
		err = check(path, info)
	}
	if err == nil && info.Size() > most {
		err = tooLarge(path, most)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &bounded{File: file, in: reader(file, path, most)}, nil
}

// Append opens a regular file for appending, and makes it if there is none.
func Append(path string) (*os.File, error) {
	if err := Check(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NONBLOCK, 0o644)
}

// Read a regular file of at most so many bytes.
func Read(path string, most int64) ([]byte, error) {
	file, err := Open(path, most)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}

// ReadAll reads what has no path, such as standard input. Its name stands in the error.
func ReadAll(in io.Reader, name string, most int64) ([]byte, error) {
	return io.ReadAll(reader(in, name, most))
}

// Line reads the next line, with its end if it has one; at the end of all it is io.EOF, beside a last line without an
// end. A line of more than so many bytes is an error.
func Line(in *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if line = append(line, part...); len(line) > most {
			return nil, fmt.Errorf("it is longer than %d bytes; give a shorter line", most)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// bounded is a file of which no more than a bound is read.
type bounded struct {
	*os.File
	in io.Reader
}

func (b *bounded) Read(into []byte) (int, error) { return b.in.Read(into) }

// limited fails where io.LimitedReader would end: half of what was given is not what was meant.
type limited struct {
	in         io.Reader
	name       string
	left, most int64
}

func reader(in io.Reader, name string, most int64) io.Reader {
	return &limited{in: in, name: name, left: most, most: most}
}

func (l *limited) Read(into []byte) (int, error) {
	if l.left < 0 {
		return 0, tooLarge(l.name, l.most)
	}
	if int64(len(into)) > l.left+1 { // one byte more distinguishes the end from too much
		into = into[:l.left+1]
	}
	n, err := l.in.Read(into)
	if l.left -= int64(n); l.left < 0 {
		return n - 1, tooLarge(l.name, l.most)
	}
	return n, err
}

func tooLarge(name string, most int64) error {
	return fmt.Errorf("read %s: it is larger than %d bytes; give a smaller one", name, most)
}
