// Package docker is the Docker of this machine, by its command: its containers, and the images of programs that are
// made for it. It knows no landscapes, and not what its containers are for.
package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// ErrUnavailable says that there is no Docker to run clusters on. Its text is all that a user needs to read.
var ErrUnavailable = errors.New("the kind backend needs a Docker that answers")

// Run runs the docker command, as kind does, and returns what it prints.
func Run(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "docker", args...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("run docker %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// Said is what a container has printed last, on both of its outputs.
func Said(ctx context.Context, container string) string {
	output, _ := exec.CommandContext(ctx, "docker", "logs", "--tail", "20", container).CombinedOutput() // or why not
	return string(output)
}

// Available is nil when Docker answers, and ErrUnavailable in one line when it does not.
func Available(ctx context.Context) error {
	if _, err := exec.LookPath("docker"); err != nil {
		return fmt.Errorf("%w: the docker command is not in PATH", ErrUnavailable)
	}
	if _, err := Run(ctx, "version", "--format", "{{.Server.Version}}"); err != nil {
		_, said, _ := strings.Cut(err.Error(), ": exit status 1: ")
		first, _, _ := strings.Cut(said, "\n")
		return fmt.Errorf("%w: %s", ErrUnavailable, first)
	}
	return nil
}

// Containers lists those whose names begin with a prefix, running or not.
func Containers(ctx context.Context, prefix string) ([]string, error) {
	output, err := Run(ctx, "ps", "--all", "--filter", "name=^"+prefix, "--format", "{{.Names}}")
	if err != nil {
		return nil, err
	}
	return strings.Fields(output), nil
}

// Remove removes containers with their volumes. Those that are not there are none of its business.
func Remove(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	_, err := Run(ctx, append([]string{"rm", "--force", "--volumes"}, names...)...)
	if err != nil && strings.Contains(err.Error(), "No such container") {
		return nil
	}
	return err
}

// PIDs are the first processes of containers on this machine, of those that run; none of any where one is not there.
func PIDs(ctx context.Context, names ...string) ([]int, error) {
	output, err := Run(ctx, append([]string{"inspect", "--format", "{{.State.Pid}}"}, names...)...)
	if err != nil {
		if strings.Contains(err.Error(), "No such object") {
			return nil, nil
		}
		return nil, err
	}
	var found []int
	for _, word := range strings.Fields(output) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("read what docker inspect says: %w", err)
		}
		if pid != 0 {
			found = append(found, pid)
		}
	}
	return found, nil
}
