package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
)

// Containers lists what runs in the pods of the cluster now. What ends while it looks is left out.
func (c *Cluster) Containers(context.Context) ([]process.Program, error) {
	machines, err := machinesOf(c)
	if err != nil {
		return nil, err
	}
	var nodes []int
	for _, m := range machines {
		nodes = append(nodes, m.PID)
	}
	if node := c.process(NodeProgram); node != nil && node.Running() {
		nodes = append(nodes, node.PID())
	}
	var all []process.Program
	for _, node := range nodes {
		found, err := process.ProgramsBelow(node)
		if err != nil {
			return nil, fmt.Errorf("list the containers of cluster %q: %w", c.name, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// Program finds the running process of a program of the cluster itself ("etcd", "kube-apiserver", …).
func (c *Cluster) Program(name string) (process.ID, error) {
	p := c.process(name)
	if p == nil || !p.ID().Alive() {
		return process.ID{}, fmt.Errorf("find %q of cluster %q: it does not run; the cluster has %v", name, c.name,
			c.programs())
	}
	return p.ID(), nil
}

// Volumes are the names of the folders that hold the volumes of the cluster's pods.
func (c *Cluster) Volumes(context.Context) ([]string, error) { return c.folders("volumes") }

// PodFolders are the names of the folders of pods, with their empty volumes: the UIDs of the pods.
func (c *Cluster) PodFolders(context.Context) ([]string, error) { return c.folders("pods") }

// folders below one of the cluster's own, or of its machines.
func (c *Cluster) folders(below string) ([]string, error) {
	machines, err := machinesOf(c)
	roots := []string{c.files.Dir}
	for _, m := range machines {
		roots = append(roots, filepath.Join(m.disk, kubeletFolder))
	}
	var folders []string
	for _, root := range roots {
		found, globErr := filepath.Glob(filepath.Join(root, below, "*"))
		folders, err = append(folders, found...), errors.Join(err, globErr)
	}
	if err != nil {
		return nil, fmt.Errorf("list the %s of cluster %q: %w", below, c.name, err)
	}
	var names []string
	for _, folder := range folders {
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			names = append(names, filepath.Base(folder))
		}
	}
	return names, nil
}

// Reach is where this process finds a port of a pod, past all links: its own address is one of this machine's.
func (l *Landscape) Reach(_ context.Context, _ string, pod *corev1.Pod, port int) (string, error) {
	return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port)), nil
}
