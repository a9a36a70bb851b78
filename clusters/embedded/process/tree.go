package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// Descendants lists the living children of a process, their children, and so on, parents before children.
func Descendants(pid int) ([]ID, error) {
	children, err := childrenByParent()
	if err != nil {
		return nil, err
	}
	var found []ID
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		for _, child := range children[queue[0]] {
			found = append(found, child)
			queue = append(queue, child.PID)
		}
	}
	return found, nil
}

func childrenByParent() (map[int][]ID, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	children := map[int][]ID{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		fields, err := stat(pid)
		if err != nil || string(fields[0]) == "Z" {
			continue // gone, or going
		}
		parent, _ := strconv.Atoi(string(fields[1]))
		born, _ := strconv.ParseUint(string(fields[19]), 10, 64)
		children[parent] = append(children[parent], ID{PID: pid, Birth: born})
	}
	return children, nil
}

// freezeRounds bounds how often Freeze looks for children that were born while it worked.
const freezeRounds = 10

// Freeze stops a process and everything below it. Parents are stopped before their children, and it looks again until
// no child is new, so that none is missed. It returns those below that it has stopped, for Thaw, also together with an
// error. Processes that have ended already are not among them.
func (id ID) Freeze() ([]ID, error) {
	if err := id.Signal(syscall.SIGSTOP); err != nil {
		return nil, err
	}
	if err := id.awaitStopped(); err != nil {
		return nil, err
	}
	var stopped []ID
	for range freezeRounds {
		below, err := Descendants(id.PID)
		if err != nil {
			return stopped, err
		}
		fresh := slices.DeleteFunc(below, func(id ID) bool { return slices.Contains(stopped, id) })
		if len(fresh) == 0 {
			return slices.DeleteFunc(stopped, func(id ID) bool { return !id.Alive() }), nil
		}
		stopped = append(stopped, fresh...) // before the signals, so that after an error Thaw continues those that got one
		for _, child := range fresh {
			// A parent in vfork stops when its child has begun another program, which it cannot once it has stopped.
			err := child.Signal(syscall.SIGSTOP)
			if err == nil {
				err = child.awaitStopped()
			}
			if err != nil {
				return stopped, err
			}
		}
	}
	return stopped, fmt.Errorf("freeze process %d: it kept getting children", id.PID)
}

// stopTimeout bounds how long a process may take to stop after SIGSTOP. It stops when it next runs.
const stopTimeout = 5 * time.Second

// awaitStopped waits until the process has stopped: until then it can still have children. One that is gone counts as
// stopped.
func (id ID) awaitStopped() error {
	for deadline := time.Now().Add(stopTimeout); ; time.Sleep(time.Millisecond) {
		fields, err := stat(id.PID)
		if err != nil || !id.Alive() || string(fields[0]) == "T" || string(fields[0]) == "t" {
			return nil //nolint:nilerr // without a stat the process is gone
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("freeze process %d: it does not stop, state %s", id.PID, fields[0])
		}
	}
}

// Thaw continues a process and those that Freeze has stopped below it, children first.
func (id ID) Thaw(stopped []ID) error {
	var errs []error
	for _, below := range slices.Backward(stopped) {
		errs = append(errs, below.Signal(syscall.SIGCONT))
	}
	return errors.Join(append(errs, id.Signal(syscall.SIGCONT))...)
}
