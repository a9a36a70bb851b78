package kind

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// A companion has the files that it names and nothing else, and only the cloud has ports on this machine.
func TestRunArgs(t *testing.T) {
	t.Parallel()
	c := &companions{dir: rundir.At("tale", "/run/tale"), image: "companions",
		cloud: clusters.CloudAddresses{API: "127.0.0.1:4001", DNS: "127.0.0.1:4002"}}
	run := func(name string) string {
		return strings.Join(c.runArgs(clusters.Companion{
			Name: name, Args: []string{name, "--dir=/w"}, Reads: []string{"/r"}, Writes: []string{"/w"},
		}, "7:8"), " ")
	}
	const common = "run --detach --name transplant-c65282-tale-%s --network kind --user 7:8 --label " +
		"transplant.dev/landscape=/run/tale" +
		" --read-only --tmpfs /tmp --cap-drop ALL --log-driver json-file --log-opt max-size=16m --log-opt max-file=2" +
		" --volume /r:/r:ro --volume /w:/w "
	for name, ports := range map[string]string{
		"nodes": "",
		"cloud": "--publish 127.0.0.1:4001:8443 --publish 127.0.0.1:4002:5353/tcp " +
			"--publish 127.0.0.1:4002:5353/udp ",
	} {
		want := fmt.Sprintf(common, name) + ports + "companions transplant " + name + " --dir=/w"
		if diff := cmp.Diff(want, run(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Of the environment a companion has what it asks for, and its values are on no command line.
func TestRunArgsNameVariables(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "secret")
	c := &companions{dir: rundir.At("tale", "/run/tale"), image: "companions"}
	got := strings.Join(c.runArgs(clusters.Companion{Name: "nodes", Env: []string{"AWS_ACCESS_KEY_ID", "SET_BY_NOBODY"}},
		"7:8"), " ")
	if !strings.Contains(got, " --env AWS_ACCESS_KEY_ID companions ") || strings.Contains(got, "secret") ||
		strings.Contains(got, "SET_BY_NOBODY") {
		t.Errorf("the arguments are %q", got)
	}
}

// Companions are nobody's where the landscape is root's, and otherwise those of its owner; their files are theirs.
func TestGiveTo(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file, work := filepath.Join(folder, "key"), filepath.Join(folder, "a", "work")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = 65532, 65532
	}
	user, err := giveTo(clusters.Companion{Reads: []string{file}, Writes: []string{work}})
	if want := fmt.Sprintf("%d:%d", uid, gid); err != nil || user != want {
		t.Errorf("runs as %q, %v; want %q", user, err, want)
	}
	for path, mode := range map[string]os.FileMode{file: 0o600, work: 0o700} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if owner := int(info.Sys().(*syscall.Stat_t).Uid); owner != uid || info.Mode().Perm() != mode {
			t.Errorf("%s is of %d, %s; want %d, %s", path, owner, info.Mode().Perm(), uid, mode)
		}
	}
	if _, err := giveTo(clusters.Companion{Writes: []string{filepath.Join(file, "below")}}); err == nil {
		t.Error("a folder below a file was made")
	}
}
