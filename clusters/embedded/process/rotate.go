package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

const (
	// maxLog is the size at which a log is put aside. It and the one before take twice as much.
	maxLog = 16 << 20
	// rotatePeriod is how often the logs of processes are looked at.
	rotatePeriod = 5 * time.Second
)

// Older is where a log lies that has been put aside.
func Older(log string) string { return log + ".1" }

// Rotate puts a log aside whenever it has grown large, until done is closed. Whoever writes it must append.
func Rotate(done <-chan struct{}, log string) {
	ticker := time.NewTicker(rotatePeriod) // of the machine: a disk fills up in real time
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			_ = rotate(log, maxLog) // tried again soon
		}
	}
}

// rotate puts a log aside that has reached its size. The process goes on writing into the same file, at its end,
// wherever that is: what it writes between the copy and the cut is lost.
func rotate(path string, most int64) (err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil || info.Size() < most {
		return err
	}
	older, err := os.OpenFile(Older(path), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("put the log aside: %w", err)
	}
	// Of a log that grows faster than it is looked at, the end is what matters.
	from := max(0, info.Size()-most)
	if _, err := io.Copy(older, io.NewSectionReader(file, from, info.Size()-from)); err != nil {
		return errors.Join(fmt.Errorf("put the log aside: %w", err), older.Close())
	}
	return errors.Join(older.Close(), file.Truncate(0))
}

// maxLine is how much is read of the end of a log for its last line.
const maxLine = 4 << 10

// lastLine of a log that is not empty. It is empty when the log cannot be read.
func lastLine(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	from := max(0, info.Size()-maxLine)
	content, _ := io.ReadAll(io.NewSectionReader(file, from, maxLine)) // what could be read is better than nothing
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
