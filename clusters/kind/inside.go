package kind

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
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

// signalWhere signals each process with a variable in its environment, and prints its id. It has no such variable.
const signalWhere = `grep -lsFxz -e "$1" /proc/[0-9]*/environ | cut -d/ -f3 | while read -r pid; do
	kill "-$2" "$pid" && echo "$pid"
done; true`

// SignalWhere sends a signal to what runs on the node with a variable in its environment: to programs of pods, whoever
// this user is, and wherever Docker is. It returns their ids, as the node has them. The signal 0 does nothing to them.
func (c *Cluster) SignalWhere(ctx context.Context, variable, value string, signal syscall.Signal) (pids []int,
	err error) {
	output, err := docker.Run(ctx, "exec", c.Node(), "sh", "-c", signalWhere, "sh", variable+"="+value,
		strconv.Itoa(int(signal)))
	if err != nil {
		return nil, fmt.Errorf("signal processes of cluster %q: %w", c.name, err)
	}
	for _, word := range strings.Fields(output) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("read the processes of cluster %q: %w", c.name, err)
		}
		pids = append(pids, pid)
	}
	return pids, nil
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
