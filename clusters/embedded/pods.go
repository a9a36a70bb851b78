package embedded

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
)

// Container is a running container of a cluster's process node, as the kernel shows it.
type Container struct {
	process.ID
	// Args are the program and its arguments.
	Args []string
	// Env is the environment it was started with.
	Env map[string]string
}

// Containers lists what runs in the pods of the cluster now. What ends while it looks is left out.
func (c *Cluster) Containers() ([]Container, error) {
	node := c.process(nodeProgram)
	if node == nil || !node.Running() {
		return nil, nil
	}
	below, err := process.Descendants(node.PID())
	if err != nil {
		return nil, fmt.Errorf("list the containers of cluster %q: %w", c.name, err)
	}
	var found []Container
	for _, id := range below {
		args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id.PID))
		if err != nil || len(args) == 0 {
			continue
		}
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", id.PID))
		if err != nil {
			continue
		}
		container := Container{ID: id, Args: split(args), Env: map[string]string{}}
		for _, entry := range split(environ) {
			key, value, _ := strings.Cut(entry, "=")
			container.Env[key] = value
		}
		found = append(found, container)
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

// Program finds the running process of a program of the cluster itself ("etcd", "kube-apiserver", …).
func (c *Cluster) Program(name string) (process.ID, error) {
	p := c.process(name)
	if p == nil || !p.Running() {
		return process.ID{}, fmt.Errorf("find %q of cluster %q: it does not run; the cluster has %v", name, c.name, c.programs())
	}
	return process.Find(p.PID())
}
