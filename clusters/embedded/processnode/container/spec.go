// Package container runs one container: a process that is PID 1 of its own PID namespace, with a file system and a
// host name of its own, and that dies with its parent.
//
// It knows nothing of pods and images beyond a folder of programs. It isolates neither network nor resources: all
// containers share the host's loopback, and limits are not enforced. It needs Linux 5.12 or newer.
package container

import (
	"errors"
	"slices"
)

// ErrUnsupported is returned on systems other than Linux.
var ErrUnsupported = errors.New("containers need Linux")

// ErrNotRunning is returned when a process that has ended is asked for something.
var ErrNotRunning = errors.New("the container is not running")

// Spec says what runs in a container and what it sees.
type Spec struct {
	Hostname string
	// Root is an empty folder of the host, on which the container's file system is mounted. It stays empty.
	Root string
	// Programs is the image: a folder of the host that appears at /usr/local/bin.
	Programs string
	// Mounts appear in the container in order of their targets, so that one may lie in another.
	Mounts []Mount
	// Args is the command; its first element is looked up in the PATH of Env.
	Args []string
	// Env is the whole environment, KEY=value.
	Env []string
	// Dir is the working directory; empty means "/".
	Dir          string
	User         User
	ReadOnlyRoot bool
	// Capabilities the process keeps, without the prefix CAP_.
	Capabilities    []string
	NoNewPrivileges bool

	// Rootless is set by the launcher: the process stays the user it is.
	Rootless bool
}

// Mount makes a file or folder of the host appear in the container.
type Mount struct {
	Source   string // absolute, exists
	Target   string // absolute, made where it is missing
	ReadOnly bool
}

// User is who the process runs as.
type User struct {
	UID, GID uint32
	Groups   []uint32
}

// Exit is how a process ended.
type Exit struct {
	Code   int // as a shell reports it: 128 and the signal's number after a signal
	Signal int // 0 when the process ended by itself
}

// StartError says that the file system was ready but the command could not be run.
type StartError struct{ Message string }

func (e *StartError) Error() string { return e.Message }

// capabilities by name: their number in the kernel.
var capabilities = map[string]uintptr{
	"CHOWN": 0, "DAC_OVERRIDE": 1, "DAC_READ_SEARCH": 2, "FOWNER": 3, "FSETID": 4, "KILL": 5, "SETGID": 6,
	"SETUID": 7, "SETPCAP": 8, "LINUX_IMMUTABLE": 9, "NET_BIND_SERVICE": 10, "NET_BROADCAST": 11, "NET_ADMIN": 12,
	"NET_RAW": 13, "IPC_LOCK": 14, "IPC_OWNER": 15, "SYS_MODULE": 16, "SYS_RAWIO": 17, "SYS_CHROOT": 18,
	"SYS_PTRACE": 19, "SYS_PACCT": 20, "SYS_ADMIN": 21, "SYS_BOOT": 22, "SYS_NICE": 23, "SYS_RESOURCE": 24,
	"SYS_TIME": 25, "SYS_TTY_CONFIG": 26, "MKNOD": 27, "LEASE": 28, "AUDIT_WRITE": 29, "AUDIT_CONTROL": 30,
	"SETFCAP": 31, "MAC_OVERRIDE": 32, "MAC_ADMIN": 33, "SYSLOG": 34, "WAKE_ALARM": 35, "BLOCK_SUSPEND": 36,
	"AUDIT_READ": 37, "PERFMON": 38, "BPF": 39, "CHECKPOINT_RESTORE": 40,
}

// DefaultCapabilities are those that container runtimes leave a container with.
func DefaultCapabilities() []string {
	return []string{"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE",
		"NET_RAW", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"}
}

// IsDefaultCapability says whether a container has the capability without asking.
func IsDefaultCapability(name string) bool { return slices.Contains(DefaultCapabilities(), name) }
