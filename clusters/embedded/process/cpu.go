package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc: the kernel shows USER_HZ, a hundred a second on every architecture that Go runs
// on but alpha.
const tick = 10 * time.Millisecond

// Where /proc/PID/stat has processor times, counted as stat does.
const (
	fieldUser, fieldSystem                 = 11, 12
	fieldChildrenUser, fieldChildrenSystem = 13, 14
)

// Usage is what a process has used since it was started.
type Usage struct {
	ID
	// Program is the name of the executable or, of a program with subcommands that the landscape runs, the subcommand.
	Program string
	Parent  int           // pid
	CPU     time.Duration // user and system
	// Ended is the same of its descendants that have ended, once their parents have waited for them.
	Ended time.Duration
	// WakeUps are how often a thread that still runs gave up the processor to wait.
	WakeUps int64
}

// UsageFrom is what a process and its living descendants have used, parents before children. A process that outlived
// its parent is no longer below.
func UsageFrom(pid int) ([]Usage, error) {
	top, err := Find(pid)
	if err != nil {
		return nil, fmt.Errorf("read the processor time of process %d: %w", pid, err)
	}
	below, err := Descendants(pid)
	if err != nil {
		return nil, err
	}
	var all []Usage
	for _, id := range append([]ID{top}, below...) {
		used, err := id.usage()
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has ended since: its parent has its time by now, or soon
		}
		if err != nil {
			return nil, fmt.Errorf("read the processor time of process %d: %w", id.PID, err)
		}
		all = append(all, used)
	}
	return all, nil
}

// usage of one process; fs.ErrNotExist when it has ended, even if nobody has waited for it yet.
func (id ID) usage() (Usage, error) {
	fields, err := stat(id.PID)
	if err != nil {
		return Usage{}, err
	}
	if string(fields[19]) != strconv.FormatUint(id.Birth, 10) {
		return Usage{}, fs.ErrNotExist
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	used := Usage{ID: id, Parent: parent, Program: programOf(id.PID), WakeUps: wakeUps(id.PID)}
	if used.Program == "" {
		return Usage{}, fs.ErrNotExist
	}
	if used.CPU, err = ticks(fields, fieldUser, fieldSystem); err != nil {
		return Usage{}, err
	}
	used.Ended, err = ticks(fields, fieldChildrenUser, fieldChildrenSystem)
	return used, err
}

func ticks(fields [][]byte, which ...int) (time.Duration, error) {
	var sum time.Duration
	for _, field := range which {
		n, err := strconv.ParseInt(string(fields[field]), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("parse a processor time: %w", err)
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// multiCall are programs whose first argument says what they do.
var multiCall = []string{"transplant", "controlplane"}

// programOf is what a process runs; empty if it has ended.
func programOf(pid int) string {
	content, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	args := strings.Split(string(content), "\x00")
	if args[0] == "" {
		return ""
	}
	name := filepath.Base(args[0])
	if slices.Contains(multiCall, name) && len(args) > 1 && args[1] != "" && !strings.HasPrefix(args[1], "-") {
		return args[1]
	}
	return name
}

// wakeUps counts, over the threads of a process, how often each gave up the processor to wait. Threads that have ended
// are not counted.
func wakeUps(pid int) int64 {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	var sum int64
	for _, file := range files {
		content, _ := os.ReadFile(file)
		_, after, _ := bytes.Cut(content, []byte("\nvoluntary_ctxt_switches:"))
		line, _, _ := bytes.Cut(after, []byte("\n"))
		n, _ := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
		sum += n
	}
	return sum
}
