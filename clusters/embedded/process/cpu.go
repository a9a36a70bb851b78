package process

import (
	"bytes"
	"cmp"
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

// Ended is the Program of processes that have ended, and for which their parent has waited.
const Ended = "(ended)"

// Usage is what the processes of one program have used since they were started.
type Usage struct {
	// Program is the name of the executable or, of a program with subcommands that the landscape runs, the subcommand.
	Program string
	// Parent is the program that started it; empty for the process at the top.
	Parent    string
	Processes int
	CPU       time.Duration // user and system
	// WakeUps are how often a thread that still runs gave up the processor to wait.
	WakeUps int64
}

// UsageFrom is what a process and everything below it has used, by program and parent: by living descendants, and by
// those that have ended, once their parent has waited for them. Who outlived its parent is no longer below.
func UsageFrom(pid int) ([]Usage, error) {
	top, err := Find(pid)
	if err != nil {
		return nil, fmt.Errorf("read the processor time of process %d: %w", pid, err)
	}
	below, err := Descendants(pid)
	if err != nil {
		return nil, err
	}
	sums, names := map[[2]string]*Usage{}, map[int]string{}
	add := func(u Usage) {
		key := [2]string{u.Program, u.Parent}
		if sums[key] == nil {
			sums[key] = &Usage{Program: u.Program, Parent: u.Parent}
		}
		sum := sums[key]
		sum.Processes, sum.CPU, sum.WakeUps = sum.Processes+u.Processes, sum.CPU+u.CPU, sum.WakeUps+u.WakeUps
	}
	for _, id := range append([]ID{top}, below...) {
		own, children, parent, err := id.usage()
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has ended since: its parent has its time by now, or soon
		}
		if err != nil {
			return nil, fmt.Errorf("read the processor time of process %d: %w", id.PID, err)
		}
		names[id.PID] = own.Program
		if id != top {
			own.Parent = names[parent]
		}
		add(own)
		if children > 0 {
			add(Usage{Program: Ended, Parent: own.Program, CPU: children})
		}
	}
	var all []Usage
	for _, sum := range sums {
		all = append(all, *sum)
	}
	slices.SortFunc(all, func(a, b Usage) int {
		return cmp.Or(strings.Compare(a.Program, b.Program), strings.Compare(a.Parent, b.Parent))
	})
	return all, nil
}

// usage of one process, of its children that have ended, and the pid of its parent; fs.ErrNotExist when it has ended.
func (id ID) usage() (own Usage, children time.Duration, parent int, err error) {
	fields, err := stat(id.PID)
	if err != nil {
		return Usage{}, 0, 0, err
	}
	if string(fields[19]) != strconv.FormatUint(id.Birth, 10) {
		return Usage{}, 0, 0, fs.ErrNotExist
	}
	own.Processes = 1
	if own.CPU, err = ticks(fields, fieldUser, fieldSystem); err != nil {
		return Usage{}, 0, 0, err
	}
	if children, err = ticks(fields, fieldChildrenUser, fieldChildrenSystem); err != nil {
		return Usage{}, 0, 0, err
	}
	if parent, err = strconv.Atoi(string(fields[1])); err != nil {
		return Usage{}, 0, 0, fmt.Errorf("parse the pid of a parent: %w", err)
	}
	own.Program, own.WakeUps = programOf(id.PID), wakeUps(id.PID)
	return own, children, parent, nil
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
