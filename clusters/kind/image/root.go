package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// release of Debian that nodes are. Its systemd still knows cgroup v1.
const release = "bookworm"

// packages beyond Debian's essential ones: what systemd, a kubelet, kube-proxy and the container runtime call.
var packages = []string{
	"systemd", "runc", "iptables", "nftables", "conntrack", "ethtool", "iproute2", "util-linux", "mount", "kmod", "procps",
}

// unread is what nobody reads in a node.
var unread = []string{"/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*"}

// fresh is how long an archive of Debian's packages is used again: it has no updates from later on.
const fresh = 7 * 24 * time.Hour

// debian lays the packages out in the work folder's root, from where this machine takes its own.
func (i *image) debian(ctx context.Context) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("find the cache folder: %w", err)
	}
	key := sha256.Sum256([]byte(release + strings.Join(packages, ",") + strings.Join(unread, ",")))
	archive := filepath.Join(cache, "transplant", "node", fmt.Sprintf("debian-%x.tar", key[:8]))
	if info, err := os.Stat(archive); err != nil || time.Since(info.ModTime()) > fresh {
		if err := bootstrap(ctx, archive); err != nil {
			return err
		}
	}
	if err := os.Mkdir(i.at("root"), 0o755); err != nil {
		return fmt.Errorf("make the root folder: %w", err)
	}
	_, err = do(ctx, "", nil, "tar", "--numeric-owner", "--same-permissions", "-C", i.at("root"), "-xf", archive)
	return err
}

// bootstrap fetches the packages, and configures them.
func bootstrap(ctx context.Context, archive string) error {
	sources, err := aptSources("/etc/apt")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(archive), 0o755); err != nil {
		return fmt.Errorf("make the cache folder: %w", err)
	}
	partial := fmt.Sprintf("%s.%d", archive, os.Getpid())
	defer os.Remove(partial) // gone after the rename
	args := []string{"--quiet", "--variant=essential", "--format=tar", "--include=" + strings.Join(packages, ",")}
	for _, pattern := range unread {
		args = append(args, "--dpkgopt=path-exclude="+pattern)
	}
	if _, err := do(ctx, "", nil, "mmdebstrap", append(append(args, release, partial), sources...)...); err != nil {
		return err
	}
	if err := os.Rename(partial, archive); err != nil {
		return fmt.Errorf("put the packages into the cache: %w", err)
	}
	return nil
}

// aptSources are the files that say where this machine gets Debian's packages.
func aptSources(folder string) ([]string, error) {
	var found []string
	for _, pattern := range []string{"sources.list", "sources.list.d/*.list", "sources.list.d/*.sources"} {
		files, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			return nil, fmt.Errorf("list apt's sources: %w", err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("read apt's sources: %w", err)
			}
			if strings.Contains(string(content), " "+release) {
				found = append(found, file)
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("find apt's sources of %s below %q: there are none", release, folder)
	}
	return found, nil
}

// files lays the programs and our own files over Debian's, and chooses what systemd starts.
func (i *image) files(ctx context.Context) error {
	if err := i.list(ctx); err != nil {
		return err
	}
	if err := i.placePrograms(); err != nil {
		return err
	}
	root := i.at("root")
	if err := copyTree(filepath.Join(i.source, "rootfs"), root, strings.NewReplacer("@PAUSE@", i.names.pause)); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, "kind", "version"), []byte(i.version+"\n"), 0o644); err != nil {
		return fmt.Errorf("write the version: %w", err)
	}
	for _, folder := range []string{"etc/kubernetes/manifests", "etc/cni/net.d", "var/lib/volumes"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			return fmt.Errorf("make the folder %q: %w", folder, err)
		}
	}
	return units(root)
}

// placePrograms puts every program where it is looked for.
func (i *image) placePrograms() error {
	entries, err := os.ReadDir(i.at("bin"))
	if err != nil {
		return fmt.Errorf("list the programs: %w", err)
	}
	for _, entry := range entries {
		folder := "usr/local/bin"
		switch entry.Name() {
		case "kube-proxy", "pause":
			continue // they run as containers only
		case "host-local", "loopback", "portmap", "ptp":
			folder = "opt/cni/bin"
		}
		if err := copyFile(i.at("bin", entry.Name()), i.at("root", folder, entry.Name()), 0o755, nil); err != nil {
			return err
		}
	}
	return copyFile(i.controlPlane, i.at("root", "usr/local/bin/kubectl"), 0o755, nil)
}

// copyTree copies files with their modes, but for who may write, and with the words replaced.
func copyTree(from, to string, replace *strings.Replacer) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		return copyFile(path, filepath.Join(to, relative), mode, replace)
	})
}

// copyFile copies one file; with replace, as text.
func copyFile(from, to string, mode fs.FileMode, replace *strings.Replacer) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("make the folder of %q: %w", to, err)
	}
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("copy a file: %w", err)
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return fmt.Errorf("copy a file: %w", err)
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	if replace == nil {
		_, err = io.Copy(target, source)
	} else {
		var content []byte
		if content, err = io.ReadAll(source); err == nil {
			_, err = replace.WriteString(target, string(content))
		}
	}
	if err != nil {
		return fmt.Errorf("copy the file %q: %w", from, err)
	}
	return target.Chmod(mode)
}
