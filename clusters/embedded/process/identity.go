package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// ID names one process for good: pids are reused, a pid with its time of birth is not.
type ID struct {
	PID   int    `json:"pid"`
	Birth uint64 `json:"birth"` // clock ticks since boot, field 22 of /proc/PID/stat
}

// Self is the ID of the calling process.
func Self() ID {
	pid := os.Getpid()
	ticks, _ := birth(pid)
	return ID{PID: pid, Birth: ticks}
}

// Find is the ID of the process that has the pid now.
func Find(pid int) (ID, error) {
	ticks, err := birth(pid)
	if err != nil {
		return ID{}, fmt.Errorf("find process %d: %w", pid, err)
	}
	return ID{PID: pid, Birth: ticks}, nil
}

// Alive says whether this very process still exists and is no zombie.
func (id ID) Alive() bool {
	fields, err := stat(id.PID)
	if err != nil || string(fields[0]) == "Z" || string(fields[0]) == "X" {
		return false
	}
	return string(fields[19]) == strconv.FormatUint(id.Birth, 10)
}

// Signal sends a signal to this very process. One that is gone is not an error.
func (id ID) Signal(signal syscall.Signal) error {
	if !id.Alive() {
		return nil
	}
	if err := syscall.Kill(id.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %v to process %d: %w", signal, id.PID, err)
	}
	return nil
}

// Kill ends this very process and waits until it is gone, at most for the given time. A process that is gone already
// is not an error. The caller need not be its parent.
func (id ID) Kill(within time.Duration) error {
	deadline := time.Now().Add(within)
	for id.Alive() {
		if err := id.Signal(syscall.SIGKILL); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("kill process %d: still alive after %s", id.PID, within)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

func birth(pid int) (uint64, error) {
	fields, err := stat(pid)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(string(fields[19]), 10, 64)
}

// stat returns the fields of /proc/PID/stat from the third (the state) on. The second is the command's name, which
// may contain blanks and parentheses itself.
func stat(pid int) ([][]byte, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	fields := bytes.Fields(content[bytes.LastIndexByte(content, ')')+1:])
	if len(fields) < 20 {
		return nil, fmt.Errorf("read /proc/%d/stat: %d fields", pid, len(fields))
	}
	return fields, nil
}
