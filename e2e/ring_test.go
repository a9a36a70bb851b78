package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/switchboard"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/etcd/backup"
)

// A ring that is brought up by hand is closed. When all its seeds have died, none comes back by itself, and an operator
// starts it with what the documentation says.
func TestUp_Ring(t *testing.T) {
	t.Parallel()
	l := newLandscape(t)
	l.up(t, "--ring", "3")
	t.Run("each seed is a shoot on another", l.ringIsClosed)
	l.on(t, "a", "create", "namespace", "kept")
	l.awaitBackup(t, "a", l.on(t, "a", "get", "namespace", "kept", "-o", "jsonpath={.metadata.resourceVersion}"))
	t.Run("it is started cold", l.startsCold)
}

// ringIsClosed looks whether each seed is a shoot on the one before it, and is ready. A shoot on it is as any other.
func (l *landscape) ringIsClosed(t *testing.T) {
	said := l.run(t, program, "status", "--landscape", "e2e")
	for _, want := range []string{
		`p/a +c +2 +Restore Succeeded`, `p/b +a +1 +Create Succeeded`, `p/c +b +1 +Create Succeeded`,
	} {
		if !regexp.MustCompile(want).MatchString(said) {
			t.Errorf("status does not show %q:\n%s", want, said)
		}
	}
	l.on(t, "garden", "wait", "seed", "first", "a", "b", "c", "--for=condition=GardenletReady=True", "--timeout=0")
	if got := l.on(t, "a", "get", "namespace", "shoot--p--b", "-o", "name"); got != "namespace/shoot--p--b\n" {
		t.Errorf("the control plane of b is not on a: %q", got)
	}
}

// awaitBackup waits until the backups of a shoot have all that was written up to a revision.
func (l *landscape) awaitBackup(t *testing.T, shoot, revision string) {
	t.Helper()
	want, err := strconv.ParseInt(revision, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cloud.FromKubeconfigFile(rundir.At("e2e", filepath.Join(l.home, "e2e")).Kubeconfig(
		environment.CloudAdmin, switchboard.Cloud), cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	buckets, err := c.Buckets().List(t.Context(), cloud.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	last, deadline := int64(0), time.Now().Add(multiplier*time.Minute)
	for ; last < want; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the backups of shoot %q end at revision %d, want %d", shoot, last, want)
		}
		for _, bucket := range buckets {
			for object, err := range c.Bucket(bucket.Name).All(t.Context(), environment.TechnicalID(shoot)+"--") {
				if err != nil {
					t.Fatal(err)
				}
				_, key, _ := strings.Cut(object.Key, "/"+workload.Etcd+"/")
				if found, is := backup.ParseKey(key); is {
					last = max(last, found.Last)
				}
			}
		}
	}
}

// startsCold loses all seeds of the ring and the one outside, and starts the ring again with one control plane outside
// any seed. The first command that runs it is killed when seed c is ready.
func (l *landscape) startsCold(t *testing.T) {
	within := fmt.Sprintf("--timeout=%dm", 3*multiplier)
	l.run(t, program, "lose", "first", "a", "b", "c", "--landscape", "e2e")
	l.run(t, program, "return", "a", "b", "c", "--landscape", "e2e")
	l.on(t, "garden", "wait", "seed", "c", "--for=condition=GardenletReady=Unknown", within)
	restore := []string{"restore-control-plane", "a", "--landscape", "e2e"}
	killed := exec.CommandContext(t.Context(), program, restore...)
	killed.Env = l.environment
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	l.on(t, "garden", "wait", "seed", "c", "--for=condition=GardenletReady=True", within)
	if said, err := l.try(t, nil, program, restore...); err == nil || !strings.Contains(said, "another command runs it") {
		t.Errorf("a second command beside the first: %v\n%s", err, said)
	}
	if err := killed.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = killed.Wait() // it was killed
	l.run(t, program, append(restore, "--hand-over", "c")...)
	if said := l.run(t, program, "status", "--landscape", "e2e"); !regexp.MustCompile(`p/a +c +5 +Restore Succeeded`).
		MatchString(said) {
		t.Errorf("status does not show that c has a in the epoch after two others:\n%s", said)
	}
	l.on(t, "garden", "wait", "seed", "a", "b", "c", "--for=condition=GardenletReady=True", within)
	if got := l.on(t, "a", "get", "namespace", "kept", "-o", "name"); got != "namespace/kept\n" {
		t.Errorf("what was on a before is not there: %q", got)
	}
}
