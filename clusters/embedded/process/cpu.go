package process

import (
	"fmt"
	"os"
	"strconv"
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

// CPUBelow is the processor time, user and system, of everything below a process: of its living descendants, and of
// those that have ended, once their parent has waited for them. Who outlived its parent is no longer below.
func CPUBelow(pid int) (time.Duration, error) {
	own, err := stat(pid)
	if err != nil {
		return 0, fmt.Errorf("read the processor time of process %d: %w", pid, err)
	}
	below, err := Descendants(pid)
	if err != nil {
		return 0, err
	}
	sum, err := ticks(own, fieldChildrenUser, fieldChildrenSystem)
	if err != nil {
		return 0, err
	}
	for _, id := range below {
		fields, err := stat(id.PID)
		if os.IsNotExist(err) || err == nil && string(fields[19]) != strconv.FormatUint(id.Birth, 10) {
			continue // it has ended since: its parent has its time by now, or soon
		}
		if err != nil {
			return 0, fmt.Errorf("read the processor time of process %d: %w", id.PID, err)
		}
		more, err := ticks(fields, fieldUser, fieldSystem, fieldChildrenUser, fieldChildrenSystem)
		if err != nil {
			return 0, err
		}
		sum += more
	}
	return sum, nil
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
