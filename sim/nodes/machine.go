package nodes

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/transplant-sim/transplant/api/cloud"
)

// unitFolder is where units are laid out on a machine.
const unitFolder = "/etc/systemd/system"

// machine is one that has booted, with what its user data says.
type machine struct {
	cloud.Machine
	data *cloud.NodeUserData
}

// nodeName is what the machine registers as.
func (m *machine) nodeName() string {
	if m.data.NodeName != "" {
		return m.data.NodeName
	}
	return m.Hostname
}

// providerID ties the Node to the machine.
func (m *machine) providerID() string { return providerPrefix + m.ID }

const providerPrefix = "transplant:///"

// layOut writes the files of the user data below the folder that stands for the machine's disk. What is there is
// replaced; a machine that boots again finds the same.
func (m *machine) layOut(root string) error {
	disk := filepath.Join(root, m.ID)
	for _, folder := range m.data.Folders {
		if err := os.MkdirAll(filepath.Join(disk, filepath.Clean("/"+folder)), 0o755); err != nil {
			return fmt.Errorf("lay out the folders of machine %q: %w", m.ID, err)
		}
	}
	for _, file := range m.data.Files {
		mode := cmp.Or(os.FileMode(file.Permissions), 0o600) // it may be made of a Secret
		if err := place(disk, file.Path, file.Content, mode); err != nil {
			return fmt.Errorf("lay out the files of machine %q: %w", m.ID, err)
		}
	}
	for _, unit := range m.data.Units { // which systemd shows to everybody on a machine
		if err := place(disk, filepath.Join(unitFolder, unit.Name), []byte(unit.Content), 0o644); err != nil {
			return fmt.Errorf("lay out the units of machine %q: %w", m.ID, err)
		}
	}
	return nil
}

// place writes one file of a machine; a path cannot lead out of the machine's disk.
func place(disk, path string, content []byte, mode os.FileMode) error {
	target := filepath.Join(disk, filepath.Clean("/"+path))
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(target, content, mode.Perm()), os.Chmod(target, mode.Perm()))
}

// wipe removes the disk of a machine that is gone.
func wipe(root, id string) error {
	if err := os.RemoveAll(filepath.Join(root, id)); err != nil {
		return fmt.Errorf("remove the disk of machine %q: %w", id, err)
	}
	return nil
}
