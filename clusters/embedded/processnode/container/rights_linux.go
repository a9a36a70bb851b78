package container

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// rights of the calling process, as far as /proc shows them.
type rights struct {
	user         string          // the effective user's number
	capabilities map[string]bool // the effective ones
	seccomp      bool            // whether a filter of system calls is in effect
	confined     bool            // whether a profile of AppArmor is in effect
	settings     map[string]string
}

// ofRoot are the capabilities that containers take of root.
var ofRoot = []string{"SYS_ADMIN", "SYS_CHROOT", "SETUID", "SETGID", "SETPCAP", "DAC_OVERRIDE", "CHOWN"}

// Settings of the kernel that forbid user namespaces, and the values that do.
const (
	restricted   = "kernel/apparmor_restrict_unprivileged_userns" // 1; Ubuntu, from 24.04 on
	mostOfUser   = "user/max_user_namespaces"                     // 0
	unprivileged = "kernel/unprivileged_userns_clone"             // 0; Debian's and Arch's kernels
)

// readRights reads the rights from /proc. What cannot be read is empty.
func readRights(proc fs.FS) rights {
	r := rights{capabilities: map[string]bool{}, settings: map[string]string{}}
	status, _ := fs.ReadFile(proc, "self/status")
	lines := bufio.NewScanner(bytes.NewReader(status))
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ":")
		fields := strings.Fields(value)
		switch {
		case key == "Uid" && len(fields) > 1:
			r.user = fields[1]
		case key == "CapEff" && len(fields) > 0:
			set, _ := strconv.ParseUint(fields[0], 16, 64)
			for name, number := range capabilities {
				r.capabilities[name] = set>>number&1 == 1
			}
		case key == "Seccomp" && len(fields) > 0:
			r.seccomp = fields[0] == "2"
		}
	}
	profile, _ := fs.ReadFile(proc, "self/attr/current")
	name, enforced := strings.CutSuffix(strings.TrimRight(string(profile), "\x00\n"), " (enforce)")
	r.confined = enforced && name != "unprivileged_userns" // which is the one of the restriction
	for _, name := range []string{restricted, mostOfUser, unprivileged} {
		value, _ := fs.ReadFile(proc, "sys/"+name)
		r.settings[name] = strings.TrimSpace(string(value))
	}
	return r
}

// isRoot says whether the process can make containers without a user namespace.
func (r rights) isRoot() bool { return r.user == "0" && len(r.missing()) == 0 }

// missing are the capabilities of root that the process has not.
func (r rights) missing() (names []string) {
	for _, name := range ofRoot {
		if !r.capabilities[name] {
			names = append(names, "CAP_"+name)
		}
	}
	return names
}

// refusals are what the kernel says of namespaces that it does not make.
var refusals = []error{unix.EPERM, unix.EACCES, unix.ENOSPC, unix.EINVAL, unix.EUSERS}

// Refused adds to the error of a container that could not be started, or of a user namespace that could not be made,
// what forbids it on this machine, and what to do about it. An error for another reason stays as it is.
func Refused(err error) error {
	if !slices.ContainsFunc(refusals, func(refusal error) bool { return errors.Is(err, refusal) }) {
		return err
	}
	return fmt.Errorf("%w: %s", err, readRights(os.DirFS("/proc")).remedy())
}

// remedy names everything that may be in the way, for the kernel says "not permitted" for all of it.
func (r rights) remedy() string {
	var all []string
	if r.settings[restricted] == "1" {
		all = append(all, "AppArmor restricts user namespaces on this machine, as on Ubuntu from 24.04 on: "+
			"run `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`")
	}
	if r.settings[mostOfUser] == "0" {
		all = append(all, "the machine allows no user namespaces: run `sudo sysctl -w user.max_user_namespaces=10000`")
	}
	if r.settings[unprivileged] == "0" {
		all = append(all, "the machine allows user namespaces to root alone: "+
			"run `sudo sysctl -w kernel.unprivileged_userns_clone=1`")
	}
	if r.user == "0" && !r.isRoot() && !r.capabilities["SETFCAP"] {
		all = append(all, "root lacks "+strings.Join(r.missing(), ", ")+" and CAP_SETFCAP here: run as another user, "+
			"or give it CAP_SETFCAP")
	}
	if r.seccomp || r.confined {
		all = append(all, "a profile of seccomp or AppArmor is in effect, and the default ones of containers forbid "+
			"namespaces: give the container `--security-opt seccomp=unconfined --security-opt apparmor=unconfined` "+
			"(Docker), or `seccompProfile: {type: Unconfined}` and `appArmorProfile: {type: Unconfined}` (Kubernetes)")
	}
	if len(all) == 0 {
		return "each simulated pod needs namespaces, and this machine refuses them"
	}
	return strings.Join(all, "; ")
}
