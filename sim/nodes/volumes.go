package nodes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podvolume"
)

// volumesFolder, below the root, has a folder with the contents of each volume of the cloud that a machine has had
// whose pods run.
const volumesFolder = "volumes"

// attachVolumes shows each of these machines the volumes that the cloud has attached to it, and removes the contents of
// volumes that the cloud has no more. A program that has a volume open keeps it until it ends, as with a real disk.
func (a *Agent) attachVolumes(ctx context.Context) error {
	if len(a.options.Real.Networks) == 0 {
		return nil
	}
	volumes, err := a.options.Cloud.Volumes().List(ctx, cloud.Filter{})
	if err != nil {
		return fmt.Errorf("list the volumes: %w", err)
	}
	var errs []error
	attached, all := map[string][]string{}, []string{}
	for _, v := range volumes {
		all = append(all, v.ID)
		if m := a.known[v.MachineID]; m != nil && m.isReal() {
			attached[v.MachineID] = append(attached[v.MachineID], v.ID)
			errs = append(errs, openToAll(filepath.Join(a.options.RootDir, volumesFolder, v.ID)))
		}
	}
	for id, m := range a.known {
		if m.isReal() {
			errs = append(errs, a.show(id, attached[id]))
		}
	}
	return errors.Join(append(errs, removeOthers(filepath.Join(a.options.RootDir, volumesFolder), all))...)
}

// show a machine these volumes and no others.
func (a *Agent) show(machine string, volumes []string) error {
	devices := filepath.Join(a.options.RootDir, machine, podvolume.Devices)
	errs := []error{os.MkdirAll(devices, 0o755), removeOthers(devices, volumes)}
	for _, id := range volumes {
		err := os.Symlink(filepath.Join(a.options.RootDir, volumesFolder, id), filepath.Join(devices, id))
		if !errors.Is(err, fs.ErrExist) {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("show machine %q its volumes: %w", machine, err)
	}
	return nil
}

// openToAll makes a folder that every user of a pod may write to.
func openToAll(folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return fmt.Errorf("make the folder of a volume: %w", err)
	}
	return os.Chmod(folder, 0o777) // whatever the umask
}

// removeOthers removes what a folder has but these.
func removeOthers(folder string, these []string) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var errs []error
	for _, entry := range entries {
		if !slices.Contains(these, entry.Name()) {
			errs = append(errs, os.RemoveAll(filepath.Join(folder, entry.Name())))
		}
	}
	return errors.Join(errs...)
}
