// Package executabletest writes programs for tests that start them.
package executabletest

import (
	"os"
	"syscall"
)

// Write a program that can be started at once. Meanwhile no test of this process forks: its child would have the open
// file until it executes something itself, and execve of the file would fail with "text file busy".
func Write(path string, content []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, content, 0o755) //nolint:gosec // a program
}
