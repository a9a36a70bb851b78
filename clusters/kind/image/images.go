package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/transplant-sim/transplant/clusters/kind/imagebuild"
)

// names are those that kubeadm gives to the images of a control plane.
type names struct {
	controlPlane []string // all that are programs of the control-plane binary
	coredns      string
	proxy        string
	pause        string
}

// list asks kubeadm for the names.
func (i *image) list(ctx context.Context) error {
	output, err := imagebuild.Run(ctx, "", nil, i.at("bin", "kubeadm"), "config", "images", "list", "--kubernetes-version",
		i.version)
	if err != nil {
		return err
	}
	i.names, err = sort(output)
	return err
}

// sort groups the images by the last part of their names.
func sort(list string) (names, error) {
	var sorted names
	for name := range strings.FieldsSeq(list) {
		base, _, _ := strings.Cut(filepath.Base(name), ":")
		switch base {
		case "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler":
			sorted.controlPlane = append(sorted.controlPlane, name)
		case "coredns":
			sorted.coredns = name
		case "kube-proxy":
			sorted.proxy = name
		case "pause":
			sorted.pause = name
		default: // a word of a warning, or an image nobody has made
			if strings.Contains(name, ":v") {
				return names{}, fmt.Errorf("sort the images by name: %q is not known", name)
			}
		}
	}
	if len(sorted.controlPlane) != 4 || sorted.coredns == "" || sorted.proxy == "" || sorted.pause == "" {
		return names{}, fmt.Errorf("sort the images by name: some of them are not in %q", list)
	}
	return sorted, nil
}

// images builds the images that kubeadm names. None has a shell.
func (i *image) images(ctx context.Context) error {
	programs := []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}
	folder := i.at("images", "controlplane", "usr", "local", "bin")
	if err := imagebuild.CopyFile(i.controlPlane, filepath.Join(folder, "controlplane"), 0o755, nil); err != nil {
		return err
	}
	for _, program := range programs {
		if err := os.Symlink("controlplane", filepath.Join(folder, program)); err != nil {
			return fmt.Errorf("link the program %q: %w", program, err)
		}
	}
	if err := imagebuild.CopyFile(i.at("bin", "coredns"), i.at("images", "coredns", "coredns"), 0o755, nil); err != nil {
		return err
	}
	if err := imagebuild.CopyFile(i.at("bin", "pause"), i.at("images", "pause", "pause"), 0o755, nil); err != nil {
		return err
	}
	if err := i.proxy(ctx); err != nil {
		return err
	}
	for _, one := range []struct {
		folder, config string
		tags           []string
	}{
		{"controlplane", "", i.names.controlPlane},
		{"coredns", "USER 65532:65532\nENTRYPOINT [\"/coredns\"]", []string{i.names.coredns}},
		{"pause", "USER 65535:65535\nENTRYPOINT [\"/pause\"]", []string{i.names.pause}},
		{"proxy", "", []string{i.names.proxy}},
	} {
		if err := imagebuild.Build(ctx, i.at("images", one.folder),
			[]string{"FROM scratch", "COPY . /", imagebuild.SearchPath, one.config}, one.tags...); err != nil {
			return err
		}
	}
	return nil
}

var library = regexp.MustCompile(`(?m)(/\S+) \(0x`)

// proxy gathers kube-proxy and what it calls, with every library that they and their plugins link to.
func (i *image) proxy(ctx context.Context) error {
	root, target := i.at("root"), i.at("images", "proxy")
	files := []string{"/usr/sbin/conntrack", "/usr/sbin/nft", "/usr/sbin/xtables-nft-multi"}
	plugins, err := fs.Glob(os.DirFS(root), "usr/lib/*/xtables/*.so")
	if err != nil {
		return fmt.Errorf("list the plugins of iptables: %w", err)
	}
	for _, plugin := range plugins {
		files = append(files, "/"+plugin)
	}
	output, err := imagebuild.Run(ctx, "", nil, "chroot", append([]string{root, "ldd"}, files...)...)
	if err != nil {
		return err
	}
	for _, found := range library.FindAllStringSubmatch(output, -1) {
		files = append(files, found[1])
	}
	slices.Sort(files)
	files = slices.Compact(files)
	// links are followed inside the root: some are absolute
	output, err = imagebuild.Run(ctx, "", nil, "chroot", append([]string{root, "readlink", "-f"}, files...)...)
	if err != nil {
		return err
	}
	for n, real := range strings.Fields(output) {
		if err := imagebuild.CopyFile(filepath.Join(root, real), filepath.Join(target, files[n]), 0o755, nil); err != nil {
			return err
		}
	}
	for _, name := range []string{"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save",
		"ip6tables-restore"} {
		if err := os.Symlink("xtables-nft-multi", filepath.Join(target, "usr", "sbin", name)); err != nil {
			return fmt.Errorf("link the program %q: %w", name, err)
		}
	}
	return imagebuild.CopyFile(i.at("bin", "kube-proxy"), filepath.Join(target, "usr", "local", "bin", "kube-proxy"),
		0o755, nil)
}
