//go:build docker

package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/transplant-sim/transplant/clusters/tied"
)

// background is a program that was started, and goes on.
type background struct {
	command *exec.Cmd
	reached bool            // it has said what was waited for
	said    strings.Builder // since then; complete once done is closed
	done    chan struct{}
}

// startUntil starts a program, and returns when a line of it has a word, or when it has said all. Until then its lines
// are the test's. It ends with this process.
func startUntil(t *testing.T, environment []string, word, name string, args ...string) *background {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b := &background{command: exec.Command(name, args...), done: make(chan struct{})}
	b.command.Env = environment
	b.command.Stdout, b.command.Stderr = write, write
	if err := tied.Start(b.command, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = write.Close() // the program has it
	lines := bufio.NewScanner(read)
	for !b.reached && lines.Scan() {
		t.Log(lines.Text())
		b.reached = strings.Contains(lines.Text(), word)
	}
	go func() {
		defer close(b.done)
		defer read.Close()
		for lines.Scan() {
			fmt.Fprintln(&b.said, lines.Text())
		}
	}()
	return b
}

// interrupt the program, wait for its end, and return what it has said after the word.
func (b *background) interrupt() (said string, err error) {
	_ = b.command.Process.Signal(os.Interrupt) // it may have ended
	<-b.done
	err = b.command.Wait()
	return b.said.String(), err
}
