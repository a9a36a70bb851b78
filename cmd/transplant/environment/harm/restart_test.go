package harm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
)

// sleepers are processes that are started again whenever one dies, as pods are.
type sleepers struct {
	t    *testing.T
	mu   sync.Mutex
	live []process.Program
}

func (s *sleepers) start() {
	s.t.Helper()
	command := exec.Command("sleep", "60")
	if err := command.Start(); err != nil {
		s.t.Fatal(err)
	}
	id, err := process.Find(command.Process.Pid)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = command.Process.Kill() })
	go func() { _ = command.Wait() }()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = append(s.live, process.Program{ID: id})
}

func (s *sleepers) find(context.Context) (found []process.Program, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.live {
		if one.Alive() {
			found = append(found, one)
		}
	}
	return found, nil
}

// state of the only one that lives: S while it sleeps, T while it is stopped.
func (s *sleepers) state() string {
	found, _ := s.find(context.Background())
	if len(found) != 1 {
		return fmt.Sprint(len(found))
	}
	content, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", found[0].PID))
	_, rest, _ := strings.Cut(string(content), ") ")
	return rest[:min(1, len(rest))]
}

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// What is kept down dies, and its successor does nothing until the end.
func TestKeepDown(t *testing.T) {
	t.Parallel()
	for name, delay := range map[string]time.Duration{"until the end": time.Hour, "for a while": 3 * time.Second} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			s := &sleepers{t: t}
			if _, err := keepDown(t.Context(), finders{s.find}, delay); err == nil || !strings.Contains(err.Error(),
				"no such process runs") {
				t.Errorf("nothing is kept down: %v", err)
			}
			s.start()
			ctx, cancel := context.WithCancel(t.Context())
			d, err := keepDown(ctx, finders{s.find}, delay)
			if err != nil {
				t.Fatal(err)
			}
			cancel() // the run may end before
			await(t, "the first is dead", func() bool { return s.state() == "0" })
			s.start()
			await(t, "the second is stopped", func() bool { return s.state() == "T" })
			if delay == time.Hour {
				if err := d.end(); err != nil {
					t.Error(err)
				}
			}
			await(t, "the second goes on", func() bool { return s.state() == "S" })
			if err := d.end(); err != nil || len(d.victims) != 1 {
				t.Errorf("%d victims, %v", len(d.victims), err)
			}
		})
	}
}

// Waited for is a process that is just starting, and nothing else.
func TestAwaitSome(t *testing.T) {
	t.Parallel()
	looks := 0
	err := awaitSome(t.Context(), 2, time.Minute, func(context.Context) ([]process.Program, error) {
		switch looks++; looks {
		case 1:
			return nil, errors.New("it took too long")
		case 2, 3:
			return make([]process.Program, looks-2), nil
		}
		return make([]process.Program, 2), nil
	})
	if err != nil || looks != 4 {
		t.Errorf("at look %d: %v", looks, err)
	}
	unreadable := errors.New("unreadable")
	err = awaitSome(t.Context(), 1, 10*time.Millisecond, func(context.Context) ([]process.Program, error) {
		return nil, unreadable
	})
	if !errors.Is(err, unreadable) {
		t.Errorf("the error is %v", err)
	}
	ended, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err = awaitSome(ended, 1, time.Minute, func(context.Context) ([]process.Program, error) { return nil, nil })
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no such process runs") {
		t.Errorf("when the run has ended: %v", err)
	}
}
