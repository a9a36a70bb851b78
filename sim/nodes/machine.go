package nodes

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/transplant-sim/transplant/api/cloud"
)

const (
	// unitFolder is where units are laid out on a machine.
	unitFolder = "/etc/systemd/system"
	// userDataFile is where a machine keeps what it has booted with.
	userDataFile = "/var/lib/cloud/instance/user-data.txt"
	// appliedFile has the paths of the files that the agent of a node has applied, or was about to apply when it ended.
	appliedFile = "/var/lib/gardener-node-agent/applied-files.json"
)

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

// isReal says whether pods of the machine's node run.
func (m *machine) isReal() bool { return len(m.data.KubeletClientCA) > 0 }

// providerID ties the Node to the machine.
func (m *machine) providerID() string { return providerPrefix + m.ID }

const providerPrefix = "transplant:///"

// layOut writes the user data, and the files that its node file has, below the folder that stands for the machine's
// disk. What is there is replaced; a machine that boots again finds the same.
func (m *machine) layOut(root, userData string) error {
	disk := filepath.Join(root, m.ID)
	if err := place(disk, userDataFile, []byte(userData), 0o600); err != nil {
		return fmt.Errorf("keep the user data of machine %q: %w", m.ID, err)
	}
	for _, folder := range m.data.Folders {
		if err := os.MkdirAll(filepath.Join(disk, filepath.Clean("/"+folder)), 0o755); err != nil {
			return fmt.Errorf("lay out the folders of machine %q: %w", m.ID, err)
		}
	}
	for _, file := range m.data.Files {
		if err := placeFile(disk, file); err != nil {
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

// applyFiles brings the files of a node agent's configuration to the machine's disk, and removes those of the last
// configuration that this one does not have. Before it writes a file it notes its path: what it leaves when it ends in
// the middle, the next one finds.
func (m *machine) applyFiles(root string, files []cloud.File) error {
	disk := filepath.Join(root, m.ID)
	var before, now []string
	content, err := os.ReadFile(filepath.Join(disk, appliedFile))
	if err == nil {
		err = json.Unmarshal(content, &before)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read which files the agent of machine %q has applied: %w", m.ID, err)
	}
	mine := slices.DeleteFunc(slices.Clone(files), func(file cloud.File) bool {
		return file.HostName != "" && file.HostName != m.nodeName()
	})
	for _, file := range mine {
		now = append(now, filepath.Clean("/"+file.Path))
	}
	if err := m.noteFiles(disk, slices.Concat(now, before)); err != nil {
		return err
	}
	for _, file := range mine {
		if err := placeFile(disk, file); err != nil {
			return fmt.Errorf("apply the files of machine %q: %w", m.ID, err)
		}
	}
	for _, path := range before {
		if slices.Contains(now, path) {
			continue
		}
		if err := removeFile(filepath.Join(disk, path)); err != nil {
			return fmt.Errorf("remove what the agent of machine %q has applied before: %w", m.ID, err)
		}
	}
	return m.noteFiles(disk, now)
}

// removeFile removes a file, unless what was noted could not be written there: it is below a file, or a folder.
func removeFile(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && info.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Remove(path)
}

// noteFiles writes the paths of the agent's files; nobody reads half of them.
func (m *machine) noteFiles(disk string, paths []string) error {
	const next = appliedFile + ".new"
	slices.Sort(paths)
	content, err := json.Marshal(slices.Compact(paths))
	if err == nil {
		err = place(disk, next, content, 0o600)
	}
	if err == nil {
		err = os.Rename(filepath.Join(disk, next), filepath.Join(disk, appliedFile))
	}
	if err != nil {
		return fmt.Errorf("note the files of machine %q: %w", m.ID, err)
	}
	return nil
}

// placeFile writes one file as an operating system config has it. Without permissions only root may read it: it may be
// made of a Secret.
func placeFile(disk string, file cloud.File) error {
	return place(disk, file.Path, file.Content, cmp.Or(os.FileMode(file.Permissions), 0o600))
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
