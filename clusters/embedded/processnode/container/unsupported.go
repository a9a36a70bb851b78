//go:build !linux

package container

import (
	"context"
	"os"
	"syscall"
)

// Launcher starts containers, on Linux.
type Launcher struct{}

// NewLauncher returns a launcher that starts nothing.
func NewLauncher(...string) *Launcher { return &Launcher{} }

// Start is ErrUnsupported.
func (*Launcher) Start(Spec, *os.File, *os.File) (*Process, error) { return nil, ErrUnsupported }

// Process is a container's first process, on Linux.
type Process struct{}

// PID is 0.
func (*Process) PID() int { return 0 }

// Done is never closed.
func (*Process) Done() <-chan struct{} { return nil }

// Exit is the zero value.
func (*Process) Exit() Exit { return Exit{} }

// Signal is ErrUnsupported.
func (*Process) Signal(syscall.Signal) error { return ErrUnsupported }

// Kill does nothing.
func (*Process) Kill() {}

// Exec is ErrUnsupported.
func (*Process) Exec(context.Context, Command) (Exit, error) { return Exit{}, ErrUnsupported }

// Init is ErrUnsupported.
func Init() error { return ErrUnsupported }

// AsRoot is ErrUnsupported.
func AsRoot() (bool, int, error) { return false, 0, ErrUnsupported }

// Refused is the error itself.
func Refused(err error) error { return err }

// EndWithParent is ErrUnsupported.
func EndWithParent() error { return ErrUnsupported }
