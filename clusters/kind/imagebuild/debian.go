package imagebuild

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// release of Debian that images are of. Its systemd still knows cgroup v1.
const release = "bookworm"

// unread is what nobody reads in a container.
var unread = []string{"/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*"}

// fresh is how long an archive of Debian's packages is used again: it has no updates from later on.
const fresh = 7 * 24 * time.Hour

// Debian returns an archive of a root folder with Debian's essential packages and the named ones, taken from where this
// machine takes its own; it is kept in the user's cache. It needs mmdebstrap, and root.
func Debian(ctx context.Context, packages ...string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w", err)
	}
	key := sha256.Sum256([]byte(release + strings.Join(packages, ",") + strings.Join(unread, ",")))
	archive := filepath.Join(cache, "transplant", "node", fmt.Sprintf("debian-%x.tar", key[:8]))
	if info, err := os.Stat(archive); err == nil && time.Since(info.ModTime()) <= fresh {
		return archive, nil
	}
	return archive, bootstrap(ctx, archive, packages)
}

// bootstrap fetches the packages, and configures them.
func bootstrap(ctx context.Context, archive string, packages []string) error {
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
	if _, err := Run(ctx, "", nil, "mmdebstrap", append(append(args, release, partial), sources...)...); err != nil {
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
