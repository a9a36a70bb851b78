// Command fitcaps is an OCI runtime in front of runc for hosts that lack a capability themselves: there a privileged
// container, which asks for all of them, cannot start ("unable to apply caps").
//
// It removes from a container's configuration, and from that of a process to run in it, the capabilities that are not
// in its own bounding set, and then becomes runc. It only takes away: nothing that runs behind it can do more than
// without it. On a host that has all capabilities it changes nothing, and is not needed.
//
// dockerd uses it with "--add-runtime fitcaps=PATH --default-runtime fitcaps".
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "fitcaps:", err)
		os.Exit(1)
	}
}

// run returns only when something is wrong: otherwise the process has become runc.
func run(args []string) error {
	runc, err := exec.LookPath("runc")
	if err != nil {
		return fmt.Errorf("find runc: %w", err)
	}
	for _, file := range files(args) {
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			return fmt.Errorf("read the own capabilities: %w", err)
		}
		has, err := bounding(string(status))
		if err != nil {
			return err
		}
		if err := fit(file, has); err != nil {
			return err
		}
	}
	return syscall.Exec(runc, append([]string{"runc"}, args...), os.Environ())
}

// files are those of a runc command line that name capabilities: a bundle's configuration, or a process to exec.
func files(args []string) []string {
	switch {
	case slices.Contains(args, "create") || slices.Contains(args, "run"):
		return []string{filepath.Join(value(args, "--bundle", "-b"), "config.json")}
	case slices.Contains(args, "exec"):
		if process := value(args, "--process", "-p"); process != "" {
			return []string{process}
		}
	}
	return nil
}

// value of a flag, written as "--flag value" or "--flag=value".
func value(args []string, names ...string) string {
	for i, arg := range args {
		for _, name := range names {
			if arg == name && i+1 < len(args) {
				return args[i+1]
			}
			if rest, found := strings.CutPrefix(arg, name+"="); found {
				return rest
			}
		}
	}
	return ""
}
