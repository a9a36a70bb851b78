package supervisor

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// Up starts a supervisor as a detached process and returns when the landscape is ready. The command is this executable
// with arguments that end in Supervise. When ctx is cancelled, or the caller dies, before the landscape is ready, the
// supervisor stops everything again; Up waits for that.
func Up(ctx context.Context, dir rundir.Dir, arguments []string, progress func(embedded.Progress)) (rundir.State,
	error) {
	executable, err := os.Executable()
	if err != nil {
		return rundir.State{}, fmt.Errorf("find the transplant executable: %w", err)
	}
	child, err := spawn(executable, arguments)
	if err != nil {
		return rundir.State{}, fmt.Errorf("start the supervisor of landscape %q: %w", dir.Name, err)
	}
	defer child.close()
	stop := context.AfterFunc(ctx, child.letFall)
	defer stop()
	if err := child.follow(progress); err != nil {
		if errors.Is(err, errDied) {
			err = fmt.Errorf("start the landscape %q: %w: see %s", dir.Name, err, dir.Log())
		}
		if ctx.Err() != nil {
			err = fmt.Errorf("start the landscape %q: %w: everything has been stopped again", dir.Name, ctx.Err())
		}
		return rundir.State{}, errors.Join(err, child.ended())
	}
	if err := child.release(); err != nil {
		return rundir.State{}, err
	}
	return dir.ReadState()
}

// child is a supervisor seen from Up.
type child struct {
	command *exec.Cmd
	news    *os.File
	leash   *os.File
}

func spawn(executable string, arguments []string) (*child, error) {
	news, newsEnd, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	leashEnd, leash, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, news.Close(), newsEnd.Close())
	}
	c := &child{command: exec.Command(executable, arguments...), news: news, leash: leash}
	c.command.ExtraFiles = []*os.File{newsEnd, leashEnd} // descriptors 3 and 4
	// A session of its own: the terminal's Ctrl-C and hang-up do not reach it.
	c.command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = c.command.Start()
	err = errors.Join(err, newsEnd.Close(), leashEnd.Close())
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// follow passes progress on until the supervisor says that it is ready, or why not.
func (c *child) follow(progress func(embedded.Progress)) error {
	lines := bufio.NewScanner(c.news)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return fmt.Errorf("read the supervisor's news: %w", err)
		}
		switch {
		case m.Ready:
			return nil
		case m.Error != "":
			return errors.New(m.Error)
		default:
			progress(m.Progress)
		}
	}
	return errors.Join(errDied, lines.Err())
}

// errDied is returned when the supervisor ends without a last word.
var errDied = errors.New("the supervisor died")

// release lets the supervisor live on without this process.
func (c *child) release() error {
	if _, err := c.leash.Write([]byte{released}); err != nil {
		return fmt.Errorf("release the supervisor: %w", err)
	}
	return nil
}

// letFall makes the supervisor stop everything.
func (c *child) letFall() { _ = c.leash.Close() }

// ended waits until the supervisor is gone; it has said that it will be.
func (c *child) ended() error {
	c.letFall()
	err := c.command.Wait()
	if exit, is := errors.AsType[*exec.ExitError](err); is && exit.Exited() {
		return nil // it has reported why
	}
	return err
}

func (c *child) close() {
	_ = c.news.Close()
	_ = c.leash.Close()
}
