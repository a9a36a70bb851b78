package e2e

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/clusters/otheruser"
)

// rare are files that are not on each landscape: an etcd that was restored, or has written ten thousand times, has
// some.
const rare = `clusters/.+/member/snap/[0-9a-f]+-[0-9a-f]+\.snap`

// public are the files of a landscape that other users of the machine may read where its folders let them, by their
// names, and why.
var public = map[string]string{
	`\.transplant-landscape`:                           "it is empty",
	`images/[^/]+/[^/]+`:                               "the programs of images",
	`clusters/[^/]+/pods/[^/]+/(hosts|resolv\.conf)`:   "all users in a pod resolve names",
	`clusters/[^/]+/pods/[^/]+/.*/termination-log`:     "all users in a container may say why it ends",
	`clusters/[^/]+/pods/[^/]+/.*/(ca\.crt|namespace)`: "authorities and namespaces are public",
	rare: "etcd writes them for all who enter its folder: they have its members, and the values are in its database",
	`nodes/[^/]+/etc/(systemd|containerd|transplant)/.*`: "as on a machine, where it was asked for",
}

// opened: whoever loosens all folders of a landscape shows other users nothing that is secret.
func (a *attacked) opened(t *testing.T, all secrets) {
	a.loosen(t)
	paths, readable := map[string]string{}, []string{}
	a.walk(t, func(path, name string) { paths[name] = path })
	a.shorten(t, paths)
	if err := otheruser.Do(t, func() error {
		for name, path := range paths {
			if err := open(path); !errors.Is(err, os.ErrPermission) && !errors.Is(err, os.ErrNotExist) {
				readable = append(readable, name)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	finder, used := newFinder(all), map[string]int{}
	for _, name := range readable {
		if pattern := publicBy(name); pattern != "" {
			used[pattern]++
		} else {
			t.Errorf("another user may open %s", name)
		}
		content, err := os.ReadFile(a.landscape.Dir().Join(name))
		if err != nil || strings.HasPrefix(name, "images/") {
			continue // a socket, or a program that is older than all secrets
		}
		for piece, at := range finder.in(content) {
			t.Errorf("another user may open %s, which has a secret of %s, after %s", name, all[piece], near(content, at))
		}
	}
	for pattern, why := range public {
		if used[pattern] == 0 && pattern != rare {
			t.Errorf("no file is like %s, which is public because %s", pattern, why)
		}
	}
	t.Logf("another user may open %d files of %d: %v", len(readable), len(paths), used)
}

// shorten the paths of sockets, whose names may have 107 bytes.
func (a *attacked) shorten(t *testing.T, paths map[string]string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	sockets := 0
	for name, path := range paths {
		if info, err := os.Lstat(path); err != nil || info.Mode().Type() != fs.ModeSocket {
			continue
		}
		sockets++
		paths[name] = filepath.Join(folder, strconv.Itoa(sockets))
		if err := os.Symlink(path, paths[name]); err != nil {
			t.Fatal(err)
		}
	}
	if sockets == 0 {
		t.Error("the landscape has no socket")
	}
}

func publicBy(name string) string {
	for pattern := range public {
		if regexp.MustCompile("^" + pattern + "$").MatchString(name) {
			return pattern
		}
	}
	return ""
}

// loosen all folders of the landscape until the end of the test.
func (a *attacked) loosen(t *testing.T) {
	t.Helper()
	modes := map[string]fs.FileMode{}
	t.Cleanup(func() {
		for path, mode := range modes {
			if err := os.Chmod(path, mode); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
		}
	})
	a.reachable(t)
	err := filepath.WalkDir(a.landscape.Dir().Path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return ignoreGone(err)
		}
		info, err := entry.Info()
		if err != nil {
			return ignoreGone(err)
		}
		modes[path] = info.Mode()
		return ignoreGone(os.Chmod(path, info.Mode()|0o055))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ignoreGone forgives that a file has gone meanwhile.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
