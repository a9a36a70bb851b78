package container

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// What of the host's file system a container sees, read-only, so that ordinary dynamically linked programs run.
var (
	hostTop = []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix", "gnu"}
	hostUsr = []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32", "libexec", "share"}
	hostEtc = []string{"alternatives", "ca-certificates", "crypto-policies", "group", "ld.so.cache", "ld.so.conf",
		"ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "os-release", "passwd", "pki", "protocols",
		"resolv.conf", "services", "ssl"}
	devices = []string{"null", "zero", "full", "random", "urandom", "tty"}
)

// Folders that every container has, and their modes.
var folders = []struct {
	path string
	mode os.FileMode
}{
	{"dev", 0o755}, {"dev/shm", 0o1777}, {"etc", 0o755}, {"home", 0o755}, {"mnt", 0o755}, {"opt", 0o755},
	{"proc", 0o555}, {"root", 0o700}, {"run", 0o755}, {"srv", 0o755}, {"sys", 0o555}, {"tmp", 0o1777},
	{"usr", 0o755}, {"usr/local", 0o755}, {"usr/local/bin", 0o755}, {"var", 0o755}, {"var/cache", 0o755},
	{"var/lib", 0o755}, {"var/log", 0o755}, {"var/tmp", 0o1777},
}

// root is the file system being built, still seen from the host.
type root struct {
	path string
	dir  *os.Root // makes mount points, and follows no link that leads out
}

// buildRoot mounts the container's file system and makes it this process's root.
func buildRoot(spec Spec) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("part the mounts from the host's: %w", err)
	}
	if err := unix.Mount("tmpfs", spec.Root, "tmpfs", unix.MS_NOSUID, "mode=0755"); err != nil {
		return fmt.Errorf("mount the root: %w", err)
	}
	dir, err := os.OpenRoot(spec.Root)
	if err != nil {
		return fmt.Errorf("open the root: %w", err)
	}
	r := &root{path: spec.Root, dir: dir}
	steps := []func(Spec) error{
		r.makeFolders, r.bindHost, r.bindDevices, r.mountProc, r.bindPrograms, r.bindMounts, r.enter,
	}
	for _, step := range steps {
		if err := step(spec); err != nil {
			return errors.Join(err, dir.Close())
		}
	}
	return dir.Close()
}

func (r *root) makeFolders(Spec) error {
	for _, folder := range folders {
		path := filepath.Join(r.path, folder.path)
		if err := os.Mkdir(path, 0o755); err != nil {
			return fmt.Errorf("make the folder: %w", err)
		}
		// Apart from the umask, and with the sticky bit, which Mkdir's mode spells differently.
		if err := unix.Chmod(path, uint32(folder.mode)); err != nil {
			return fmt.Errorf("set the mode of the folder %q: %w", folder.path, err)
		}
	}
	return os.Symlink("../run", filepath.Join(r.path, "var/run"))
}

func (r *root) bindHost(Spec) error {
	for prefix, names := range map[string][]string{"/": hostTop, "/usr": hostUsr, "/etc": hostEtc} {
		for _, name := range names {
			source := filepath.Join(prefix, name)
			if prefix != "/etc" {
				if link, err := os.Readlink(source); err == nil {
					if err := os.Symlink(link, filepath.Join(r.path, source)); err != nil {
						return fmt.Errorf("repeat the host's link: %w", err)
					}
					continue
				}
			}
			if _, err := os.Stat(source); err != nil {
				continue // not every distribution has all of them
			}
			if err := r.bind(Mount{Source: source, Target: source, ReadOnly: true}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *root) bindDevices(Spec) error {
	for _, name := range devices {
		path := filepath.Join("/dev", name)
		if err := r.bind(Mount{Source: path, Target: path}); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"} {
		if err := os.Symlink("/proc/self/fd"+target, filepath.Join(r.path, "dev", name)); err != nil {
			return fmt.Errorf("link the device %q: %w", name, err)
		}
	}
	return nil
}

// mountProc shows the container's own processes. Where the host forbids that (a container whose own /proc is
// masked), it shows the host's.
func (r *root) mountProc(Spec) error {
	path := filepath.Join(r.path, "proc")
	if err := unix.Mount("proc", path, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return r.bind(Mount{Source: "/proc", Target: "/proc"})
	}
	for _, name := range []string{"sys", "sysrq-trigger"} {
		target := filepath.Join(path, name)
		if err := unix.Mount(target, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			continue // a kernel without it
		}
		if err := readOnly(target); err != nil {
			return err
		}
	}
	return r.bind(Mount{Source: "/sys", Target: "/sys", ReadOnly: true})
}

func (r *root) bindPrograms(spec Spec) error {
	return r.bind(Mount{Source: spec.Programs, Target: "/usr/local/bin", ReadOnly: true})
}

func (r *root) bindMounts(spec Spec) error {
	mounts := slices.SortedStableFunc(slices.Values(spec.Mounts), func(a, b Mount) int {
		return strings.Count(filepath.Clean(a.Target), "/") - strings.Count(filepath.Clean(b.Target), "/")
	})
	for _, mount := range mounts {
		if err := r.bind(mount); err != nil {
			return err
		}
	}
	return nil
}

func (r *root) bind(mount Mount) error {
	info, err := os.Stat(mount.Source)
	if err != nil {
		return fmt.Errorf("mount at %q: %w", mount.Target, err)
	}
	if err := r.mountPoint(mount.Target, info.IsDir()); err != nil {
		return fmt.Errorf("make the mount point %q: %w", mount.Target, err)
	}
	target := filepath.Join(r.path, mount.Target)
	if err := unix.Mount(mount.Source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount %q at %q: %w", mount.Source, mount.Target, err)
	}
	if mount.ReadOnly {
		return readOnly(target)
	}
	return nil
}

// mountPoint makes a folder or an empty file where there is none.
func (r *root) mountPoint(target string, folder bool) error {
	name := strings.TrimPrefix(filepath.Clean(target), "/")
	if folder {
		return r.dir.MkdirAll(name, 0o755)
	}
	if err := r.dir.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if _, err := r.dir.Stat(name); err == nil {
		return nil
	}
	file, err := r.dir.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return file.Close()
}

// enter makes the new file system the root and lets the host's go.
func (r *root) enter(spec Spec) error {
	if err := os.Chdir(r.path); err != nil {
		return fmt.Errorf("enter the root: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let the host's root go: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return fmt.Errorf("enter the root: %w", err)
	}
	if spec.ReadOnlyRoot {
		return unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	}
	return nil
}

func readOnly(path string) error {
	attributes := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, path, unix.AT_RECURSIVE, attributes); err != nil {
		return fmt.Errorf("make %q read-only: %w", path, err)
	}
	return nil
}
