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

// Freeze holds a process and everything below it. Parents are held before their children, and it looks again until
// no child is new, so that nobody is missed. It returns whom it holds, for Thaw, also together with an error; who was
// at its end already is not among them.
func (p *Process) Freeze() ([]ID, error) {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return nil, err
	}
	if err := p.ID().awaitHeld(); err != nil {
		return nil, err
	}
	var held []ID
	for range freezeRounds {
		below, err := Descendants(p.PID())
		if err != nil {
			return held, err
		}
		fresh := slices.DeleteFunc(below, func(id ID) bool { return slices.Contains(held, id) })
		if len(fresh) == 0 {
			return slices.DeleteFunc(held, func(id ID) bool { return !id.Alive() }), nil
		}
		held = append(held, fresh...) // from here on, so that Thaw lets those go, too, who were held before an error
		for _, id := range fresh {
			if err := id.Signal(syscall.SIGSTOP); err != nil {
				return held, err
			}
		}
		for _, id := range fresh {
			if err := id.awaitHeld(); err != nil {
				return held, err
			}
		}
	}
	return held, fmt.Errorf("freeze process %q: it kept getting children", p.Name())
}

// heldTimeout bounds how long a process may take to stop after it was told to, which it does when it next runs.
const heldTimeout = 5 * time.Second

// awaitHeld waits until the process stands still: until then it can still have children. One that is gone is held.
func (id ID) awaitHeld() error {
	for deadline := time.Now().Add(heldTimeout); ; time.Sleep(time.Millisecond) {
		fields, err := stat(id.PID)
		if err != nil || !id.Alive() || string(fields[0]) == "T" || string(fields[0]) == "t" {
			return nil //nolint:nilerr // without a stat the process is gone
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("hold process %d: it does not stop, state %s", id.PID, fields[0])
		}
	}
}

// Thaw lets go a process and whom Freeze has held below it, children first.
func (p *Process) Thaw(held []ID) error {
	var errs []error
	for _, id := range slices.Backward(held) {
		errs = append(errs, id.Signal(syscall.SIGCONT))
	}
	return errors.Join(append(errs, p.Signal(syscall.SIGCONT))...)
}
