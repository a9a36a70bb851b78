package podvolume

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// file is one file of a volume made of API objects.
type file struct {
	data []byte
	mode fs.FileMode
}

// dataLink points to the folder that holds the current files. Readers see all files change at once.
const dataLink = "..data"

// writeAll makes the folder show exactly these files. It changes nothing when it already does.
func writeAll(folder string, files map[string]file, group *int64) error {
	if same, err := shows(folder, files); same || err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the volume's folder: %w", err)
	}
	old, _ := os.Readlink(filepath.Join(folder, dataLink)) // none yet
	version, err := os.MkdirTemp(folder, "..version-")
	if err != nil {
		return fmt.Errorf("make the folder of a new version: %w", err)
	}
	if err := writeVersion(version, files, group); err != nil {
		return errors.Join(err, os.RemoveAll(version))
	}
	if err := replaceLink(filepath.Base(version), filepath.Join(folder, dataLink)); err != nil {
		return err
	}
	if err := linkTop(folder, files); err != nil {
		return err
	}
	if old != "" {
		if err := os.RemoveAll(filepath.Join(folder, old)); err != nil {
			return fmt.Errorf("remove the old version: %w", err)
		}
	}
	return nil
}

func writeVersion(version string, files map[string]file, group *int64) error {
	if err := os.Chmod(version, 0o755); err != nil {
		return fmt.Errorf("open the new version to readers: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(version, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("make the folder of %q: %w", name, err)
		}
		f := files[name]
		if err := os.WriteFile(path, f.data, f.mode); err != nil {
			return fmt.Errorf("write %q: %w", name, err)
		}
		if err := os.Chmod(path, f.mode); err != nil { // whatever the umask
			return fmt.Errorf("set the mode of %q: %w", name, err)
		}
	}
	return giveToGroup(version, group, 0o040)
}

// shows says whether the folder's current version is these files.
func shows(folder string, files map[string]file) (bool, error) {
	current, err := filepath.EvalSymlinks(filepath.Join(folder, dataLink))
	if err != nil {
		return false, nil // nothing written yet
	}
	found := 0
	err = filepath.WalkDir(current, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(current, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if f, wanted := files[name]; err != nil || !wanted || !bytes.Equal(content, f.data) {
			return errors.Join(err, errDiffers)
		}
		found++
		return nil
	})
	if errors.Is(err, errDiffers) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the current version: %w", err)
	}
	return found == len(files), nil
}

var errDiffers = errors.New("the contents differ")

// replaceLink points a link to a target, in one step for whoever looks.
func replaceLink(target, link string) error {
	temporary := link + "-tmp"
	_ = os.Remove(temporary) // left by a process that was killed
	if err := os.Symlink(target, temporary); err != nil {
		return fmt.Errorf("link the new version: %w", err)
	}
	if err := os.Rename(temporary, link); err != nil {
		return fmt.Errorf("switch to the new version: %w", err)
	}
	return nil
}

// linkTop makes the visible names, links into the current version, and removes those that are no more.
func linkTop(folder string, files map[string]file) error {
	wanted := map[string]bool{}
	for name := range files {
		top, _, _ := strings.Cut(name, "/")
		wanted[top] = true
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("list the volume: %w", err)
	}
	for _, entry := range entries {
		name := entry.Name()
		switch {
		case strings.HasPrefix(name, ".."):
		case wanted[name]:
			delete(wanted, name)
		default:
			if err := os.Remove(filepath.Join(folder, name)); err != nil {
				return fmt.Errorf("remove what is no more: %w", err)
			}
		}
	}
	for name := range wanted {
		if err := os.Symlink(filepath.Join(dataLink, name), filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("show %q: %w", name, err)
		}
	}
	return nil
}

// giveToGroup lets a pod's fsGroup own a tree, with these permissions. Only root can; for others the pod's files are
// their own anyway.
func giveToGroup(path string, group *int64, permissions fs.FileMode) error {
	if group == nil || os.Geteuid() != 0 {
		return nil
	}
	return filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := os.Lchown(path, -1, int(*group)); errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EPERM) {
			return nil // a user namespace knows no other groups
		} else if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil || info.Mode()&fs.ModeSymlink != 0 {
			return err
		}
		mode := info.Mode() | permissions
		if entry.IsDir() {
			mode |= fs.ModeSetgid | 0o010
		}
		return os.Chmod(path, mode)
	})
}
