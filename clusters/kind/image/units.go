package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// wanted are the units of our own that systemd starts.
var wanted = []string{"containerd.service", "kubelet.service", "node-dns.service", "node-storage.path"}

// masked are units of Debian's that act on the machine, which belongs to others, or wait for what a container lacks.
var masked = []string{
	"systemd-sysctl.service", "systemd-modules-load.service", "systemd-binfmt.service",
	"proc-sys-fs-binfmt_misc.automount",
	"systemd-tmpfiles-setup.service", "systemd-tmpfiles-setup-dev.service", "systemd-firstboot.service",
	"systemd-random-seed.service",
	"systemd-repart.service", "systemd-pstore.service", "systemd-udevd.service", "systemd-udev-trigger.service",
	"systemd-logind.service", "systemd-update-utmp.service", "systemd-machine-id-commit.service",
	"kmod-static-nodes.service",
	"dev-hugepages.mount", "dev-mqueue.mount", "sys-fs-fuse-connections.mount", "sys-kernel-config.mount",
	"sys-kernel-debug.mount", "sys-kernel-tracing.mount", "getty.target", "remote-fs.target", "fstrim.timer",
	"dpkg-db-backup.timer", "systemd-tmpfiles-clean.timer",
}

// units links what systemd starts, and masks what it must not.
func units(root string) error {
	system := filepath.Join(root, "etc", "systemd", "system")
	links := map[string]string{filepath.Join(system, "default.target"): "/lib/systemd/system/multi-user.target"}
	for _, unit := range wanted {
		links[filepath.Join(system, "multi-user.target.wants", unit)] = "/etc/systemd/system/" + unit
	}
	for _, unit := range masked {
		links[filepath.Join(system, unit)] = "/dev/null"
	}
	for link, target := range links {
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			return fmt.Errorf("make the folder of the link %q: %w", link, err)
		}
		if err := os.RemoveAll(link); err != nil {
			return fmt.Errorf("make the link %q: %w", link, err)
		}
		if err := os.Symlink(target, link); err != nil {
			return fmt.Errorf("make the link %q: %w", link, err)
		}
	}
	return nil
}
