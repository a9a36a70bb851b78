package processnode

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
)

// check starts a container, so that a host that allows none is an error at once.
func (a *agent) check() error {
	root := filepath.Join(a.config.RootDir, "check")
	return checkContainers(a.Launcher, root)
}

// checkContainers starts a container that does nothing, in a folder that it makes and removes.
func checkContainers(launcher *container.Launcher, folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make a folder for the first container: %w", err)
	}
	spec := container.Spec{
		Hostname: "check", Root: folder, Programs: folder, Args: []string{"/proc/self/exe", "--help"},
		Capabilities: container.DefaultCapabilities(),
	}
	process, err := launcher.Start(spec, nil, nil)
	if err != nil {
		return fmt.Errorf("start a first container: %w", container.Refused(err))
	}
	process.Kill()
	<-process.Done()
	if err := os.Remove(folder); err != nil {
		return fmt.Errorf("remove the folder of the first container: %w", err)
	}
	return nil
}
