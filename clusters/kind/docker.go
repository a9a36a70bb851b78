package kind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// ErrNoDocker says that there is no Docker to run clusters on. Its text is all that a user needs to read.
var ErrNoDocker = errors.New("the kind backend needs a Docker that answers")

// docker runs the docker command, as kind does, and returns what it prints.
func docker(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "docker", args...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("run docker %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// said is what a container has printed last, on both of its outputs.
func said(ctx context.Context, container string) string {
	output, _ := exec.CommandContext(ctx, "docker", "logs", "--tail", "20", container).CombinedOutput() // or why not
	return string(output)
}

// Available is nil when Docker answers, and ErrNoDocker in one line when it does not.
func Available(ctx context.Context) error {
	if _, err := exec.LookPath("docker"); err != nil {
		return fmt.Errorf("%w: the docker command is not in PATH", ErrNoDocker)
	}
	if _, err := docker(ctx, "version", "--format", "{{.Server.Version}}"); err != nil {
		_, said, _ := strings.Cut(err.Error(), ": exit status 1: ")
		first, _, _ := strings.Cut(said, "\n")
		return fmt.Errorf("%w: %s", ErrNoDocker, first)
	}
	return nil
}

// containers lists those whose names begin with a prefix, running or not.
func containers(ctx context.Context, prefix string) ([]string, error) {
	output, err := docker(ctx, "ps", "--all", "--filter", "name=^"+prefix, "--format", "{{.Names}}")
	if err != nil {
		return nil, err
	}
	return strings.Fields(output), nil
}

// remove removes containers with their volumes. Those that are not there are none of its business.
func remove(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	_, err := docker(ctx, append([]string{"rm", "--force", "--volumes"}, names...)...)
	if err != nil && strings.Contains(err.Error(), "No such container") {
		return nil
	}
	return err
}
