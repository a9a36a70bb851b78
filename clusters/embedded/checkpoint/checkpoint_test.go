package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// expiry is when a certificate that a pod has mounted expires, before all others.
var expiry = time.Now().Add(24 * time.Hour).UTC().Truncate(time.Second)

// ended is the folder of a landscape that has ended in order.
func ended(t *testing.T) rundir.Dir {
	t.Helper()
	dir := rundir.At("mine", filepath.Join(t.TempDir(), "mine"))
	lock, _, err := dir.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Unlock() }) // nobody else wants it
	authority, err := pki.NewAuthority("ca", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Issue(pki.Request{Name: "server", Valid: 24 * time.Hour}, expiry.Add(-24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	wal := append([]byte("written"), make([]byte, 3*block)...)
	err = errors.Join(
		pki.Folder(dir.Join("pki")).WriteAuthority("ca", authority),
		pki.Folder(dir.Join("clusters", "a", "pods", "secret")).WriteKeyPair("tls", pair),
		os.MkdirAll(dir.Join("clusters", "garden", "logs"), 0o755),
		os.MkdirAll(dir.Join("clusters", "garden", "run"), 0o700),
		os.MkdirAll(dir.Join("images", "i"), 0o755), os.MkdirAll(dir.Join("clusters", "a", "pods", "closed"), 0o755),
		os.WriteFile(dir.Join("clusters", "garden", "logs", "etcd.log"), []byte("log"), 0o600),
		os.WriteFile(dir.Join("clusters", "garden", "wal"), wal, 0o600),
		os.WriteFile(dir.Join("images", "i", "transplant"), []byte("program"), 0o755),
		os.WriteFile(dir.Join("clusters", "a", "pods", "closed", "key"), []byte("secret"), 0o400),
		os.Symlink("closed/key", dir.Join("clusters", "a", "pods", "link")),
		os.Chmod(dir.Join("clusters", "a", "pods", "closed"), 0o500),
		dir.WriteState(rundir.State{Name: "mine", Slot: 3, Clusters: []rundir.ClusterState{
			{Name: "garden", Role: "garden"}, {Name: "a", Role: "seed"}, {Name: "b", Role: "seed"}},
			Links: []rundir.LinkState{{Actor: "gardenlet-a", Target: "garden", URL: "https://127.40.1.1:8443"}}}),
		syscall.Mknod(dir.Join("clusters", "garden", "run", "etcd.sock"), syscall.S_IFSOCK|0o600, 0),
		dir.MarkEnded(),
	)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func saved(t *testing.T, dir rundir.Dir) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "below", "cp")
	if err := Save(t.Context(), dir, path, "kubernetes:v1", map[string]string{"for": "nothing"}); err != nil {
		t.Fatal(err)
	}
	return path
}

// tree is what is in a folder: modes, links and contents, by path.
func tree(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.Walk(folder, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		relative, _ := filepath.Rel(folder, path) // it is below
		switch found[relative] = info.Mode().String(); {
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			found[relative] += " " + target
			return err
		case info.Mode().IsRegular():
			content, err := os.ReadFile(path)
			found[relative] += " " + string(bytes.TrimRight(content, "\x00"))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestCheckpoint_Restored_HasAllButWhatIsOfProcesses(t *testing.T) {
	t.Parallel()
	dir := ended(t)
	want := tree(t, dir.Path)
	for _, gone := range []string{".transplant-landscape", "landscape.json", "ended", "images", "images/i",
		"images/i/transplant", "clusters/garden/logs/etcd.log", "clusters/garden/run/etcd.sock"} {
		if _, was := want[gone]; !was {
			t.Errorf("the landscape has no %s", gone)
		}
		delete(want, gone)
	}
	c, err := Open(saved(t, dir), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if !c.Expires.Equal(expiry) {
		t.Errorf("it expires at %s, want %s", c.Expires, expiry)
	}
	contents := map[string]string{}
	if err := c.Read(&contents); err != nil || contents["for"] != "nothing" || c.Landscape() != "mine" {
		t.Errorf("contents %v, %v, of %q", contents, err, c.Landscape())
	}
	got := Manifest{Name: c.Name, Dir: c.Dir, Slot: c.Slot, Seeds: c.Seeds, Links: c.Links, Kubernetes: c.Kubernetes}
	if diff := cmp.Diff(Manifest{
		Name: "mine", Dir: dir.Path, Slot: 3, Seeds: []string{"a", "b"}, Kubernetes: "kubernetes:v1",
		Links: []rundir.LinkState{{Actor: "gardenlet-a", Target: "garden", URL: "https://127.40.1.1:8443"}},
	}, got); diff != "" {
		t.Error(diff)
	}
	for range 2 { // it can be started any number of times
		if _, err := dir.Renew(); err != nil {
			t.Fatal(err)
		}
		if err := c.Restore(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		restored := tree(t, dir.Path)
		delete(restored, ".transplant-landscape")
		if diff := cmp.Diff(want, restored); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	var stat syscall.Stat_t
	if err := syscall.Stat(dir.Join("clusters", "garden", "wal"), &stat); err != nil || stat.Blocks*512 > 2*block {
		t.Errorf("a file of one block and zeros takes %d bytes, %v", stat.Blocks*512, err)
	}
}

func TestCheckpoint_CannotBeStarted_IsAnErrorThatSaysWhatToDo(t *testing.T) {
	t.Parallel()
	dir := ended(t)
	path := saved(t, dir)
	edited := func(change func(*Manifest)) string {
		c, err := Open(path, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		change(&c.Manifest)
		content, err := json.Marshal(c.Manifest)
		other := filepath.Join(t.TempDir(), "cp")
		if err := errors.Join(err, os.CopyFS(other, os.DirFS(path)),
			os.WriteFile(filepath.Join(other, manifestName), content, 0o600)); err != nil {
			t.Fatal(err)
		}
		return other
	}
	torn := edited(func(*Manifest) {})
	if err := os.Truncate(filepath.Join(torn, dataName, "clusters", "garden", "wal"), 1); err != nil {
		t.Fatal(err)
	}
	garbled := t.TempDir()
	if err := os.WriteFile(filepath.Join(garbled, manifestName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path string
		now  time.Time
		is   error
		want string
	}{
		"no folder":     {path: "/nowhere", is: ErrNone, want: "it has no checkpoint.json; make it anew with"},
		"a landscape":   {path: dir.Path, is: ErrNone, want: "it has no checkpoint.json"},
		"a garbled one": {path: garbled, want: "unexpected end of JSON input"},
		"of another program": {path: edited(func(m *Manifest) { m.Program = "abcdefabcdefabc" }), is: ErrVersion,
			want: "program is abcdefabcdef, this one is"},
		"expired": {path: path, now: expiry, is: ErrExpired,
			want: "checkpoint.json: expires is " + expiry.Format(time.RFC3339) + "; make"},
		"torn":        {path: torn, is: ErrIncomplete, want: "and checkpoint.json says"},
		"a file less": {path: edited(func(m *Manifest) { m.Files++ }), is: ErrIncomplete, want: "make it anew"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := c.now
			if now.IsZero() {
				now = time.Now()
			}
			_, err := Open(c.path, now)
			if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestCheckpoint_StartedElsewhere_NamesItsPlace(t *testing.T) {
	t.Parallel()
	dir := ended(t)
	c, err := Open(saved(t, dir), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := rundir.At("mine", filepath.Join(t.TempDir(), "mine"))
	err = c.Restore(t.Context(), elsewhere)
	if !errors.Is(err, ErrPlace) || !strings.Contains(err.Error(), "set TRANSPLANT_HOME="+filepath.Dir(dir.Path)) {
		t.Errorf("got %v, want ErrPlace and its home", err)
	}
	if _, err := os.Stat(elsewhere.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was written there: %v", err)
	}
}

func TestSave_ThatFails_LeavesNothingAndLosesNothing(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx    context.Context
		before func(dir rundir.Dir, path string) error
		is     error
	}{
		"something is there": {t.Context(), func(_ rundir.Dir, path string) error {
			return os.Mkdir(path, 0o755)
		}, ErrExists},
		"some of it is elsewhere": {t.Context(), func(dir rundir.Dir, _ string) error {
			return Refuse(dir, "its buckets are in s3://x")
		}, ErrNotAlone},
		"it did not end in order": {t.Context(), func(dir rundir.Dir, _ string) error {
			return os.Remove(dir.Join("ended"))
		}, ErrNotEnded},
		"interrupted": {cancelled, func(rundir.Dir, string) error { return nil }, context.Canceled},
		"a certificate is none": {t.Context(), func(dir rundir.Dir, _ string) error {
			return os.WriteFile(dir.Join("pki", "ca.crt"), []byte("none"), 0o600)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, folder := ended(t), t.TempDir()
			path := filepath.Join(folder, "cp")
			if err := c.before(dir, path); err != nil {
				t.Fatal(err)
			}
			was, there := tree(t, dir.Path), tree(t, folder)
			if err := Save(c.ctx, dir, path, "", nil); err == nil || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("got %v, want %v", err, c.is)
			}
			if diff := cmp.Diff(was, tree(t, dir.Path)) + cmp.Diff(there, tree(t, folder)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
