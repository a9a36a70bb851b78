package real

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podvolume"
)

// Volumes are the contents of the cloud's volumes, each a folder in this one.
type Volumes string

// Attach shows each machine, by the folder that is its disk, the volumes that the cloud has attached to it, and removes
// the contents of volumes that the cloud has no more. A program that has a volume open keeps it until it ends.
func (v Volumes) Attach(all []cloud.Volume, disks map[string]string) error {
	attached, known := map[string][]string{}, []string{}
	var errs []error
	for _, volume := range all {
		known = append(known, volume.ID)
		if disks[volume.MachineID] != "" {
			attached[volume.MachineID] = append(attached[volume.MachineID], volume.ID)
			errs = append(errs, makeOpen(v.of(volume.ID)))
		}
	}
	for machine, disk := range disks {
		if err := v.show(disk, attached[machine]); err != nil {
			errs = append(errs, fmt.Errorf("show machine %q its volumes: %w", machine, err))
		}
	}
	return errors.Join(append(errs, keepOnly(string(v), known))...)
}

func (v Volumes) of(volume string) string { return filepath.Join(string(v), volume) }

// show the volumes that are attached to a machine on its disk.
func (v Volumes) show(disk string, volumes []string) error {
	devices := filepath.Join(disk, podvolume.Devices)
	errs := []error{os.MkdirAll(devices, 0o755), keepOnly(devices, volumes)}
	for _, id := range volumes {
		if err := os.Symlink(v.of(id), filepath.Join(devices, id)); !errors.Is(err, fs.ErrExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// makeOpen makes a folder that every user of a pod may write to. What becomes of its mode is the pods' business.
func makeOpen(folder string) error {
	err := os.MkdirAll(filepath.Dir(folder), 0o700)
	if err == nil {
		if err = os.Mkdir(folder, 0o777); errors.Is(err, fs.ErrExist) {
			return nil
		}
	}
	if err == nil {
		err = os.Chmod(folder, 0o777) // whatever the umask
	}
	if err != nil {
		return fmt.Errorf("make the folder of a volume: %w", err)
	}
	return nil
}

// keepOnly removes everything from a folder but what has these names.
func keepOnly(folder string, names []string) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var errs []error
	for _, entry := range entries {
		if !slices.Contains(names, entry.Name()) {
			errs = append(errs, os.RemoveAll(filepath.Join(folder, entry.Name())))
		}
	}
	return errors.Join(errs...)
}
