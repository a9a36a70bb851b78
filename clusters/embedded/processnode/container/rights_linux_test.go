package container

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
)

// The capabilities of processes, as the kernel prints them.
const (
	everything  = "000001ffffffffff"
	ofDocker    = "00000000a80425fb" // root's in a container of Docker, which has no SYS_ADMIN
	withSetPCap = "0000000000200100" // SYS_ADMIN and SETPCAP
	none        = "0000000000000000"
)

func procOf(user, effective, seccomp string, more map[string]string) fstest.MapFS {
	proc := fstest.MapFS{"self/status": {Data: []byte("Name:\tnode\nUid:\t7\t" + user + "\t7\t7\nCapPrm:\t" + everything +
		"\nCapEff:\t" + effective + "\nNoNewPrivs:\t0\nSeccomp:\t" + seccomp + "\nSeccomp_filters:\t0\n")}}
	for path, content := range more {
		proc[path] = &fstest.MapFile{Data: []byte(content)}
	}
	return proc
}

// Root is who has the capabilities, not who has the number 0.
func TestRights_Root_IsWhoHasTheCapabilities(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		user, effective string
		want            bool
	}{
		{"0", everything, true}, {"0", ofDocker, false}, {"0", withSetPCap, false}, {"0", none, false},
		{"1000", everything, false}, {"1000", none, false}, {"0", "", false},
	} {
		if got := readRights(procOf(c.user, c.effective, "0", nil)).isRoot(); got != c.want {
			t.Errorf("user %s with capabilities %q is root: %t", c.user, c.effective, got)
		}
	}
	if readRights(fstest.MapFS{}).isRoot() {
		t.Error("a process of which nothing can be read is root")
	}
}

func TestRemedy_EachObstacle_IsNamedAlone(t *testing.T) {
	t.Parallel()
	open := map[string]string{"sys/" + restricted: "0\n", "sys/" + mostOfUser: "63000\n", "sys/" + unprivileged: "1\n",
		"self/attr/current": "unconfined\n"}
	words := map[string]string{
		"AppArmor":   "kernel.apparmor_restrict_unprivileged_userns=0",
		"none":       "user.max_user_namespaces=",
		"privileged": "kernel.unprivileged_userns_clone=1",
		"root":       "root lacks CAP_SYS_ADMIN, CAP_SYS_CHROOT, ",
		"container":  "--security-opt seccomp=unconfined --security-opt apparmor=unconfined",
		"unknown":    "this machine refuses them",
	}
	for name, c := range map[string]struct {
		user, effective, seccomp, path, content string
	}{
		"AppArmor":   {"1000", none, "0", "sys/" + restricted, "1\n"},
		"none":       {"1000", none, "0", "sys/" + mostOfUser, "0\n"},
		"privileged": {"1000", none, "0", "sys/" + unprivileged, "0\n"},
		"root":       {"0", none, "0", "", ""},
		"container":  {"0", ofDocker, "2", "", ""},
		"unknown":    {"0", everything, "0", "", ""},
	} {
		proc := procOf(c.user, c.effective, c.seccomp, open)
		if c.path != "" {
			proc[c.path] = &fstest.MapFile{Data: []byte(c.content)}
		}
		got := readRights(proc).remedy()
		for other, word := range words {
			if strings.Contains(got, word) != (other == name) {
				t.Errorf("%s: %q has %q: %t", name, got, word, strings.Contains(got, word))
			}
		}
	}
	inside := procOf("0", everything, "0", map[string]string{"self/attr/current": "unprivileged_userns (enforce)\n",
		"sys/" + restricted: "1\n"})
	if got := readRights(inside).remedy(); strings.Contains(got, "--security-opt") {
		t.Errorf("in a namespace that is restricted: %q", got)
	}
	for _, err := range []error{&prepareError{initFailure{Message: "mount: no", Number: syscall.EPERM}},
		fmt.Errorf("fork: %w", syscall.ENOSPC)} {
		if got := Refused(err); !errors.Is(got, err) || len(got.Error()) < len(err.Error())+10 {
			t.Errorf("%v has no remedy: %v", err, got)
		}
	}
	for _, err := range []error{&prepareError{initFailure{Message: "mount: no", Number: syscall.ENOENT}},
		&prepareError{initFailure{Message: "no"}}, &StartError{Message: "no"}} {
		if got := Refused(err); got.Error() != err.Error() {
			t.Errorf("%v has a remedy against namespaces that are refused: %v", err, got)
		}
	}
	confined := procOf("1000", none, "0", map[string]string{"self/attr/current": "docker-default (enforce)\n"})
	if got := readRights(confined).remedy(); !strings.Contains(got, "apparmor=unconfined") {
		t.Errorf("AppArmor's profile alone: %q", got)
	}
}
