package container

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// keepCapabilities takes all other capabilities from the calling thread's children and from what it becomes.
func keepCapabilities(names []string) error {
	kept := make(map[uintptr]bool, len(names))
	for _, name := range names {
		number, known := capabilities[name]
		if !known {
			return fmt.Errorf("keep the capability %q: unknown", name)
		}
		kept[number] = true
	}
	for number := uintptr(0); ; number++ {
		if kept[number] {
			continue
		}
		// The kernel's list ends where it says EINVAL.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, number, 0, 0, 0); errors.Is(err, unix.EINVAL) {
			break
		} else if err != nil {
			return fmt.Errorf("drop capability %d: %w", number, err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clear the ambient capabilities: %w", err)
	}
	return nil
}

// becomeUser changes the user of the calling thread only, which is the one that runs the command.
func becomeUser(user User) error {
	runtime.LockOSThread()
	groups := append([]uint32{user.GID}, user.Groups...)
	_, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0)
	if errno != 0 {
		return fmt.Errorf("set the groups %v: %w", groups, errno)
	}
	gid, uid := uintptr(user.GID), uintptr(user.UID)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, gid, gid, gid); errno != 0 {
		return fmt.Errorf("become group %d: %w", user.GID, errno)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uid, uid, uid); errno != 0 {
		return fmt.Errorf("become user %d: %w", user.UID, errno)
	}
	return nil
}

// lookPath finds a program as the container sees it, in the PATH of its own environment.
func lookPath(program string, env []string) (string, error) {
	if strings.Contains(program, "/") {
		return program, nil
	}
	for _, folder := range filepath.SplitList(valueOf("PATH", env)) {
		path := filepath.Join(folder, program)
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("exec: %q: executable file not found in $PATH", program)
}

// valueOf returns the last setting of a variable.
func valueOf(name string, env []string) string {
	value := ""
	for _, setting := range env {
		if v, ok := strings.CutPrefix(setting, name+"="); ok {
			value = v
		}
	}
	return value
}
