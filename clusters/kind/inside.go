package kind

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/kind/docker"
)

// Containers lists what runs in the pods of the cluster now. It is for a Docker of this machine, and has the
// environments for root only.
func (c *Cluster) Containers(ctx context.Context) ([]process.Program, error) {
	first, err := docker.PIDs(ctx, c.Node())
	if err != nil || len(first) == 0 {
		return nil, err
	}
	found, err := process.ProgramsBelow(first[0])
	if err != nil {
		return nil, fmt.Errorf("list the processes of cluster %q: %w", c.name, err)
	}
	return slices.DeleteFunc(found, func(p process.Program) bool { return !inPod(p.PID) }), nil
}

// inPod distinguishes a pod's program from the node's own by the kubelet's control groups.
func inPod(pid int) bool {
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	return err == nil && bytes.Contains(groups, []byte("kubepods"))
}

// volumeFolders are where the node image made here and the published one keep volumes.
var volumeFolders = []string{"/var/lib/volumes", "/var/local-path-provisioner"}

// Volumes are the names of the folders that hold the volumes of the cluster's pods. A node that does not run has
// none.
func (c *Cluster) Volumes(ctx context.Context) ([]string, error) {
	running, err := docker.PIDs(ctx, c.Node())
	if err != nil || len(running) == 0 {
		return nil, err
	}
	const list = `for folder in "$@"; do if [ -d "$folder" ]; then ls -1 "$folder"; fi; done`
	output, err := docker.Run(ctx, append([]string{"exec", c.Node(), "sh", "-c", list, "sh"}, volumeFolders...)...)
	if err != nil {
		return nil, fmt.Errorf("list the volumes of cluster %q: %w", c.name, err)
	}
	names := strings.Fields(output)
	slices.Sort(names)
	return names, nil
}

// Usage is what everything in the landscape's containers that runs now has used. What a lost cluster has used is gone
// with it.
func (l *Landscape) Usage() ([]process.Usage, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	names, err := docker.Containers(ctx, prefix(l.dir.Path, l.dir.Name))
	if err != nil || len(names) == 0 {
		return nil, err
	}
	pids, err := docker.PIDs(ctx, names...)
	if err != nil {
		return nil, err
	}
	var all []process.Usage
	for _, pid := range pids {
		used, err := process.UsageFrom(pid)
		if err != nil {
			return nil, fmt.Errorf("read the processor time of the landscape: %w", err)
		}
		all = append(all, used...)
	}
	return all, nil
}

// lookTimeout bounds a look at the containers.
const lookTimeout = 10 * time.Second
