package process

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// Program is a running process as the kernel shows it.
type Program struct {
	ID
	// Args are the program and its arguments.
	Args []string
	// Env is the environment it was started with; empty where this user may not read it.
	Env map[string]string
}

// ProgramsBelow lists what runs below a process now. What ends while it looks is left out, and so are the kernel's own.
func ProgramsBelow(pid int) ([]Program, error) {
	below, err := Descendants(pid)
	if err != nil {
		return nil, err
	}
	var found []Program
	for _, id := range below {
		args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id.PID))
		if err != nil || len(args) == 0 {
			continue
		}
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", id.PID))
		if err != nil && !os.IsPermission(err) {
			continue
		}
		program := Program{ID: id, Args: split(args), Env: map[string]string{}}
		for _, entry := range split(environ) {
			key, value, _ := strings.Cut(entry, "=")
			program.Env[key] = value
		}
		found = append(found, program)
	}
	return found, nil
}

func split(text []byte) []string {
	var parts []string
	for part := range bytes.SplitSeq(bytes.TrimRight(text, "\x00"), []byte{0}) {
		parts = append(parts, string(part))
	}
	return parts
}
