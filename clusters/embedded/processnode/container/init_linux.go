package container

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Descriptors the launcher gives the init.
const (
	specFD   = 3
	resultFD = 4
)

// initFailure is what the init reports instead of becoming the command.
type initFailure struct {
	Command bool // the command could not be run; else the container could not be prepared
	Message string
	Number  syscall.Errno // of the kernel's error, if it was one
}

// Init is the first half of a container's life: it reads the spec the launcher sends, builds the file system and
// becomes the command. It returns only when that fails, after reporting to the launcher.
func Init() error {
	// The parent-death signal and the capabilities belong to the thread that becomes the command.
	runtime.LockOSThread()
	unix.CloseOnExec(specFD)
	unix.CloseOnExec(resultFD)
	err := run()
	failure := initFailure{Message: err.Error()}
	_, failure.Command = errors.AsType[*StartError](err)
	failure.Number, _ = errors.AsType[syscall.Errno](err)
	return errors.Join(err, json.NewEncoder(os.NewFile(resultFD, "result")).Encode(failure))
}

func run() error {
	var spec Spec
	if err := json.NewDecoder(os.NewFile(specFD, "spec")).Decode(&spec); err != nil {
		return fmt.Errorf("read the spec: %w", err)
	}
	if spec.Hostname != "" {
		if err := unix.Sethostname([]byte(spec.Hostname)); err != nil {
			return fmt.Errorf("set the host name %q: %w", spec.Hostname, err)
		}
	}
	if err := buildRoot(spec); err != nil {
		return err
	}
	return become(spec)
}

// become turns this process into the command.
func become(spec Spec) error {
	if len(spec.Args) == 0 {
		return &StartError{Message: "no command specified"}
	}
	path, err := lookPath(spec.Args[0], spec.Env)
	if err != nil {
		return &StartError{Message: err.Error()}
	}
	if err := keepCapabilities(spec.Capabilities); err != nil {
		return err
	}
	if !spec.Rootless {
		if err := becomeUser(spec.User); err != nil {
			return err
		}
	}
	if spec.NoNewPrivileges {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("forbid new privileges: %w", err)
		}
	}
	dir := cmp.Or(spec.Dir, "/")
	if err := os.Chdir(dir); err != nil {
		return &StartError{Message: fmt.Sprintf("change to the working directory: %v", err)}
	}
	if err := dieWithParent(); err != nil {
		return err
	}
	err = unix.Exec(path, spec.Args, spec.Env)
	return &StartError{Message: fmt.Sprintf("exec: %q: %v", path, err)}
}

// dieWithParent asks again for the parent-death signal: a change of user has cleared it, and it was set on another
// thread. The launcher holds the other end of the spec's pipe, so a parent that has died in between is seen.
func dieWithParent() error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("ask to die with the parent: %w", err)
	}
	fds := []unix.PollFd{{Fd: specFD, Events: unix.POLLIN}}
	if _, err := unix.Poll(fds, 0); err == nil && fds[0].Revents&unix.POLLHUP != 0 {
		return errors.New("the parent is gone")
	}
	return nil
}
