package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/transplant-sim/transplant/clusters/kind/imagebuild"
)

// packages beyond Debian's essential ones: what systemd, a kubelet, kube-proxy and the container runtime call.
var packages = []string{
	"systemd", "runc", "iptables", "nftables", "conntrack", "ethtool", "iproute2", "util-linux", "mount", "kmod", "procps",
}

// debian lays the packages out in the work folder's root.
func (i *image) debian(ctx context.Context) error {
	archive, err := imagebuild.Debian(ctx, packages...)
	if err != nil {
		return err
	}
	if err := os.Mkdir(i.at("root"), 0o755); err != nil {
		return fmt.Errorf("make the root folder: %w", err)
	}
	_, err = imagebuild.Run(ctx, "", nil, "tar", "--numeric-owner", "--same-permissions", "-C", i.at("root"), "-xf",
		archive)
	return err
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
	if err := imagebuild.CopyTree(filepath.Join(i.source, "rootfs"), root,
		strings.NewReplacer("@PAUSE@", i.names.pause)); err != nil {
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
		if err := imagebuild.CopyFile(i.at("bin", entry.Name()), i.at("root", folder, entry.Name()), 0o755, nil); err != nil {
			return err
		}
	}
	return imagebuild.CopyFile(i.controlPlane, i.at("root", "usr/local/bin/kubectl"), 0o755, nil)
}
